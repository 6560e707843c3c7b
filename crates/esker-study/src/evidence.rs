//! Grades the evidence behind a study's answer.

use esker_core::words;
use esker_results::study::{Candidate, Evidence, Grade, ProductSummary};

const TEN_MINUTES: f64 = 600.0;
const DAY: f64 = 86_400.0;
const WEEK: f64 = 7.0 * DAY;
const HOUR: f64 = 3_600.0;

/// Grades the evidence for a study that recommends `recommended`, a design whose results have these doubts. If there is
/// no duration, `Err` says why the trace has no times.
pub(crate) fn evidence(duration_s: Result<f64, &str>, recommended: Option<&Candidate>, doubts: &[&str]) -> Evidence {
    let (length, mut grade) = of_length(duration_s);
    let mut reasons: Vec<String> = length.into_iter().collect();
    let product = recommended.map(|candidate| &candidate.product);
    let assumed = product.filter(|product| !product.assumed.is_empty());
    let sheet = product.and_then(beside_data_sheet);
    if assumed.is_some() || !doubts.is_empty() {
        grade = match grade {
            Grade::High => Grade::Medium,
            Grade::Medium | Grade::Low => Grade::Low,
        };
    }
    reasons.extend(doubts.iter().map(ToString::to_string));
    if let Some(product) = assumed {
        reasons.push(format!("Of the {}, assumed: {}.", product.title, product.assumed.join("; ")));
    }
    reasons.extend(sheet);
    Evidence { kind: "trace".into(), grade, reasons }
}

/// Grades a trace by the time it covers, and says what it is too short for.
fn of_length(duration_s: Result<f64, &str>) -> (Option<String>, Grade) {
    let seconds = match duration_s {
        Ok(seconds) => seconds,
        Err(why) => {
            let reason = format!("{why}: nothing is known of its peaks, its pauses, or its writes a day.");
            return (Some(reason), Grade::Low);
        }
    };
    let (lacks, grade) = if seconds < TEN_MINUTES {
        ("too little to tell how much is written a day, or when most is asked for", Grade::Low)
    } else if seconds < HOUR {
        ("it may not hold the busiest time of a day", Grade::Low)
    } else if seconds < 2.0 * DAY {
        ("no two days to compare, and no week", Grade::Medium)
    } else if seconds < WEEK - HOUR {
        ("not a whole week", Grade::Medium)
    } else {
        return (None, Grade::High);
    };
    (Some(format!("The trace covers {}: {lacks}.", words::duration(seconds))), grade)
}

/// Compares the simulated drive with its data sheet, in words; `None` if no figures of it are published.
fn beside_data_sheet(product: &ProductSummary) -> Option<String> {
    let figures = ["random_read", "random_write", "sequential_read", "sequential_write"];
    let ratio = |figure: &&str| {
        let ratio = product.simulated_over_published.get(*figure)?;
        Some(format!("{}s {ratio:.2}", figure.replace('_', " ")))
    };
    let ratios: Vec<String> = figures.iter().filter_map(ratio).collect();
    let title = &product.title;
    (!ratios.is_empty()).then(|| format!("Simulated over published throughput of the {title}: {}.", ratios.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_traces_are_better_evidence_and_assumptions_lower_it() {
        let grade = |seconds: Result<f64, &str>, candidate: Option<&Candidate>| evidence(seconds, candidate, &[]).grade;
        let none = Err("The trace has no times");
        let long = [none, Ok(1.0), Ok(900.0), Ok(7_200.0), Ok(3.0 * DAY), Ok(WEEK), Ok(30.0 * DAY)];
        let grades: Vec<Grade> = long.iter().map(|&seconds| grade(seconds, None)).collect();
        assert!(grades.is_sorted() && grades[0] == Grade::Low && grades[6] == Grade::High, "{grades:?}");
        let product = ProductSummary { assumed: vec!["the price".into()], ..ProductSummary::default() };
        let candidate = Candidate { product, ..Candidate::new("a", "a", "ssd", 1) };
        assert_eq!(grade(Ok(WEEK), Some(&candidate)), Grade::Medium);
        assert_eq!(evidence(Ok(WEEK), Some(&candidate), &[]).reasons.len(), 1);
        assert!(evidence(Ok(WEEK), None, &[]).reasons.is_empty());
        let doubted = evidence(Ok(WEEK), None, &["One.", "Two."]);
        assert!(doubted.grade == Grade::Medium && doubted.reasons == ["One.", "Two."], "{doubted:?}");
        let simulated_over_published = [("random_write".to_string(), 0.5), ("random_read".to_string(), 1.0)].into();
        let product = ProductSummary { title: "A".into(), simulated_over_published, ..ProductSummary::default() };
        let candidate = Candidate { product, ..Candidate::new("a", "a", "ssd", 1) };
        let Evidence { grade, reasons, .. } = evidence(Ok(WEEK), Some(&candidate), &[]);
        let said = "Simulated over published throughput of the A: random reads 1.00, random writes 0.50.";
        assert_eq!((grade, reasons.as_slice()), (Grade::High, [said.to_string()].as_slice()));
    }
}
