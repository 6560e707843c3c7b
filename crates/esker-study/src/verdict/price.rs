//! Explains why the cheapest design is the cheapest, and what its price depends on.

use std::collections::BTreeMap;

use esker_core::words;
use esker_results::study::{Candidate, Finding, Level, ReplayMode};

use super::Facts;
use super::phrases::{in_market, price_of};
use crate::search::MarketResult;
use crate::search::saving::LONG;

/// Explains the answer of a market.
pub(super) fn because(found: &MarketResult, facts: &Facts<'_>) -> String {
    if facts.replay.mode == ReplayMode::Closed {
        return format!("{}.", facts.why_no_times);
    }
    let Some(best) = found.recommended() else {
        return match found.tried.len() {
            1 => "The one design that was simulated does not keep every budget.".into(),
            n => format!("None of {n} simulated designs keeps every budget."),
        };
    };
    let price = best.cost.total;
    let cheaper: Vec<&Candidate> =
        found.tried.iter().map(|tried| &tried.candidate).filter(|other| other.cost.total < price).collect();
    match cheaper.last() {
        None => none_cheaper(found, price),
        Some(other) => format!(
            "{}; the dearest of them is {}: {}.",
            match cheaper.len() {
                1 => "1 cheaper design misses a budget".to_string(),
                n => format!("{n} cheaper designs miss a budget"),
            },
            other.title,
            match other.judgement.reasons.first() {
                Some(reason) => reason.as_str(),
                None if other.endurance.as_ref().is_some_and(|endurance| endurance.kept.is_none()) =>
                    "the life of its flash cannot be told",
                None => "too close to call",
            }
        ),
    }
}

/// Names the cheapest of the designs that miss or keep a budget by chance.
fn close_to_a_budget(close: &[&Candidate]) -> Option<String> {
    let cheapest = close.first()?;
    // Some missed a budget in an earlier look, but kept it in the last one, with other random numbers.
    let missed = match cheapest.judgement.reasons.join("; ") {
        none if none.is_empty() => none,
        missed => format!(" ({missed})"),
    };
    let which = match close.len() {
        1 => cheapest.title.clone(),
        n => format!("{n} cheaper designs, of which {} costs least", cheapest.title),
    };
    Some(format!("So close to a budget that chance decides: {which}{missed}."))
}

/// Explains why nothing cheaper than the best was simulated.
fn none_cheaper(found: &MarketResult, best: f64) -> String {
    let mut by: BTreeMap<&str, usize> = BTreeMap::new();
    for ruled in found.ruled_out.iter().filter(|ruled| ruled.total.is_some_and(|total| total < best)) {
        *by.entry(&ruled.by).or_default() += 1;
    }
    if by.is_empty() {
        return "Nothing cheaper was found that holds the data.".into();
    }
    let mut by: Vec<(&str, usize)> = by.into_iter().collect();
    // Reasons with the same count stay in the order of their names.
    by.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let reasons: Vec<String> = by.iter().map(|(by, count)| format!("{by} ({count})")).collect();
    format!("What is cheaper is ruled out beforehand, by {}.", reasons.join(", "))
}

pub(super) fn price(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    let mut say = |level, text: String| findings.push(Finding { level, topic: "performance".into(), text });
    let Some(found) = facts.markets.first() else { return };
    if facts.replay.mode == ReplayMode::Closed {
        return;
    }
    if let Some(best) = found.recommended() {
        say(Level::Info, because(found, facts));
        let equals: Vec<&str> = found.choice.equals.iter().map(|&n| found.tried[n].candidate.title.as_str()).collect();
        if !equals.is_empty() {
            say(Level::Info, format!("Equal to {} within the noise: {}.", best.title, equals.join("; ")));
        }
        let close: Vec<&Candidate> = found.choice.close.iter().map(|&n| &found.tried[n].candidate).collect();
        if let Some(text) = close_to_a_budget(&close) {
            say(Level::Info, text);
        }
        if found.not_reached > 0 {
            let text = match found.not_reached {
                1 => "1 cheaper design was not simulated: --thorough looks at it.".to_string(),
                n => format!("{n} cheaper designs were not simulated: --thorough looks at them."),
            };
            say(Level::Warning, text);
        }
        if best.cost.assumed {
            let text = match best.cost.purchase > 0.0 || best.is_rented() {
                true => format!(
                    "The price of {} is assumed, or that of its class ({}): ask for an offer.",
                    best.title, best.cost.as_of
                ),
                false => format!("What electricity costs for {} rests on assumed power.", best.title),
            };
            say(Level::Warning, text);
        }
    }
    for other in &facts.markets[1..] {
        if let Some(best) = other.recommended() {
            let price = price_of(best, facts.budgets.years);
            let text = format!("{}: {}, {price}.", in_market(other.market), best.title_and_year());
            findings.push(Finding { level: Level::Info, topic: "market".into(), text });
        }
    }
}

/// Warns where the answer would be another if volumes saved up more of their limits than assumed.
pub(super) fn saving(facts: &Facts<'_>, findings: &mut Vec<Finding>) {
    for (index, found) in facts.markets.iter().enumerate() {
        let Some(tried) = found.keeps_if_saving.map(|n| &found.tried[n]) else { continue };
        let price = price_of(&tried.candidate, facts.budgets.years);
        findings.push(Finding {
            level: if index == 0 { Level::Warning } else { Level::Info },
            topic: "performance".into(),
            text: format!(
                "{} the answer stands on an assumption: that idle volumes save up little of their limits for bursts. \
                 If they saved up {} of them, {}, {price}, would keep every budget, too: measure a burst \
                 before you order.",
                in_market(found.market),
                words::duration(LONG.as_secs_f64()),
                tried.candidate.title,
            ),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use esker_results::study::Judgement;

    #[test]
    fn many_close_designs_are_one_sentence() {
        let candidate = |title: &str, reasons: &[&str]| {
            let reasons = reasons.iter().map(ToString::to_string).collect();
            Candidate {
                judgement: Judgement { reasons, ..Judgement::default() },
                ..Candidate::new(title, title, "hdd", 1)
            }
        };
        let (missed, kept) = (candidate("A", &["p99 is 11 ms, the budget 10 ms"]), candidate("B", &[]));
        assert_eq!(close_to_a_budget(&[]), None);
        let of = |close: &[&Candidate]| close_to_a_budget(close).unwrap();
        assert_eq!(of(&[&missed]), "So close to a budget that chance decides: A (p99 is 11 ms, the budget 10 ms).");
        assert_eq!(
            of(&[&kept, &missed]),
            "So close to a budget that chance decides: 2 cheaper designs, of which B costs least."
        );
    }
}
