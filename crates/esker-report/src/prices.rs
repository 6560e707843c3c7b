//! The picture of price against response time: every simulated design, and of each market those that no other beats.
//! The template draws it itself.

use std::collections::BTreeMap;

use esker_core::words::page;
use esker_results::study::{Budgets, Candidate, CandidateOutcome, Cost, Verdict, WorkloadStudy};

use crate::answer::worst_p99_us;
use crate::bars::{Scale, Tick};
use crate::frontier::{Offer, frontier};
use crate::labels::{self, Label};
use crate::purchase::{self, market_index, market_word};
use crate::standing::{Standing, reasons, standing};

/// The picture of a workload.
#[derive(Debug)]
pub(crate) struct Prices {
    /// What the picture shows, for those who do not see it.
    pub(crate) sentence: String,
    /// What has no place in it, if anything.
    pub(crate) left_out: Option<String>,
    pub(crate) currency: String,
    /// Whether the axis of prices is logarithmic.
    pub(crate) log: bool,
    /// Whether any design is rented, and any bought.
    pub(crate) rented: bool,
    pub(crate) bought: bool,
    pub(crate) x_ticks: Vec<Tick>,
    pub(crate) y_ticks: Vec<Tick>,
    /// The line of the budget, and the end of it at which there is room for its name.
    pub(crate) budget: Option<Tick>,
    /// From the market of the verdict on.
    pub(crate) markets: Vec<MarketPlot>,
    /// The names of the answers, each beside its mark.
    pub(crate) words: Vec<Label>,
}

/// The designs of one market.
#[derive(Debug)]
pub(crate) struct MarketPlot {
    pub(crate) word: String,
    /// Which colour and mark it has.
    pub(crate) index: usize,
    /// The frontier, as lines from corner to corner.
    pub(crate) steps: Vec<Line>,
    /// From the cheapest on; those of one price and percentile are one spot.
    pub(crate) spots: Vec<Spot>,
    /// One row for each design, from the cheapest on.
    pub(crate) rows: Vec<Row>,
}

/// A straight line between two places, in per cent from the left and from the top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) from: (f64, f64),
    pub(crate) to: (f64, f64),
}

/// A mark in the picture.
#[derive(Debug)]
pub(crate) struct Spot {
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Whether it is known to keep every budget.
    pub(crate) kept: bool,
    /// Whether it is what the verdict answers for its market, with the answer's word.
    pub(crate) answer: Option<&'static str>,
    pub(crate) tip: String,
}

impl Spot {
    /// Whether it is recommended, or the nearest where nothing is.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self.answer, Some("recommended" | "nearest"))
    }
}

/// A design in the table beside the picture.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) title: String,
    pub(crate) price: f64,
    pub(crate) p99_us: f64,
    pub(crate) unbeaten: bool,
    pub(crate) answer: Option<&'static str>,
    pub(crate) kept: bool,
    pub(crate) reasons: String,
}

/// A design with a place in the picture.
struct Placed<'a> {
    candidate: &'a Candidate,
    offer: Offer,
}

/// The picture of a workload, if any of its designs has a price and a response time.
pub(crate) fn prices(workload: &WorkloadStudy) -> Option<Prices> {
    let budgets = &workload.budgets;
    let currency = currency(workload)?;
    let placed: Vec<Placed<'_>> =
        workload.candidates.iter().filter_map(|candidate| placed(candidate, &currency)).collect();
    let budget = budgets.p99_us.filter(|limit| *limit > 0.0 && limit.is_finite());
    let costs: Vec<f64> = placed.iter().map(|one| one.offer.price).collect();
    let times: Vec<f64> = placed.iter().map(|one| one.offer.p99_us).chain(budget).collect();
    if placed.is_empty() {
        return None;
    }
    let (across, up) = (Scale::of_spread(&costs), Scale::around(&times));
    let place = |offer: &Offer| (across.percent(offer.price), 100.0 - up.percent(offer.p99_us));
    let mut by_market: BTreeMap<(bool, usize, &str), Vec<&Placed<'_>>> = BTreeMap::new();
    for one in &placed {
        let name = one.candidate.product.market.as_str();
        let beside = workload.verdict.market != name;
        by_market.entry((beside, market_index(name), name)).or_default().push(one);
    }
    let markets: Vec<MarketPlot> = by_market
        .into_iter()
        .map(|((_, index, name), designs)| plot((&workload.verdict, budgets), name, index, &designs, place))
        .collect();
    let tick = |at: f64, label: String| Tick { at, label, anchor: "middle" };
    let x_ticks = across.ticks().into_iter().map(|price| {
        let at = across.percent(price);
        Tick { anchor: if at > 95.0 { "end" } else { "middle" }, ..tick(at, page::plain(price).number) }
    });
    let y_ticks = up.ticks().into_iter().map(|time| tick(100.0 - up.percent(time), page::micros(time).text()));
    let budget = budget.map(|limit| {
        let at = 100.0 - up.percent(limit);
        // The name stands where fewer marks are.
        let near = |spot: &&Spot| (spot.y - at).abs() < 8.0;
        let near: Vec<f64> = markets.iter().flat_map(|one| &one.spots).filter(near).map(|spot| spot.x).collect();
        let right = near.iter().filter(|x| **x > 50.0).count();
        let anchor = if right > near.len() - right { "start" } else { "end" };
        Tick { at, label: format!("budget: {}", page::micros(limit).text()), anchor }
    });
    let words = labels::place(&answers(&markets), budget.as_ref());
    Some(Prices {
        sentence: sentence(&markets, &currency, workload, placed.len()),
        left_out: left_out(workload, placed.len()),
        log: across.is_log(),
        rented: placed.iter().any(|one| one.candidate.is_rented()),
        bought: placed.iter().any(|one| !one.candidate.is_rented()),
        x_ticks: x_ticks.collect(),
        y_ticks: y_ticks.collect(),
        currency,
        budget,
        words,
        markets,
    })
}

/// The answers by their places, each with its name: that of the verdict by what it is, the others by their markets.
fn answers(markets: &[MarketPlot]) -> Vec<(f64, f64, &str)> {
    let answers = markets.iter().enumerate().flat_map(|(index, market)| {
        let answers = market.spots.iter().filter(|spot| spot.is_answer());
        answers
            .map(move |spot| (spot.x, spot.y, if index == 0 { spot.answer.unwrap_or_default() } else { &market.word }))
    });
    answers.collect()
}

/// The currency of the picture: that of the first price. Studies have one.
fn currency(workload: &WorkloadStudy) -> Option<String> {
    workload.candidates.first().map(|candidate| candidate.cost.currency.clone())
}

fn placed<'a>(candidate: &'a Candidate, currency: &str) -> Option<Placed<'a>> {
    let offer = Offer { price: candidate.cost.total, p99_us: candidate.busy.as_ref().and(worst_p99_us(candidate))? };
    let has_place = |value: f64| value.is_finite() && value > 0.0;
    let has_currency = candidate.cost.currency == currency;
    (has_currency && has_place(offer.price) && has_place(offer.p99_us)).then_some(Placed { candidate, offer })
}

/// What the verdict says of a design.
fn answer(verdict: &Verdict, candidate: &Candidate) -> Option<&'static str> {
    let is = |name: &Option<String>| name.as_ref() == Some(&candidate.name);
    let others = &verdict.other_markets;
    if is(&verdict.recommended) || others.iter().any(|other| is(&other.recommended)) {
        Some("recommended")
    } else if is(&verdict.nearest) || others.iter().any(|other| is(&other.nearest)) {
        Some("nearest")
    } else if verdict.equals.contains(&candidate.name) || others.iter().any(|one| one.equals.contains(&candidate.name))
    {
        Some("equal")
    } else {
        None
    }
}

fn plot(
    (verdict, budgets): (&Verdict, &Budgets),
    market: &str,
    index: usize,
    designs: &[&Placed<'_>],
    place: impl Fn(&Offer) -> (f64, f64),
) -> MarketPlot {
    let offers: Vec<Offer> = designs.iter().map(|one| one.offer).collect();
    let unbeaten = frontier(&offers);
    let corners: Vec<(f64, f64)> = unbeaten.iter().map(|&index| place(&offers[index])).collect();
    let mut order: Vec<usize> = (0..designs.len()).collect();
    order.sort_by(|&one, &other| {
        let (one, other) = (&offers[one], &offers[other]);
        one.price.total_cmp(&other.price).then(one.p99_us.total_cmp(&other.p99_us))
    });
    let mut rows = Vec::new();
    let mut spots: Vec<Spot> = Vec::new();
    for index in order {
        let Placed { candidate, offer } = designs[index];
        let answer = answer(verdict, candidate);
        let standing = standing(candidate);
        let reasons = reasons(candidate, budgets).join("; ");
        let (x, y) = place(offer);
        let tip = tip(candidate, offer, &reasons);
        match spots.last_mut().filter(|last| (last.x, last.y) == (x, y)) {
            Some(last) => {
                last.tip += &format!(" {tip}");
                last.kept |= standing == Standing::Kept;
                last.answer = [last.answer, answer].into_iter().flatten().min_by_key(|word| *word != "recommended");
            }
            None => spots.push(Spot { x, y, kept: standing == Standing::Kept, answer, tip }),
        }
        rows.push(Row {
            title: candidate.title_and_year(),
            price: offer.price,
            p99_us: offer.p99_us,
            unbeaten: unbeaten.contains(&index),
            answer,
            kept: standing == Standing::Kept,
            reasons,
        });
    }
    MarketPlot { word: market_word(market).to_string(), index, steps: steps(&corners), spots, rows }
}

/// The lines of a frontier through these places, from the cheapest on: what a price buys holds until the next price. It
/// begins at the upper edge, because nothing is cheaper, and ends at the right edge, because nothing is faster.
fn steps(corners: &[(f64, f64)]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut before: Option<(f64, f64)> = None;
    for &(x, y) in corners {
        let (last_x, last_y) = before.unwrap_or((x, 0.0));
        lines.push(Line { from: (last_x, last_y), to: (x, last_y) });
        lines.push(Line { from: (x, last_y), to: (x, y) });
        before = Some((x, y));
    }
    lines.extend(before.map(|(x, y)| Line { from: (x, y), to: (100.0, y) }));
    lines.retain(|line| line.from != line.to);
    lines
}

/// A design in one sentence or two.
fn tip(candidate: &Candidate, offer: &Offer, reasons: &str) -> String {
    let Cost { currency, per_month, .. } = &candidate.cost;
    let mut text = format!("{}: {}", candidate.title_and_year(), purchase::amount(&offer.price, currency));
    if candidate.is_rented() {
        text += &format!(" ({} a month)", purchase::amount(per_month, currency));
    }
    text += &format!(", p99 {}.", page::micros(offer.p99_us).text());
    match standing(candidate) {
        Standing::Kept => text += " Keeps every budget.",
        Standing::Missed if reasons.is_empty() => text += " Misses a budget.",
        Standing::Missed => text += &format!(" Misses: {reasons}."),
        Standing::Unsure => text += &format!(" Keeps the budgets that can be judged; {reasons}."),
    }
    text
}

fn sentence(markets: &[MarketPlot], currency: &str, workload: &WorkloadStudy, count: usize) -> String {
    let designs = if count == 1 { "1 design" } else { &format!("{count} designs") };
    let answers = markets.iter().flat_map(|market| {
        let answers = market.rows.iter().filter(|row| matches!(row.answer, Some("recommended" | "nearest")));
        answers.map(|row| {
            let (price, p99) = (purchase::amount(&row.price, currency), page::micros(row.p99_us).text());
            let what = if row.answer == Some("nearest") { " comes nearest" } else { " is recommended" };
            let market = if markets.len() > 1 { &format!("{}: ", market.word) } else { "" };
            format!(" {market}{}{what}, at {price} and {p99}.", row.title)
        })
    });
    let kept = workload.candidates.iter().filter(|candidate| standing(candidate) == Standing::Kept).count();
    format!("{designs} by price and p99; {kept} keep every budget.{}", answers.collect::<String>())
}

/// Why some designs are not in the picture, as a sentence.
fn left_out(workload: &WorkloadStudy, shown: usize) -> Option<String> {
    let missing = workload.candidates.len().checked_sub(shown).filter(|missing| *missing > 0)?;
    let saturated = |candidate: &&Candidate| matches!(candidate.outcome, CandidateOutcome::Saturated { .. });
    let saturated = workload.candidates.iter().filter(saturated).count();
    let others = missing.saturating_sub(saturated);
    let designs = |count: usize| if count == 1 { "1 design".into() } else { format!("{count} designs") };
    let causes = [
        (saturated > 0).then(|| format!("{} could not keep up with the load", designs(saturated))),
        (others > 0).then(|| format!("of {} the price or the response time is not known", designs(others))),
    ];
    Some(format!("Not drawn: {}.", causes.into_iter().flatten().collect::<Vec<_>>().join("; ")))
}

#[cfg(test)]
mod tests {
    use esker_results::LatencySummary;
    use esker_results::study::{BusyResults, JudgedPercentile, JudgedTime, MarketAnswer, ProductSummary};

    use super::*;
    use crate::samples;

    fn design(name: &str, market: &str, total: f64, p99_us: f64) -> Candidate {
        let response_time = LatencySummary { p99_us, ..LatencySummary::default() };
        let mut design = Candidate {
            product: ProductSummary { market: market.into(), year: 2022, ..ProductSummary::default() },
            cost: Cost { total, purchase: total, currency: "USD".into(), ..Cost::default() },
            busy: Some(BusyResults { response_time, ..BusyResults::default() }),
            ..Candidate::new(name, name, "ssd", 1)
        };
        design.judgement.keeps_budgets = true;
        design.judgement.worst_p99 = Some(JudgedPercentile { p99_us, time: JudgedTime::BusiestByRequests });
        design
    }

    fn workload(candidates: Vec<Candidate>) -> WorkloadStudy {
        let verdict = Verdict {
            market: "aws".into(),
            recommended: candidates.first().map(|one| one.name.clone()),
            ..Verdict::default()
        };
        WorkloadStudy { candidates, verdict, ..samples::workload() }
    }

    #[test]
    fn each_market_has_a_frontier_of_its_own_that_of_the_verdict_first() {
        let mut study = workload(vec![
            design("gp3", "aws", 500.0, 2_000.0),
            design("io2", "aws", 900.0, 400.0),
            design("slow", "aws", 950.0, 700.0),
            design("drive", "on-premises", 100.0, 300.0),
        ]);
        study.verdict.other_markets = vec![MarketAnswer {
            market: "on-premises".into(),
            nearest: Some("drive".into()),
            ..MarketAnswer::default()
        }];
        let picture = prices(&study).unwrap();
        let words: Vec<&str> = picture.markets.iter().map(|market| market.word.as_str()).collect();
        assert_eq!(words, ["AWS", "On-premises"]);
        let rows = &picture.markets[0].rows;
        // The drive is cheaper and faster than all volumes, and beats none: markets are not compared.
        assert_eq!(rows.iter().map(|row| row.unbeaten).collect::<Vec<_>>(), [true, true, false]);
        assert!(picture.markets[1].rows[0].unbeaten);
        assert_eq!(picture.markets[0].spots[0].answer, Some("recommended"));
        assert_eq!(picture.markets[1].spots[0].answer, Some("nearest"));
        assert_eq!(picture.markets[0].steps.len(), 4);
        assert!(picture.sentence.contains("AWS: gp3 (2022) is recommended"), "{}", picture.sentence);
        assert_eq!(picture.left_out, None);
    }

    #[test]
    fn designs_without_a_place_or_a_percentile_are_counted_and_equal_ones_share_a_mark() {
        let (mut slow, free) = (design("c", "", 7.0, 1.0), design("d", "", 0.0, 1.0));
        slow.busy = None;
        let study = workload(vec![design("a", "", 7.0, 90.0), design("b", "", 7.0, 90.0), slow, free]);
        let picture = prices(&study).unwrap();
        let spots = &picture.markets[0].spots;
        assert_eq!((spots.len(), picture.markets[0].rows.len()), (1, 2));
        assert!(spots[0].tip.contains("a (2022): 7.00") && spots[0].tip.contains("b (2022): 7.00"), "{}", spots[0].tip);
        assert!(picture.left_out.unwrap() == "Not drawn: of 2 designs the price or the response time is not known.");
        let none = workload(vec![design("a", "", f64::NAN, 90.0), design("b", "", 0.0, 90.0)]);
        assert!(prices(&none).is_none());
        assert!(prices(&workload(Vec::new())).is_none());
    }

    #[test]
    fn a_frontier_is_steps_from_the_upper_edge_to_the_right_one() {
        let line = |from, to| Line { from, to };
        let through = steps(&[(10.0, 60.0), (30.0, 80.0)]);
        let corners = [
            line((10.0, 0.0), (10.0, 60.0)),
            line((10.0, 60.0), (30.0, 60.0)),
            line((30.0, 60.0), (30.0, 80.0)),
            line((30.0, 80.0), (100.0, 80.0)),
        ];
        assert_eq!(through, corners);
        assert_eq!(steps(&[]), []);
    }
}
