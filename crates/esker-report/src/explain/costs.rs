//! What devices cost in electricity, in data lost with a device, and in flash that wears: from figures to the answer.

use esker_core::words;
use esker_results::study::{Budgets, Candidate, Electricity, Endurance};

use super::Page;

impl Page {
    /// From watts to money, for devices of one product.
    pub(super) fn electricity(&mut self, part: &Electricity, budgets: &Budgets, currency: &str) {
        let Electricity { devices, idle_w, active_w, supplement_w, .. } = part;
        let digits = words::digits;
        let besides = match *supplement_w {
            0.0 => String::new(),
            watts => format!(" + {} W of its place", digits(watts)),
        };
        self.step(&format!(
            "{}: {} W idle + {} busy x ({} - {}) W{besides} = {} W, x {devices} = {} W",
            part.product,
            digits(*idle_w),
            words::percent(part.busy),
            digits(*active_w),
            digits(*idle_w),
            digits(part.watts() / f64::from((*devices).max(1))),
            digits(part.watts())
        ));
        let kilowatt_hours = part.kilowatt_hours(budgets.years);
        let price = part.price_per_kwh * part.power_usage_effectiveness;
        self.step(&format!(
            "{} W x {} hours = {} kWh, x {} {currency} x {} for the building = {} {currency}",
            digits(part.watts()),
            words::count((budgets.years * 8_760.0).round() as u64),
            digits(kilowatt_hours),
            part.price_per_kwh,
            part.power_usage_effectiveness,
            words::money(kilowatt_hours * price)
        ));
    }

    pub(super) fn survival(&mut self, candidate: &Candidate, budgets: &Budgets) {
        let survival = &candidate.survival;
        self.section("What survives");
        match survival.failures_survived {
            0 => self.step("no device may fail: there is one copy of the data"),
            n => self.step(&format!("all data are there {} times: any {n} devices may fail", n + 1)),
        }
        let rates: Vec<String> = survival.annual_failure_rates.iter().copied().map(words::percent).collect();
        if !rates.is_empty() {
            let assumed = if survival.rates_are_assumed { " (assumed)" } else { "" };
            self.step(&format!("devices that fail in a year: {}{assumed}", rates.join(", ")));
        }
        if let Some(loss) = survival.loss_over_years {
            let (devices, years) = (survival.devices_of_one_copy, words::years_limit(budgets.years));
            self.step(&format!("one of {devices} fails within {years}: {} of such designs", words::percent(loss)));
        }
        if let Some(total) = survival.two_copies_total {
            self.step(&format!("with two copies: {} {}", words::money(total), candidate.cost.currency));
        }
    }

    pub(super) fn life(&mut self, candidate: &Candidate, budgets: &Budgets) {
        let Some(endurance) = &candidate.endurance else { return };
        self.section("Life of the flash");
        self.step(&endurance.basis);
        if let Some(bytes) = endurance.host_bytes_per_day {
            let what = if candidate.parts.is_empty() { "the trace writes" } else { "the flash takes" };
            self.step(&format!("{what} {} a day at its mean rate", words::bytes(bytes)));
        }
        match endurance.write_amplification {
            Some(measured) => {
                self.step(&format!("write amplification: {}, measured", words::amplification(Some(measured))));
            }
            None => {
                let random = words::amplification(Some(endurance.lifetime_amplification));
                self.step(&format!("write amplification: {random}, that of random overwriting"));
            }
        }
        self.flash_a_day(endurance, budgets);
        self.promotions(endurance);
        let budget = words::years_limit(budgets.years);
        let is = match (endurance.lifetime_years, endurance.lifetime_range_years) {
            (Some(years), _) if endurance.lifetime_is_lower_bound => format!("more than {}", words::years(years)),
            (Some(years), _) => words::years(years),
            (None, Some([low, high])) => words::years_between(low, high, crate::answer::LIFE_LIMIT_YEARS),
            (None, None) => "not known".into(),
        };
        self.against("it lasts", &is, Some(&budget), endurance.kept);
        if let (Some(asked), sold) = (endurance.drive_writes_per_day_asked, endurance.drive_writes_per_day_sold) {
            let sold = sold.map_or("not stated".to_string(), words::digits);
            self.step(&format!("drive writes a day asked for: {}; warranted: {sold}", words::digits(asked)));
        }
        if let Some(why) = &endurance.below_warranty {
            self.step(why.trim_end_matches('.'));
        }
    }

    /// What moved extents or filled lines cost of the life.
    fn promotions(&mut self, endurance: &Endurance) {
        let Some(promotions) = &endurance.promotions else { return };
        self.step(&format!(
            "of these, {} a day are extents that move to the flash or lines that fill it: {} of the writes, {} of the \
             rated erases a day",
            words::bytes(promotions.bytes_per_day),
            words::percent(promotions.share_of_writes),
            words::percent(promotions.life_share_per_day)
        ));
        if let Some(years) = promotions.lifetime_years_without {
            let more = if promotions.without_is_cut_off || !endurance.judged { "more than " } else { "" };
            self.step(&format!("without them it would last {more}{}", words::years(years)));
        }
    }

    /// The division that gives the life: what the flash endures by what is programmed a day.
    fn flash_a_day(&mut self, endurance: &Endurance, budgets: &Budgets) {
        let cycles = words::count(endurance.rated_cycles);
        let why =
            if endurance.cycles_of_warranty { ", which the maker's warranty takes if written at random" } else { "" };
        self.step(&format!("each block may be erased {cycles} times{why}"));
        let Some(host) = endurance.host_bytes_per_day else { return };
        let Endurance { raw_bytes: raw, page_bytes_per_byte: pages, lifetime_amplification: amplification, .. } =
            *endurance;
        let programmed = host * pages * amplification;
        let of_pages = match pages {
            pages if (pages - 1.0).abs() < 0.005 => String::new(),
            pages => format!(" x {} bytes of whole pages for each", words::digits(pages)),
        };
        self.step(&format!(
            "{} a day{of_pages} x {} programs = {} of flash a day",
            words::bytes(host),
            words::amplification(Some(amplification)),
            words::bytes(programmed)
        ));
        let endured = raw as f64 * endurance.rated_cycles as f64;
        let flash = words::bytes(raw as f64);
        self.step(&format!("{flash} of flash x {cycles} erases = {} that can be programmed", words::bytes(endured)));
        if programmed > 0.0 {
            let years = endured / programmed / 365.0;
            let growth = match budgets.growth_per_year {
                0.0 => "",
                _ => ", before growth",
            };
            self.step(&format!(
                "{} / {} / 365 = {} years{growth}",
                words::bytes(endured),
                words::bytes(programmed),
                words::digits(years)
            ));
        }
    }
}
