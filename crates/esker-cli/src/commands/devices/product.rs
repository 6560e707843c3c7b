//! Products of a catalogue for people: a list, and one with the source of every figure.

use esker_catalogue::{Capacity, Catalogue, Figure, Price, PriceRate, Product, Rating, VolumePrice, capacity_in_words};
use esker_core::ByteRate;
use serde_json::Value;

use crate::table::Table;

/// The products as a table of at most 120 columns.
pub(super) fn list(catalogue: &Catalogue) -> String {
    let mut table = Table::new(&["product", "what it is", "market", "capacities", "price", "DWPD"]);
    for product in &catalogue.products {
        table.row([
            product.name.clone(),
            product.title.clone(),
            product.market.to_string(),
            capacities(product),
            format!("{}{}", price(&product.price.value), if price_is_assumed(product) { " *" } else { "" }),
            endurance(product),
        ]);
    }
    format!(
        "Products of the catalogue {}, prices as of {} or before, in {}.\n\
         * is assumed; DWPD is drive writes per day.\n\n{}",
        catalogue.name,
        catalogue.as_of,
        catalogue.currency,
        table.render()
    )
}

/// From the smallest to the largest capacity.
fn capacities(product: &Product) -> String {
    let (least, most) = match (&product.volume_sizes, product.capacities.as_slice()) {
        (Some(sizes), _) => (sizes.least, sizes.most),
        (None, [Capacity { bytes, .. }]) => return capacity_in_words(*bytes),
        (None, [least, .., most]) => (least.bytes, most.bytes),
        (None, []) => return String::new(),
    };
    format!("{} to {}", capacity_in_words(least), capacity_in_words(most))
}

/// Whether any part of the price is assumed.
fn price_is_assumed(product: &Product) -> bool {
    product.assumed.iter().any(|assumption| assumption.figure.split('.').next() == Some("price"))
}

fn price(price: &Price) -> String {
    match &price.rate {
        PriceRate::PerTerabyte(amount) if price.per_unit.0 > 0 => format!("{}+{amount}/TB", price.per_unit),
        PriceRate::PerTerabyte(amount) => format!("{amount}/TB"),
        PriceRate::Each(list) => match list.as_slice() {
            [(_, only)] => format!("{only} each"),
            [(_, first), ..] => format!("from {first}"),
            [] => String::new(),
        },
        PriceRate::Monthly(VolumePrice { classes, per_gib_month, .. }) => match classes.first() {
            Some(smallest) => format!("from {}/month", smallest.per_month),
            None => format!("{per_gib_month}/GiB-month"),
        },
    }
}

/// Drive writes per day of the smallest and the largest capacity, if they differ.
fn endurance(product: &Product) -> String {
    let per_day = |capacity: Option<&Capacity>| product.drive_writes_per_day_sold(capacity?.bytes);
    let said = |times: f64| (times * 100.0).round() / 100.0;
    match (per_day(product.capacities.first()), per_day(product.capacities.last())) {
        (Some(least), Some(most)) if said(least) == said(most) => said(least).to_string(),
        (Some(least), Some(most)) => format!("{} to {}", said(least), said(most)),
        _ => product
            .endurance
            .as_ref()
            .and_then(|figure| figure.value.ratings.first())
            .map_or_else(|| "-".to_string(), |(_, rating)| rating_in_words(rating)),
    }
}

fn rating_in_words(rating: &Rating) -> String {
    match rating {
        Rating::DriveWritesPerDay(times) => format!("{} DWPD", times.as_f64()),
        Rating::Written(bytes) => format!("{} TBW", bytes / 1_000_000_000_000),
        Rating::Cycles(cycles) => format!("{cycles} cycles"),
    }
}

/// One product with every figure and where it is from.
pub(super) fn describe(product: &Product) -> String {
    let mut page = Page { product, text: format!("{}: {} ({})\n\n", product.name, product.title, product.year) };
    page.text += &format!("market: {}\nclass: {}\ninterface: {}\n", product.market, product.class, product.interface);
    if let Some(reason) = &product.discontinued {
        page.text += &format!("no longer sold: {reason}\n");
    }
    page.text += &format!("model: the preset {} (kind {})\n", product.preset, product.kind);
    page.own_settings();
    page.sizes();
    if let Some(said) = &product.shared_limits {
        page.line("limits", "shared by all volumes of the type at an instance", Some(said.as_str()));
    }
    if let Some(endurance) = &product.endurance {
        let ratings = endurance.value.ratings.iter();
        let ratings = ratings.map(|(of, rating)| format!("{} {}", capacity_in_words(*of), rating_in_words(rating)));
        let years = format!(", over {} years", product.warranty_years);
        let over = if product.warranty_years > 0.0 { years } else { String::new() };
        page.figure("endurance", &(ratings.collect::<Vec<_>>().join(", ") + &over), endurance);
    }
    if let Some(power) = &product.power {
        let draw = power.value;
        let extra = match draw.supplement.0 {
            0 => String::new(),
            _ => format!(", supplement {}", draw.supplement),
        };
        page.figure("power", &format!("active {}, idle {}{extra}", watts(draw.active.0), watts(draw.idle.0)), power);
    }
    if let Some(rate) = &product.annual_failure_rate {
        page.figure("annual failure rate", &rate.value.to_string(), rate);
    }
    page.performance();
    let (amounts, figure) = (prices(&product.price.value), &product.price);
    page.figure("price", &amounts, figure);
    let assumptions = product.assumptions();
    if !assumptions.is_empty() {
        page.text += &format!("\nAssumed:\n  {}\n", assumptions.join("\n  "));
    }
    page.text
}

fn watts(micro: u64) -> String {
    format!("{} W", micro as f64 / 1e6)
}

/// The text about a product, as far as it is written.
struct Page<'a> {
    product: &'a Product,
    text: String,
}

impl Page<'_> {
    fn figure<T>(&mut self, name: &str, value: &str, figure: &Figure<T>) {
        let source = figure.source.as_deref();
        self.line(name, value, source);
    }

    /// A figure, and its source below it.
    fn line(&mut self, name: &str, value: &str, source: Option<&str>) {
        let origin = source.map_or_else(|| "assumed, see below".to_string(), |source| format!("source: {source}"));
        self.text += &format!("{name}: {value}\n    {origin}\n");
    }

    /// A figure that has the product's source, unless it is assumed.
    fn plain_figure(&mut self, name: &str, key: &str, value: &str) {
        let source = self.product.source.as_deref().filter(|_| !self.product.is_assumed(key));
        self.line(name, value, source.or((!self.product.is_assumed(key)).then_some("stated in the catalogue")));
    }

    fn own_settings(&mut self) {
        let product = self.product;
        if product.own_settings.is_empty() {
            return;
        }
        let settings = product.own_settings.iter().map(|key| {
            match product.settings.as_ref().and_then(|settings| settings.get(key)) {
                Some(value @ (Value::Array(_) | Value::Object(_))) if value.to_string().len() > 90 => key.clone(),
                Some(value) => format!("{key} = {value}"),
                None => key.clone(),
            }
        });
        let settings = settings.collect::<Vec<_>>().join(", ");
        self.plain_figure("settings of its own", "device", &settings);
    }

    fn sizes(&mut self) {
        let product = self.product;
        if product.volume_sizes.is_some() {
            return self.plain_figure("size", "size", &capacities(product));
        }
        let sizes = product.capacities.iter().map(|capacity| capacity_in_words(capacity.bytes));
        self.plain_figure("capacities", "capacities", &sizes.collect::<Vec<_>>().join(", "));
        if let Some(die) = product.die {
            let dies = product.capacities.iter().filter_map(|capacity| capacity.dies);
            let dies = dies.map(|dies| dies.to_string()).collect::<Vec<_>>().join(", ");
            self.plain_figure("dies", "die", &format!("{dies} of {die}"));
        }
    }

    fn performance(&mut self) {
        let Some(figure) = &self.product.performance else { return };
        let all = figure.value;
        let rate = |rate: ByteRate| format!("{} MB/s", rate.0 as f64 / 1e6);
        let figures = [
            ("sequential reads", all.sequential_read.map(rate)),
            ("sequential writes", all.sequential_write.map(rate)),
            ("random reads", all.random_read.map(|rate| format!("{rate}/s"))),
            ("random writes", all.random_write.map(|rate| format!("{rate}/s"))),
            ("a read", all.read_latency.map(|time| time.to_string())),
            ("a write", all.write_latency.map(|time| time.to_string())),
        ];
        let figures = figures.iter().filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)));
        let figures = figures.collect::<Vec<_>>().join(", ");
        self.line("published performance", &figures, figure.source.as_deref());
        self.beside_published();
    }

    /// What the simulated drive does beside what is published. Drives of other catalogues are measured now.
    fn beside_published(&mut self) {
        let mut product = self.product.clone();
        product.simulated = product.simulated.or_else(|| esker_study::at_sheet_conditions(self.product));
        let figures = product.beside_published();
        let (Some(simulated), false) = (product.simulated, figures.is_empty()) else { return };
        let ratios: Vec<_> = figures.iter().map(|one| format!("{} {:.2}", one.name(), one.ratio())).collect();
        let capacity = capacity_in_words(simulated.capacity);
        self.text += &format!("simulated over published: {}\n", ratios.join(", "));
        self.text += &format!("    of {capacity}: 4 KiB, 256 at a time; 128 KiB in sequence, 32 at a time\n");
        for one in &figures {
            if let Some(reason) = product.performance_differs.get(one.figure) {
                self.text += &format!("    {}: {reason}\n", one.name());
            }
        }
    }
}

/// Every amount of a price.
fn prices(price: &Price) -> String {
    let currency = &price.currency;
    let amounts = match &price.rate {
        PriceRate::PerTerabyte(amount) if price.per_unit.0 > 0 => {
            format!("{} {currency} each and {amount} {currency} per TB", price.per_unit)
        }
        PriceRate::PerTerabyte(amount) => format!("{amount} {currency} per TB"),
        PriceRate::Each(list) => {
            let each = list.iter().map(|(of, amount)| format!("{} {amount} {currency}", capacity_in_words(*of)));
            each.collect::<Vec<_>>().join(", ")
        }
        PriceRate::Monthly(monthly) => months(monthly, currency),
    };
    let of = if price.of_class { ", that of its class" } else { "" };
    format!("{amounts} as of {}{of}", price.as_of)
}

fn months(price: &VolumePrice, currency: &str) -> String {
    let mut parts = Vec::new();
    if price.classes.is_empty() {
        parts.push(format!("{} {currency} per GiB-month", price.per_gib_month));
    }
    for class in &price.classes {
        parts.push(format!("{} ({}) {} {currency}", class.name, class.size, class.per_month));
    }
    for tier in &price.operations {
        let up_to = tier.up_to.map_or_else(String::new, |up_to| format!(" up to {up_to}/s"));
        parts.push(format!("{} {currency} per operation/s{up_to}", tier.per_month));
    }
    if price.per_mib_month.0 > 0 {
        parts.push(format!("{} {currency} per MiB/s", price.per_mib_month));
    }
    if price.free_operations > 0 || price.free_throughput > 0 {
        let throughput = ByteRate(price.free_throughput);
        parts.push(format!("{} operations/s and {throughput} free", price.free_operations));
    }
    parts.join(", ")
}
