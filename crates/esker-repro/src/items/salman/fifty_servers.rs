//! Salman 2017, chapter 7, as a whole: fifty servers, six stand-in loads, ten seeds. Both balancers were given the
//! same search of their parameters on one load, which is run again here; what it found is held for the others.
//!
//! The claims are about these loads, so they are met or missed. Limits were set before the first run with the
//! parameters that were found; what is judged is the median of the seeds.

use super::cluster::{Case, Found, Requests, Runs, Scale};
use super::loads::{PART, SIX, STAND_IN, TABLE};
use super::schemes::{self, SCHEMES, SEARCHED};
use super::six::{ALL, COMPARABLE, Quantity, name};
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// The item.
pub(in crate::items) const ITEM: Item = Item {
    name: "salman/fifty-servers",
    title: "Fifty servers, six loads, ten seeds, and the searches of thresholds",
    source: "Salman, thesis, 2017, section 7.2, on stand-in loads",
    sections: &["7.2"],
    run,
};

fn run(item: &Item, context: &Context<'_>) -> Result<ItemOutcome, ReproduceError> {
    measure(item, context, Scale { fewer: 1, seed: context.seed }, SEEDS)
}

/// Seeds of each load and scheme.
const SEEDS: u64 = 10;

/// What was found, by load, seed and scheme.
struct All(Vec<Vec<Vec<Found>>>);

/// Values of the seeds, in ascending order.
struct Spread(Vec<f64>);

type OfSpread = fn(&Spread) -> f64;

impl Spread {
    fn least(&self) -> f64 {
        self.0[0]
    }

    fn most(&self) -> f64 {
        self.0[self.0.len() - 1]
    }

    fn median(&self) -> f64 {
        let middle = self.0.len() / 2;
        if self.0.len().is_multiple_of(2) { f64::midpoint(self.0[middle - 1], self.0[middle]) } else { self.0[middle] }
    }

    /// A reason that has the extremes.
    fn reason(&self, reason: &str) -> String {
        let (least, most) = (self.least(), self.most());
        format!("{reason}; median of {} seeds, {least:.3} to {most:.3}; {STAND_IN}", self.0.len())
    }
}

impl All {
    fn spread(&self, row: usize, value: impl Fn(&[Found]) -> f64) -> Spread {
        let mut values: Vec<f64> = self.0[row].iter().map(|seed| value(seed)).collect();
        values.sort_by(f64::total_cmp);
        Spread(values)
    }

    fn ratio(&self, row: usize, (over, under): (usize, usize), of: Quantity) -> Spread {
        self.spread(row, |seed| of(&seed[over]) / of(&seed[under]))
    }

    /// What EDM-like has beyond the baseline, less what EWO has.
    fn spared(&self, row: usize, of: Quantity) -> Spread {
        self.spread(row, |seed| of(&seed[1]) - of(&seed[2]))
    }

    /// Share of EDM-like's extra that EWO spares; minus infinity where EDM-like has none.
    fn spared_share(&self, row: usize, of: Quantity) -> Spread {
        self.spread(row, |seed| {
            let [base, edm, ewo] = [0, 1, 2].map(|scheme| of(&seed[scheme]));
            if edm > base { (edm - ewo) / (edm - base) } else { f64::NEG_INFINITY }
        })
    }
}

fn measure(item: &Item, context: &Context<'_>, scale: Scale, seeds: u64) -> Result<ItemOutcome, ReproduceError> {
    let (edm, ewo) = (schemes::edm_settings(), schemes::ewo_settings());
    let all_runs =
        SIX.len() * SCHEMES.len() * seeds as usize + edm.len() + ewo.len() + 2 + 3 * SIX.len() * SCHEMES.len();
    let mut runs = Runs::new(item, context, all_runs);
    let mut outcome = ItemOutcome::default();
    for (scheme, settings) in [(SCHEMES[1], &edm), (SCHEMES[2], &ewo)] {
        let scores = schemes::search(&mut runs, settings, scale)?;
        outcome.claims.push(searched(item, scheme, settings, &scores));
        outcome.figures.push(figure_of_search(scheme.0, settings, &scores));
    }
    let mut all = All(Vec::new());
    for place in SIX {
        let seeds = (scale.seed..scale.seed + seeds).map(|seed| {
            let cases = SCHEMES.iter().map(|(_, balancer)| Case::of(place, balancer, Scale { seed, ..scale }));
            cases.map(|case| runs.run(&case)).collect::<Result<Vec<_>, _>>()
        });
        all.0.push(seeds.collect::<Result<Vec<_>, _>>()?);
    }
    outcome.claims.extend(evenness(item, &all));
    outcome.claims.extend(cost(item, &all));
    outcome.claims.push(map(item, &all));
    outcome.claims.extend(causes(item, &all));
    outcome.claims.extend(whole_objects(item, &mut runs, scale)?);
    outcome.claims.extend(variants(item, &mut runs, scale)?);
    outcome.figures.push(figure_of_spread(&all));
    Ok(outcome)
}

/// The parameters that are held are those with the best score.
fn searched(item: &Item, (name, held): (&str, &str), settings: &[String], scores: &[f64]) -> Claim {
    let of_held =
        settings.iter().zip(scores).find(|(one, _)| one.as_str() == held).map_or(f64::NAN, |(_, score)| *score);
    let better = scores.iter().filter(|score| **score < of_held).count();
    let claim = format!("{name}: settings of {} with a better score than the one that is held", settings.len());
    let reason = format!("held: {held}, with a score of {of_held:.2} under {}", TABLE[SEARCHED].name);
    let better = if of_held.is_finite() { better as f64 } else { f64::NAN };
    Claim::none(item.name, &claim, better, &reason).fitted("it was found by this search")
}

/// How even erases become.
fn evenness(item: &Item, all: &All) -> Vec<Claim> {
    let of: Quantity = Found::erases_sd;
    let usr = all.ratio(0, (2, 0), of);
    let reason = usr.reason("at most 0.3 was set; the thesis has 93.7 of 412.9, 0.23");
    let mut claims =
        vec![Claim::at_most(item.name, "usr: sd of erases, EWO over Baseline", 0.3, usr.median(), &reason)];
    for row in ALL {
        let ratio = all.ratio(row, (2, 1), of);
        let limit = if COMPARABLE.contains(&row) { 1.02 } else { 1.0 };
        let reason = ratio.reason("below EDM's on usr, proj, src1 and mds, within 2 % on src2 and stg");
        let claim = format!("{}: sd of erases, EWO over EDM-like", name(row));
        claims.push(Claim::at_most(item.name, &claim, limit, ratio.median(), &reason));
    }
    claims
}

/// What balancing costs: erases, pages and time.
fn cost(item: &Item, all: &All) -> Vec<Claim> {
    let mut claims = Vec::new();
    let quantities: [(&str, Quantity); 2] = [("erases", Found::all_erases), ("pages written", Found::all_pages)];
    for (what, of) in quantities {
        for row in ALL {
            let spared = all.spared(row, of);
            let claim = format!("{}: extra {what} of EDM-like less those of EWO", name(row));
            let reason = spared.reason("EWO's are below EDM's on all loads");
            claims.push(Claim::at_least(item.name, &claim, 0.0, spared.median(), &reason));
        }
        let shares: Vec<Spread> = ALL.into_iter().map(|row| all.spared_share(row, of)).collect();
        let best = shares.iter().max_by(|one, two| one.median().total_cmp(&two.median())).expect("there are loads");
        let claim = format!("extra {what} that EWO spares against EDM-like, the best of six loads, over EDM-like's");
        let reason = best.reason("at least 70 % on the best load");
        claims.push(Claim::at_least(item.name, &claim, 0.7, best.median(), &reason));
    }
    for row in ALL {
        let ratio = all.ratio(row, (2, 1), |found| found.response_ms);
        let claim = format!("{}: mean response, EWO over EDM-like", name(row));
        claims.push(Claim::at_most(item.name, &claim, 1.0, ratio.median(), &ratio.reason("not above EDM's")));
    }
    claims
}

/// Why EWO's extra pages are what they are: those for each object that it moves, and how many it moves.
fn causes(item: &Item, all: &All) -> Vec<Claim> {
    let mut claims = Vec::new();
    for row in ALL {
        let each = all.spread(row, |seed| {
            let [edm, ewo] =
                [1, 2].map(|scheme| (seed[scheme].all_pages() - seed[0].all_pages()) / seed[scheme].moved());
            ewo / edm
        });
        let claim = format!("{}: extra pages for each object moved, EWO over EDM-like", name(row));
        let reason = each.reason("a write of a part of an object fetches the rest, and what is not written is copied");
        claims.push(Claim::beside(item.name, &claim, each.median(), &reason));
        let moved = all.ratio(row, (2, 1), Found::moved);
        let claim = format!("{}: objects moved, EWO over EDM-like", name(row));
        claims.push(Claim::beside(
            item.name,
            &claim,
            moved.median(),
            &moved.reason("times the former, this is the share of extra pages"),
        ));
    }
    claims
}

/// EDM-like and EWO under writes of whole objects, which move an object for nothing; one seed.
fn whole_objects(item: &Item, runs: &mut Runs<'_>, scale: Scale) -> Result<Vec<Claim>, ReproduceError> {
    let mut claims = Vec::new();
    for place in SIX {
        let mut found = Vec::new();
        for (_, balancer) in SCHEMES {
            found.push(runs.run(&Case { load: Requests::Whole(place), ..Case::of(place, balancer, scale) })?);
        }
        let [edm, ewo] = [1, 2].map(|scheme| found[scheme].all_pages() - found[0].all_pages());
        let claim = format!("{}, writes of whole objects: extra pages, EWO over EDM-like", TABLE[place].name);
        let moved = ewo / 64.0 / found[2].moved() * 100.0;
        let reason = format!("only copies cost, {moved:.0} percent of the objects moved; one seed; {STAND_IN}");
        claims.push(Claim::beside(item.name, &claim, ewo / edm, &reason));
    }
    Ok(claims)
}

/// What decides the outcome: the size of EDM-like's rounds, and how hot a slice has to be for EWO; one seed.
fn variants(item: &Item, runs: &mut Runs<'_>, scale: Scale) -> Result<Vec<Claim>, ReproduceError> {
    let hotter = schemes::EWO.replace("200%", "400%");
    let pairs = [
        ("EWO over EDM-like without a limit of its rounds", schemes::EWO, schemes::EDM_WITHOUT_LIMIT),
        ("EWO with rho_c = 400% over EDM-like", hotter.as_str(), schemes::EDM),
    ];
    let mut claims = Vec::new();
    for (what, over, under) in pairs {
        for place in SIX {
            let mut found = |balancer: &str| runs.run(&Case::of(place, balancer, scale));
            let (base, over, under) = (found(schemes::BASELINE)?, found(over)?, found(under)?);
            let extra = |found: &Found| found.all_pages() - base.all_pages();
            let ratios = [
                ("sd of erases", over.erases_sd() / under.erases_sd()),
                ("extra pages", extra(&over) / extra(&under)),
                ("mean response", over.response_ms / under.response_ms),
            ];
            claims.extend(ratios.map(|(quantity, ratio)| {
                let claim = format!("{}: {quantity}, {what}", TABLE[place].name);
                Claim::beside(item.name, &claim, ratio, &format!("one seed; {STAND_IN}"))
            }));
        }
    }
    Ok(claims)
}

fn map(item: &Item, all: &All) -> Claim {
    let bytes = |row: usize| all.spread(row, |seed| seed[2].report.map_bytes as f64);
    let most =
        ALL.into_iter().map(bytes).max_by(|one, two| one.median().total_cmp(&two.median())).expect("there are loads");
    let reason = most.reason("about 50 KB, within a half; a fortieth of the objects are here");
    let claim = "EWO: map at the end, the most of six loads, times 40, bytes";
    Claim::within(item.name, claim, 50_000.0, most.median() * PART, 0.5, &reason)
}

/// What is in a table of parameters after its kind.
fn parameters(setting: &str) -> &str {
    setting.split_once(", ").map_or(setting, |(_, rest)| rest.trim_end_matches(" }"))
}

fn figure_of_search(scheme: &str, settings: &[String], scores: &[f64]) -> Figure {
    Figure {
        title: format!("The search of {scheme}: scores under {}", TABLE[SEARCHED].name),
        note: "Standard deviation of erases and erases beyond the baseline's of a mean server; less is better.".into(),
        x: Axis::categories("parameters", settings.iter().map(|one| parameters(one))),
        y: Axis::linear("erases of a server"),
        curves: vec![Curve::measured_bars(scheme, scores.iter().copied())],
    }
}

fn figure_of_spread(all: &All) -> Figure {
    let curves: [(&str, usize, OfSpread); 6] = [
        ("EDM-like, least", 1, Spread::least),
        ("EDM-like, median", 1, Spread::median),
        ("EDM-like, greatest", 1, Spread::most),
        ("EWO, least", 2, Spread::least),
        ("EWO, median", 2, Spread::median),
        ("EWO, greatest", 2, Spread::most),
    ];
    let curve = |(label, scheme, at): (&str, usize, OfSpread)| {
        let ratios = ALL.into_iter().map(|row| at(&all.ratio(row, (scheme, 0), Found::erases_sd)));
        Curve::measured_bars(label, ratios)
    };
    Figure {
        title: "Standard deviation of erases over that of the baseline".into(),
        note: "Least, median and greatest of ten seeds.".into(),
        x: Axis::categories("load", ALL.into_iter().map(name)),
        y: Axis::linear("share of the baseline's"),
        curves: curves.into_iter().map(curve).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::outcome;
    use super::*;

    #[test]
    fn the_held_parameters_are_among_those_that_are_searched_alike() {
        let (edm, ewo) = (schemes::edm_settings(), schemes::ewo_settings());
        assert_eq!(edm.len(), ewo.len());
        assert!(edm.iter().any(|one| one == SCHEMES[1].1) && ewo.iter().any(|one| one == SCHEMES[2].1));
    }

    #[test]
    fn labels_are_the_parameters_alone() {
        let held = "lambda = \"2%\", horizon_epochs = 8, moves = 5, round = \"any\"";
        assert_eq!(parameters(SCHEMES[1].1), held);
    }

    #[test]
    fn medians_and_extremes_are_those_of_the_seeds() {
        let spread = Spread(vec![1.0, 2.0, 4.0, 9.0]);
        assert_eq!(spread.median(), 3.0);
        assert!(spread.reason("why").starts_with("why; median of 4 seeds, 1.000 to 9.000; "));
    }

    #[test]
    fn every_claim_and_figure_is_there() {
        let found = outcome(&ITEM, |item, context, scale| measure(item, context, scale, 2));
        assert_eq!((found.claims.len(), found.figures.len()), (84, 3));
        for claim in &found.claims {
            assert!(claim.item == ITEM.name, "{claim:?}");
            crate::items::check_claim(claim);
        }
    }
}
