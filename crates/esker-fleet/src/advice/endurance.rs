//! What a drive may be written in all, and what another one costs.

use esker_catalogue::{Catalogue, Product};
use esker_core::Bytes;
use esker_results::advice::FigureRange;

use super::AdviceSettings;
use super::figures::range;
use super::smart::DriveSample;

/// From this share on, a drive's own count tells something of its life: it counts whole percents.
const OWN_FROM_PERCENT: u64 = 5;
/// From this share on, it is the best estimate.
const OWN_BEST_PERCENT: u64 = 20;

/// What is known of a drive's life and price.
#[derive(Clone, Debug, Default)]
pub(super) struct DriveRating {
    pub(super) endurance: Option<FigureRange>,
    pub(super) sources: Vec<String>,
    pub(super) price: Option<f64>,
    pub(super) price_source: Option<String>,
}

/// Finds out what a drive may be written, and what it costs.
pub(super) fn rate(last: &DriveSample, settings: &AdviceSettings, catalogue: &Catalogue) -> DriveRating {
    let product = product_of(&last.model, catalogue);
    let mut rating = DriveRating::default();
    find_endurance(last, settings, product, &mut rating);
    let given = settings.prices.iter().find(|(model, _)| is_model(model, &last.model));
    if let Some((_, price)) = given {
        (rating.price, rating.price_source) = (Some(*price), Some("--price".into()));
    } else if let (Some(product), Some(capacity)) = (product, last.capacity_bytes) {
        let price = product.purchase(Bytes(capacity)).as_f64();
        let of = if product.price.value.of_class { "its class" } else { "it" };
        rating.price = Some(price).filter(|price| *price > 0.0);
        rating.price_source = Some(format!("the catalogue's price of {of} on {}", product.price.value.as_of));
    }
    rating
}

fn find_endurance(last: &DriveSample, settings: &AdviceSettings, product: Option<&Product>, rating: &mut DriveRating) {
    if let Some((_, bytes)) = settings.ratings.iter().find(|(model, _)| is_model(model, &last.model)) {
        rating.endurance = Some(range(bytes.0 as f64, []));
        rating.sources.push("--rated".into());
        return;
    }
    let rated = product.zip(last.capacity_bytes).and_then(|(product, capacity)| {
        let bytes = product.endurance_bytes(Bytes(capacity)).filter(|bytes| *bytes > 0)? as f64;
        rating.sources.push(format!("the catalogue's rating of the {}", product.title));
        Some(bytes)
    });
    let own = last.written_bytes.zip(last.used_percent).and_then(|(written, used)| {
        if used < OWN_FROM_PERCENT || written == 0 {
            return None;
        }
        rating.sources.push("the drive's own count of its life used".into());
        let at = |percent: f64| written as f64 / percent * 100.0;
        let used_percent = used as f64;
        Some((used >= OWN_BEST_PERCENT, range(at(used_percent), [at(used_percent + 1.0), at(used_percent - 1.0)])))
    });
    rating.endurance = match (rated, own) {
        (Some(rated), Some((false, own))) => Some(range(rated, [own.low, own.high])),
        (Some(rated), Some((true, own))) => Some(range(own.likely, [own.low, own.high, rated])),
        (Some(rated), None) => Some(range(rated, [])),
        (None, Some((_, own))) => Some(own),
        (None, None) => None,
    };
}

/// Whether an option means a model: it is in its name, in whatever letters.
pub(super) fn is_model(wanted: &str, model: &str) -> bool {
    !wanted.is_empty() && model.to_lowercase().contains(&wanted.to_lowercase())
}

/// The product whose maker and name are all in the model, as in "Samsung SSD 990 PRO 2TB". Data-centre drives often
/// say an order number instead, which no catalogue has.
fn product_of<'a>(model: &str, catalogue: &'a Catalogue) -> Option<&'a Product> {
    let said = words(model);
    let fits = |product: &&Product| {
        let name = words(&product.name);
        name.len() > 1 && name.iter().all(|word| said.contains(word))
    };
    catalogue.products.iter().filter(fits).max_by_key(|product| words(&product.name).len())
}

fn words(text: &str) -> Vec<String> {
    text.to_lowercase()
        .split(|mark: char| !mark.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_string)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rating(model: &str, written_tb: u64, used_percent: Option<u64>) -> DriveRating {
        let sample = DriveSample {
            model: model.into(),
            capacity_bytes: Some(1_000_204_886_016),
            written_bytes: Some(written_tb * 1_000_000_000_000),
            used_percent,
            ..DriveSample::default()
        };
        rate(&sample, &AdviceSettings::default(), &Catalogue::builtin("current").unwrap())
    }

    #[test]
    fn a_model_is_found_by_maker_and_name() {
        let found = rating("Samsung SSD 990 PRO 1TB", 1, None);
        let endurance = found.endurance.unwrap();
        assert!((endurance.likely / 600e12 - 1.0).abs() < 1e-3, "{endurance:?}");
        assert!(found.price.is_some_and(|price| (price - 120.0).abs() < 0.1));
        assert!(rating("Samsung SSD 990 EVO 1TB", 1, None).endurance.is_none());
        assert!(rating("SAMSUNG MZQL21T9HCJR", 1, None).endurance.is_none());
    }

    #[test]
    fn the_drives_own_count_widens_the_range_and_leads_once_it_tells_more() {
        let early = rating("Samsung SSD 990 PRO 1TB", 45, Some(5)).endurance.unwrap();
        assert!((early.likely / 600e12 - 1.0).abs() < 1e-3 && (early.high / 1125e12 - 1.0).abs() < 1e-9);
        let late = rating("Samsung SSD 990 PRO 1TB", 450, Some(50)).endurance.unwrap();
        assert!((late.likely / 900e12 - 1.0).abs() < 1e-9 && (late.low / 600e12 - 1.0).abs() < 1e-3);
        let unknown = rating("ACME", 45, Some(4));
        assert!(unknown.endurance.is_none() && unknown.price.is_none());
    }
}
