//! What an advice on drives comes to, in sentences.

use esker_core::words;
use esker_results::advice::{AdviceVerdict, Advised, DriveAdvice, DriveExchange, FigureRange};

use super::figures::{YEAR_DAYS, days_left, moment};
use super::host;
use super::judged::JudgedDrive;
use super::time::day_in_words;

/// The verdict where no drive can be judged.
pub(super) fn of_drives(drives: &[DriveAdvice]) -> AdviceVerdict {
    let reason = match drives.len() {
        0 => "there is no sample of a drive of flash: nothing says how it wears",
        _ => "no drive can be judged",
    };
    AdviceVerdict { advised: Advised::NotJudged, reasons: vec![reason.into()] }
}

/// The verdict on the drives of a host.
pub(super) fn of_host(
    drives: &[DriveAdvice],
    judged: &[JudgedDrive],
    (exchanges, is_one_host): (&[DriveExchange], bool),
    horizon_years: f64,
    currency: &str,
) -> AdviceVerdict {
    let mut reasons = Vec::new();
    let horizon = horizon_years * YEAR_DAYS;
    let lives: Vec<FigureRange> =
        judged.iter().map(|drive| days_left(drive.written, drive.endurance, drive.per_day)).collect();
    let within = |of: fn(&FigureRange) -> f64| lives.iter().filter(|life| of(life) < horizon).count();
    let (surely, likely, perhaps) = (within(|life| life.high), within(|life| life.likely), within(|life| life.low));
    reasons.push(worn_within(surely, likely, perhaps, judged.len(), horizon_years));
    reasons.extend(first_worn_out(judged, &lives, currency));
    reasons.extend(unevenness(judged));
    // Also of a drive that could take over from another one.
    let takes_over = |drive: &JudgedDrive| {
        let mut others = judged.iter().zip(&lives).filter(|(_, life)| life.likely < horizon);
        others.any(|(other, _)| drive.capacity.is_some() && other.capacity == drive.capacity)
    };
    let needs_price = |drive: &JudgedDrive, life: &FigureRange| life.low < horizon || takes_over(drive);
    let unpriced = || judged.iter().zip(&lives).find(|(drive, life)| drive.price.is_none() && needs_price(drive, life));
    let saved = host::saved(exchanges);
    let pays = exchanges.iter().all(|exchange| exchange.money_saved > exchange.money_spent);
    let advised = if exchanges.is_empty() {
        match unpriced() {
            Some((drive, _)) => {
                reasons.push(format!("nothing says what {} costs: give --price MODEL=AMOUNT", drive.name));
                Advised::NotJudged
            }
            None if likely > 0 => {
                reasons.extend(is_one_host.then(|| none_saves(judged, horizon_years)));
                Advised::NothingToDo
            }
            None if perhaps > 0 => {
                reasons.push("take another sample in some months".into());
                Advised::Unclear
            }
            None => Advised::NothingToDo,
        }
    } else if saved.low >= 1.0 && pays {
        Advised::Balance
    } else {
        let until = exchanges.iter().map(|exchange| exchange.best_unix_s).min().map_or("then".into(), day_in_words);
        reasons
            .push(format!("by the ranges an exchange may save nothing, and it has time until {until}: measure again"));
        Advised::Unclear
    };
    if drives.len() > judged.len() {
        reasons.push(format!("{} cannot be judged", words_of_drives(drives.len() - judged.len())));
    }
    AdviceVerdict { advised, reasons }
}

/// Says that no exchange saves a drive, and what one would put off all the same.
fn none_saves(judged: &[JudgedDrive], horizon_years: f64) -> String {
    match host::put_off(judged, horizon_years) {
        None => "no exchange of drives of the same size would put off a purchase".into(),
        Some(host::PutOff { worn, fresh, days }) => format!(
            "an exchange of {worn} and {fresh} would put off a purchase by {}, but it saves no drive within {}",
            words::years(days / YEAR_DAYS),
            words::years(horizon_years)
        ),
    }
}

fn worn_within(surely: usize, likely: usize, perhaps: usize, all: usize, horizon_years: f64) -> String {
    let years = words::years(horizon_years);
    let of_all = if all == 1 { "the drive".to_string() } else { format!("{likely} of {all} drives") };
    let wear = if all == 1 || likely == 1 { "wears" } else { "wear" };
    match (perhaps, likely) {
        (0, _) if all == 1 => format!("the drive does not wear out within {years}"),
        (0, _) => format!("none of {all} drives wears out within {years}"),
        (_, 0) if all == 1 => format!("the drive may wear out within {years}, and likely does not"),
        (_, 0) => format!("{perhaps} of {all} drives may wear out within {years}, and likely none does"),
        _ if surely == perhaps => format!("{of_all} {wear} out within {years}"),
        _ => format!("{of_all} {wear} out within {years} ({surely} to {perhaps} by the ranges)"),
    }
}

/// The drive that wears out first, with the price of another one.
fn first_worn_out(judged: &[JudgedDrive], lives: &[FigureRange], currency: &str) -> Option<String> {
    let (drive, life) = judged.iter().zip(lives).min_by(|one, other| one.1.likely.total_cmp(&other.1.likely))?;
    let day = |days: f64| moment(drive.last_unix_s, days).map(day_in_words);
    let (likely, earliest) = (day(life.likely)?, day(life.low)?);
    let latest = day(life.high).map_or("later than in 100 years".into(), |latest| latest[..7].to_string());
    let costs = |price: f64| format!("; another one costs {} {currency}", words::money(price));
    let price = drive.price.map_or(String::new(), costs);
    let name = &drive.name;
    Some(format!("the first is {name}, about {} ({} to {latest}){price}", &likely[..7], &earliest[..7]))
}

/// How much faster one drive is written than another, if that is much.
fn unevenness(judged: &[JudgedDrive]) -> Option<String> {
    const MUCH: f64 = 3.0;
    let by_rate = |one: &&JudgedDrive, other: &&JudgedDrive| one.per_day.likely.total_cmp(&other.per_day.likely);
    let (fast, slow) = (judged.iter().max_by(by_rate)?, judged.iter().min_by(by_rate)?);
    let ratio = fast.per_day.likely / slow.per_day.likely;
    (ratio >= MUCH && ratio.is_finite())
        .then(|| format!("{} is written {} times as fast as {}", fast.name, words::factor(ratio), slow.name))
}

fn words_of_drives(count: usize) -> String {
    if count == 1 { "1 drive".into() } else { format!("{count} drives") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Exchanged, both last for 1,245 days instead of 400 and 9,900.
    #[test]
    fn an_exchange_that_puts_off_a_purchase_and_saves_none_is_said_to() {
        let drive = |name: &str, left: f64, per_day: f64| JudgedDrive {
            name: name.into(),
            capacity: Some(10),
            written: 1_000.0 - left,
            endurance: super::super::figures::range(1_000.0, []),
            per_day: super::super::figures::range(per_day, []),
            price: Some(50.0),
            last_unix_s: 0,
        };
        let both = [drive("fast", 400.0, 1.0), drive("slow", 990.0, 0.1)];
        let of = |drives: &[JudgedDrive], days: f64| {
            of_host(&[], drives, (&[], true), days / YEAR_DAYS, "USD").reasons.last().cloned().unwrap()
        };
        let said = of(&both, 1_300.0);
        assert!(said.starts_with("an exchange of fast and slow would put off a purchase by 2.3 years"), "{said}");
        assert!(said.ends_with("it saves no drive within 3.6 years"), "{said}");
        // What the fresh one costs decides whether an exchange pays.
        let unknown = [both[0].clone(), JudgedDrive { price: None, ..both[1].clone() }];
        assert_eq!(of(&unknown, 500.0), "nothing says what slow costs: give --price MODEL=AMOUNT");
        let alone = of(&both[..1], 1_300.0);
        assert_eq!(alone, "no exchange of drives of the same size would put off a purchase");
    }

    #[test]
    fn what_may_happen_and_likely_does_not_is_called_so() {
        let said = |surely, likely, perhaps, all| worn_within(surely, likely, perhaps, all, 5.0);
        assert_eq!(said(0, 0, 0, 1), "the drive does not wear out within 5 years");
        assert_eq!(said(0, 0, 1, 1), "the drive may wear out within 5 years, and likely does not");
        assert_eq!(said(0, 1, 1, 1), "the drive wears out within 5 years (0 to 1 by the ranges)");
        assert_eq!(said(0, 0, 3, 12), "3 of 12 drives may wear out within 5 years, and likely none does");
        assert_eq!(said(1, 2, 4, 12), "2 of 12 drives wear out within 5 years (1 to 4 by the ranges)");
        assert_eq!(said(2, 2, 2, 12), "2 of 12 drives wear out within 5 years");
    }
}
