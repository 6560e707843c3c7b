//! The answer of a verdict in words: what is bought, what it costs, what it carries, how long it lasts, and how sure
//! that is.

use esker_core::words::page::{self, UNIT_SPACE};
use esker_results::study::{Budgets, Candidate, Endurance, Finding, Grade, Headroom, WorkloadStudy};

use crate::purchase::{amount, money, size};

/// Whether a design cannot be told from the answer of its market.
pub(crate) fn is_equal(workload: &WorkloadStudy, candidate: &Candidate) -> bool {
    let mut others = workload.verdict.other_markets.iter().flat_map(|other| &other.equals);
    workload.verdict.equals.contains(&candidate.name) || others.any(|name| *name == candidate.name)
}

/// The findings, without those that only repeat what the evidence stands on, or the cards of the other markets.
pub(crate) fn findings(workload: &WorkloadStudy) -> Vec<&Finding> {
    let reasons = &workload.evidence.reasons;
    let repeats = |finding: &Finding| {
        let said = reasons.iter().all(|reason| finding.text.contains(reason));
        let of_market = finding.topic == "market" && !workload.verdict.other_markets.is_empty();
        of_market || finding.topic == "confidence" && said && !reasons.is_empty()
    };
    workload.verdict.findings.iter().filter(|finding| !repeats(finding)).collect()
}

/// Why the answer is what it is, unless a finding says so.
pub(crate) fn because(workload: &WorkloadStudy) -> Option<&str> {
    let because = workload.verdict.because.as_str();
    let said = workload.verdict.findings.iter().any(|finding| finding.text.contains(because));
    (!said).then_some(because)
}

/// The largest 99th percentile that a design was judged by; `None` unless all requests were served.
pub(crate) fn worst_p99_us(candidate: &Candidate) -> Option<f64> {
    candidate.judgement.worst_p99.map(|worst| worst.p99_us)
}

/// What a design costs: by the month if it is rented.
pub(crate) fn price(candidate: &Candidate, budgets: &Budgets) -> String {
    let cost = &candidate.cost;
    if candidate.is_rented() || budgets.years <= 0.0 {
        return format!("{} a month", amount(&cost.per_month, &cost.currency));
    }
    amount(&cost.total, &cost.currency)
}

/// Whether a design breaks budgets even under the load of the trace and less.
pub(crate) fn carries_nothing(headroom: &Headroom) -> bool {
    headroom.factor <= 0.0
}

/// The load that a design carries, as a multiple of the trace's.
pub(crate) fn headroom(headroom: &Headroom) -> String {
    match headroom.factor {
        _ if carries_nothing(headroom) => "none".into(),
        factor if headroom.is_lower_bound => format!("at least {}{UNIT_SPACE}times", page::plain(factor).text()),
        factor => format!("{}{UNIT_SPACE}times", page::plain(factor).text()),
    }
}

/// Size, price, percentile and headroom of a design, in one line.
pub(crate) fn in_short(candidate: &Candidate, budgets: &Budgets) -> String {
    let p99 = worst_p99_us(candidate).map(|p99| format!("p99 {}", page::micros(p99).text()));
    let headroom = candidate.headroom.as_ref().map(|found| format!("headroom {}", headroom(found)));
    [Some(size(candidate)), Some(price(candidate, budgets)), p99, headroom]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" · ")
}

/// What a price is made of, and from when it is.
pub(crate) fn price_note(candidate: &Candidate, budgets: &Budgets) -> String {
    let cost = &candidate.cost;
    let years = page::years(budgets.years).text();
    let mut note = if candidate.is_rented() {
        format!("{} over {years}", amount(&cost.total, &cost.currency))
    } else {
        let (purchase, power) = (money(&cost.purchase), money(&cost.power));
        format!("over {years}: {purchase} to buy, {power} of power")
    };
    if !cost.as_of.is_empty() {
        note += &format!("; prices of {}", cost.as_of);
    }
    note + if cost.assumed { ", assumed" } else { "" }
}

/// Where the figures of a product come from.
pub(crate) fn sources(candidate: &Candidate) -> String {
    let product = &candidate.product;
    let source = product.source.as_deref().unwrap_or("no source");
    let mut text = source.to_string();
    if !product.assumed.is_empty() {
        text += &format!("; assumed: {}", product.assumed.join(", "));
    }
    let ratios = &product.simulated_over_published;
    let ratio = |(figure, ratio): (&String, &f64)| format!("{}s {ratio:.2}", figure.replace('_', " "));
    if !ratios.is_empty() {
        text += &format!("; simulated over published: {}", ratios.iter().map(ratio).collect::<Vec<_>>().join(", "));
    }
    text
}

/// Studies cut lifetimes off at this many years: longer ones mean nothing.
pub(crate) const LIFE_LIMIT_YEARS: f64 = 100.0;

/// How long the flash of a design lasts; nothing if it has none.
pub(crate) fn life(candidate: &Candidate) -> Option<String> {
    let life = candidate.endurance.as_ref()?;
    let written = |years: f64| page::years(years).text();
    let known = |endurance: &Endurance| endurance.judged || endurance.lifetime_is_lower_bound;
    Some(match (life.lifetime_years.filter(|_| known(life)), life.lifetime_range_years) {
        (Some(years), _) if life.lifetime_is_lower_bound => format!("more than {}", written(years)),
        (Some(years), _) => written(years),
        (None, Some([low, high])) => life_between(low, high),
        (None, None) => "cannot be told".into(),
    })
}

/// A range of lifetimes, in words.
pub(crate) fn life_between(low: f64, high: f64) -> String {
    let years = |years: f64| page::years(years).text();
    match (low >= LIFE_LIMIT_YEARS, high >= LIFE_LIMIT_YEARS) {
        (true, _) => format!("more than {}", years(LIFE_LIMIT_YEARS)),
        (false, true) if years(low) == years(LIFE_LIMIT_YEARS) => years(low),
        (false, true) => format!("{} or more", years(low)),
        (false, false) if years(low) == years(high) => years(low),
        (false, false) => format!("{} to {}", page::years(low).number, years(high)),
    }
}

/// Writes a day asked for, beside those sold.
pub(crate) fn drive_writes(candidate: &Candidate) -> Option<String> {
    let life = candidate.endurance.as_ref()?;
    let asked = life.drive_writes_per_day_asked.filter(|asked| asked.is_finite())?;
    let sold = life.drive_writes_per_day_sold.map(|sold| format!(", {} warranted", page::plain(sold).text()));
    Some(format!("{} drive writes a day asked{}", page::plain(asked).text(), sold.unwrap_or_default()))
}

/// What a grade of evidence is good for.
pub(crate) fn grade_meaning(grade: &Grade) -> &'static str {
    match grade {
        Grade::Low => "a first idea",
        Grade::Medium => "good for a decision that can be taken back",
        Grade::High => "good for a purchase",
    }
}
