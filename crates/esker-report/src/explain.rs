//! One design of a study, step by step: from the data to the capacity, the price, the budgets and the life.

mod composition;
mod costs;

use esker_core::words;
use esker_results::study::{
    Budgets, Candidate, CandidateOutcome, DesignPart, JudgedPercentile, JudgedTime, Need, StudyReport, WorkloadStudy,
};

/// Explains the design called `name` in every workload that has it, simulated or not; `None` if none has.
pub fn explain(study: &StudyReport, name: &str) -> Option<String> {
    let found: Vec<String> = study.workloads.iter().filter_map(|workload| in_workload(workload, name)).collect();
    (!found.is_empty()).then(|| found.join("\n"))
}

/// The names of all designs of a study.
pub fn design_names(study: &StudyReport) -> impl Iterator<Item = &str> {
    study.workloads.iter().flat_map(|workload| {
        let simulated = workload.candidates.iter().map(|candidate| candidate.name.as_str());
        simulated.chain(workload.ruled_out.iter().map(|ruled| ruled.name.as_str()))
    })
}

fn in_workload(workload: &WorkloadStudy, name: &str) -> Option<String> {
    if let Some(ruled) = workload.ruled_out.iter().find(|ruled| ruled.name == name) {
        let price =
            ruled.total.map_or(String::new(), |total| format!(" It would cost at least {}.", words::money(total)));
        return Some(format!(
            "{} for {}:\nIt was not simulated ({}): {}.{price}\n",
            ruled.title, workload.name, ruled.by, ruled.reason
        ));
    }
    let candidate = workload.candidates.iter().find(|candidate| candidate.name == name)?;
    let budgets = &workload.budgets;
    let mut page = Page { text: format!("{} for {}:\n", candidate.title_and_year(), workload.name) };
    page.capacity(&workload.need, candidate);
    page.composition(candidate);
    page.price(candidate, budgets);
    page.survival(candidate, budgets);
    page.response_times(candidate, budgets);
    page.load(candidate, budgets);
    page.life(candidate, budgets);
    page.answer(workload, candidate);
    Some(page.text)
}

struct Page {
    text: String,
}

impl Page {
    fn section(&mut self, title: &str) {
        self.text += &format!("\n{title}\n");
    }

    fn step(&mut self, text: &str) {
        self.text += &format!("  {text}\n");
    }

    /// Compares what is with what may be.
    fn against(&mut self, what: &str, is: &str, budget: Option<&str>, kept: Option<bool>) {
        let Some(budget) = budget else { return self.step(&format!("{what}: {is}")) };
        let kept = match kept {
            Some(true) => "kept",
            Some(false) => "missed",
            None => "not judged",
        };
        self.step(&format!("{what}: {is}; the budget is {budget}: {kept}"));
    }

    fn capacity(&mut self, need: &Need, candidate: &Candidate) {
        self.section("Capacity");
        self.step(&need.basis);
        let bytes = |bytes: u64| words::bytes(bytes as f64);
        self.step(&format!(
            "{} x {} for growth x {} copies / {} that may be filled = {}",
            bytes(need.data_bytes),
            words::factor(need.growth_factor),
            need.copies,
            words::percent(need.fill_limit),
            bytes(need.capacity_bytes)
        ));
        self.parts(candidate);
        if let Some(each) = candidate.capacity_on_sale_bytes {
            let count = candidate.count;
            let all = each.saturating_mul(count.into());
            self.step(&format!("{count} x {} = {}, or {}", words::on_sale(each), words::on_sale(all), bytes(all)));
        }
    }

    fn price(&mut self, candidate: &Candidate, budgets: &Budgets) {
        let Candidate { cost, product, .. } = candidate;
        self.section("Price");
        let currency = &cost.currency;
        let years = words::years_limit(budgets.years);
        let count = candidate.count.max(1);
        for DesignPart { product, count, purchase, .. } in &candidate.parts {
            let (each, all) = (words::money(purchase / f64::from((*count).max(1))), words::money(*purchase));
            self.step(&format!("{}: {count} x {each} {currency} = {all} {currency} to buy", product.title));
        }
        if candidate.parts.is_empty() && cost.purchase > 0.0 {
            let (each, all) = (words::money(cost.purchase / f64::from(count)), words::money(cost.purchase));
            self.step(&format!("{count} x {each} {currency} = {all} {currency} to buy"));
        }
        for part in &cost.electricity {
            self.electricity(part, budgets, currency);
        }
        if cost.power > 0.0 {
            self.step(&format!("{} {currency} for electricity and cooling over {years}", words::money(cost.power)));
        }
        if candidate.is_rented() {
            let months = words::digits(12.0 * budgets.years);
            let (month, total) = (words::money(cost.per_month), words::money(cost.total));
            self.step(&format!("{month} {currency} a month x {months} months = {total} {currency}"));
        } else {
            self.step(&format!(
                "together {} {currency}, or {} {currency} a month",
                words::money(cost.total),
                words::money(cost.per_month)
            ));
        }
        let assumed = if cost.assumed { "; something in it is assumed" } else { "" };
        self.step(&format!("prices as of {}{assumed}", cost.as_of));
        self.step(&format!("source: {}", product.source.as_deref().unwrap_or("assumed")));
        if !product.assumed.is_empty() {
            self.step(&format!("assumed: {}", product.assumed.join(", ")));
        }
    }

    fn response_times(&mut self, candidate: &Candidate, budgets: &Budgets) {
        self.section("Response times");
        match &candidate.outcome {
            CandidateOutcome::Served => {}
            CandidateOutcome::Saturated { since_clock, .. } => {
                return self.step(&format!("it cannot keep up: saturated from {since_clock} on"));
            }
            CandidateOutcome::Failed { reason } => return self.step(&format!("it could not be simulated: {reason}")),
        }
        let limit = budgets.p99_us.map(words::time_limit);
        let mut compare = |what: &str, p99: f64| {
            let kept = budgets.p99_us.map(|limit| p99 <= limit);
            self.against(what, &words::time(p99), limit.as_deref(), kept);
        };
        for JudgedPercentile { p99_us, time } in candidate.percentiles(|busy| busy.response_time.p99_us) {
            compare(&format!("99 % of requests {}", time.within()), p99_us);
            let busy = match time {
                JudgedTime::BusiestByRequests => candidate.busy.as_ref(),
                JudgedTime::BusiestByBytes => candidate.busy_by_bytes.as_ref(),
                _ => None,
            };
            if let Some(other) = busy.and_then(|busy| busy.p99_us_of_other_seed) {
                compare("the same with other random numbers", other);
            }
        }
        if candidate.busy.as_ref().is_some_and(|busy| busy.saturates_with_other_seed) {
            self.step("with other random numbers it cannot keep up in the busiest times");
        }
    }

    fn load(&mut self, candidate: &Candidate, budgets: &Budgets) {
        let busy = candidate.worst_utilisation();
        if busy.is_none() && candidate.headroom.is_none() {
            return;
        }
        self.section("Load");
        if let Some((utilisation, time, resource)) = busy {
            let what = format!("its {} {}", words::resource(resource), time.within());
            let budget = budgets.utilisation.map(words::percent_limit);
            let is = format!("{} busy", words::percent(utilisation));
            self.against(&what, &is, budget.as_deref(), candidate.judgement.utilisation);
        }
        if let Some(headroom) = &candidate.headroom {
            let more = if headroom.is_lower_bound { "at least " } else { "" };
            let is = format!("{more}{} times the trace's", words::factor(headroom.factor));
            let budget = budgets.headroom.map(|asked| format!("{} times", words::number_limit(asked)));
            self.against("load that is carried", &is, budget.as_deref(), candidate.judgement.headroom);
            if let (Some(at), Some(by)) = (headroom.breaks_at, &headroom.limited_by) {
                self.step(&format!("at {} times the load: {by}", words::factor(at)));
            }
        }
        if let Some(grown) = &candidate.grown {
            let then = match (grown.keeps_up, grown.busiest_hour_p99_us) {
                (true, Some(p99)) => format!("99 % within {} in the busiest hour", words::time(p99)),
                (true, None) => "it keeps up".into(),
                (false, _) => "it cannot keep up".into(),
            };
            let (years, factor) = (words::years_limit(budgets.years), words::factor(grown.factor));
            self.step(&format!("after {years} of growth, {factor} times the load: {then}"));
        }
    }

    fn answer(&mut self, workload: &WorkloadStudy, candidate: &Candidate) {
        self.section("Answer");
        let answers = workload.verdict.answers();
        let answer = answers.iter().find(|answer| answer.market == candidate.product.market);
        let close = answer.is_some_and(|answer| answer.close.contains(&candidate.name));
        let recommended = answer.and_then(|answer| answer.recommended.as_deref());
        let equal = answer.is_some_and(|answer| answer.equals.contains(&candidate.name));
        let reasons = &candidate.judgement.reasons;
        if recommended == Some(candidate.name.as_str()) {
            self.step("It is recommended: the cheapest of its market that keeps every budget.");
        } else if equal {
            self.step(&format!("It cannot be told from {}, which is recommended.", recommended.unwrap_or_default()));
        } else if close {
            let missed = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
            self.step(&format!("It is so close to a budget that chance decides, and not recommended{missed}."));
        } else if !reasons.is_empty() {
            self.step(&format!("It is not recommended: {}.", reasons.join("; ")));
        } else {
            let best = workload.candidates.iter().find(|other| Some(other.name.as_str()) == recommended);
            match best.map(|best| (best, candidate.cost.total / best.cost.total)) {
                Some((best, times)) if times.is_finite() => self.step(&format!(
                    "It keeps the budgets that were judged, but costs {} times as much as {}.",
                    words::factor(times),
                    best.title
                )),
                _ => self.step("It is not recommended."),
            }
        }
    }
}
