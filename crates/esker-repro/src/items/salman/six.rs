//! The comparison of chapter 7: six loads, three schemes. Most of its figures show the same runs.

use super::cluster::{Case, Found, Runs, Scale};
use super::loads::{SIX, TABLE, stand_in};
use super::schemes::SCHEMES;
use crate::{Axis, Claim, Context, Curve, Figure, Item, ItemOutcome, ReproduceError};

/// Places in a row.
pub(super) const BASELINE: usize = 0;
pub(super) const EDM: usize = 1;
pub(super) const EWO: usize = 2;

/// Loads for which the text says that EWO is more even than EDM, and those where it is comparable; places in [`SIX`].
pub(super) const BETTER: [usize; 4] = [0, 1, 2, 5];
pub(super) const COMPARABLE: [usize; 2] = [3, 4];

/// A quantity of a run.
pub(super) type Quantity = fn(&Found) -> f64;

/// What was found, by load and scheme.
pub(super) struct Six<'a> {
    item: &'a Item,
    rows: Vec<Vec<Found>>,
    stand_in: String,
    claims: Vec<Claim>,
}

/// The name of a load of [`SIX`].
pub(super) fn name(row: usize) -> &'static str {
    TABLE[SIX[row]].name
}

impl<'a> Six<'a> {
    pub(super) fn run(item: &'a Item, context: &'a Context<'_>, scale: Scale) -> Result<Self, ReproduceError> {
        let mut runs = Runs::new(item, context, SIX.len() * SCHEMES.len());
        let mut rows = Vec::new();
        for place in SIX {
            let row = SCHEMES.iter().map(|(_, balancer)| runs.run(&Case::of(place, balancer, scale)));
            rows.push(row.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(Self { item, rows, stand_in: stand_in(context), claims: Vec::new() })
    }

    /// The value of a load and a scheme.
    pub(super) fn value(&self, row: usize, scheme: usize, of: Quantity) -> f64 {
        of(&self.rows[row][scheme])
    }

    /// One scheme's value over another's.
    pub(super) fn ratio(&self, row: usize, (over, under): (usize, usize), of: Quantity) -> f64 {
        self.value(row, over, of) / self.value(row, under, of)
    }

    /// A value of a scheme beyond that of the baseline.
    pub(super) fn extra(&self, row: usize, scheme: usize, of: Quantity) -> f64 {
        self.value(row, scheme, of) - self.value(row, BASELINE, of)
    }

    pub(super) fn mean_ratio(&self, pair: (usize, usize), of: Quantity) -> f64 {
        let sum = |scheme: usize| (0..SIX.len()).map(|row| self.value(row, scheme, of)).sum::<f64>();
        sum(pair.0) / sum(pair.1)
    }

    pub(super) fn claim(&mut self, claim: Claim) {
        self.claims.push(claim.on_stand_in(&self.stand_in));
    }

    /// Claims an order of schemes for each of `rows`, the largest first.
    pub(super) fn orders(&mut self, rows: &[usize], schemes: &[usize], what: &str, of: Quantity, reason: &str) {
        for &row in rows {
            let values: Vec<(&str, f64)> =
                schemes.iter().map(|scheme| (SCHEMES[*scheme].0, self.value(row, *scheme, of))).collect();
            let order: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
            let claim = format!("{}: {what}, {}", name(row), order.join(" above "));
            self.claim(Claim::descending(self.item.name, &claim, &values, reason));
        }
    }

    /// Claims that EDM-like has more of something beyond the baseline than EWO under each load, and that EWO spares
    /// most of it under one. Draws what both have, in `unit`.
    pub(super) fn extras(mut self, (what, unit): (&str, &str), title: &str, of: Quantity) -> ItemOutcome {
        let item = self.item.name;
        for row in ALL {
            let values = [EDM, EWO].map(|scheme| (SCHEMES[scheme].0, self.extra(row, scheme, of)));
            let claim = format!("{}: extra {what}, EDM-like above EWO", name(row));
            let reason = "\"EDM had much larger extra erase cycles than EWO due to extra write overhead\"";
            self.claim(Claim::descending(item, &claim, &values, reason));
        }
        // Where EDM-like has nothing extra, there is nothing to spare.
        let costs = ALL.into_iter().filter(|row| self.extra(*row, EDM, of) > 0.0);
        let spared = costs.map(|row| 1.0 - self.extra(row, EWO, of) / self.extra(row, EDM, of));
        let best = spared.fold(f64::NEG_INFINITY, f64::max);
        let claim = format!("extra {what} that EWO spares against EDM-like, the most of six loads, over EDM-like's");
        let reason = "\"up to 79%\" in section 7.2.1, 70 % in the abstract";
        self.claim(Claim::at_least(item, &claim, 0.7, best, reason));
        let figure = self.bars(title, unit, &[EDM, EWO], |row, scheme| self.extra(row, scheme, of));
        self.outcome(vec![figure])
    }

    pub(super) fn outcome(self, figures: Vec<Figure>) -> ItemOutcome {
        ItemOutcome { claims: self.claims, figures }
    }

    /// Bars of `schemes`, by load.
    pub(super) fn bars(&self, title: &str, label: &str, schemes: &[usize], of: impl Fn(usize, usize) -> f64) -> Figure {
        let bars =
            |scheme: &usize| Curve::measured_bars(SCHEMES[*scheme].0, (0..SIX.len()).map(|row| of(row, *scheme)));
        Figure {
            title: title.into(),
            note:
                "Scaled down as stated: only ratios compare with the thesis, whose figures have no values in the text."
                    .into(),
            x: Axis::categories("load", (0..SIX.len()).map(name)),
            y: Axis::linear(label),
            curves: schemes.iter().map(bars).collect(),
        }
    }
}

/// All loads.
pub(super) const ALL: [usize; 6] = [0, 1, 2, 3, 4, 5];
