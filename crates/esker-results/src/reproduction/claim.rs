//! Claims: a published number beside a measured one, with a tolerance that was stated beforehand.

use esker_core::words::published;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// Within its tolerance.
    Met,
    /// Outside its tolerance.
    Missed,
    /// Within its tolerance by construction: the run was stopped at the published value, or our value follows from
    /// another one in the same way as the published value does. This tests nothing and does not count as met.
    Derived,
    /// Measured on a stand-in for a trace that is not available.
    StandIn,
    /// Cannot be measured, for the reason given.
    Unreachable,
    /// Shown for comparison, without a tolerance.
    Beside,
}

/// One claim of a paper, reproduced.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The table or figure that it belongs to: "agrawal/table-3".
    pub item: String,
    /// What is claimed, with its unit.
    pub claim: String,
    /// The published value. Absent if the paper has a limit in words ("more than 40 %") or an order.
    pub published: Option<f64>,
    /// The measured value; absent if the claim is about an order, or could not be measured.
    pub measured: Option<f64>,
    /// Measured value divided by published value.
    pub ratio: Option<f64>,
    /// Largest deviation of the ratio from 1 that counts as met.
    pub tolerance: Option<f64>,
    /// Largest difference between measured and published value that counts as met, in the unit of the claim. If both
    /// tolerances are given, one of them is enough.
    pub tolerance_absolute: Option<f64>,
    /// Largest factor between measured and published value, in either direction, within which a stand-in counts as
    /// near.
    pub tolerance_factor: Option<f64>,
    /// The largest measured value with which the claim is met, for claims of a limit: "within 2 %".
    pub at_most: Option<f64>,
    /// The smallest measured value with which the claim is met, for claims of a limit: "more than 40 %".
    pub at_least: Option<f64>,
    /// Whether an input of the run was fitted to the published value. Within its tolerance such a claim is derived;
    /// outside, it is missed, on stand-ins, too.
    pub fitted: bool,
    /// Whether a stand-in is within its tolerance, or shows the claimed order. Absent for other claims.
    pub stand_in_holds: Option<bool>,
    /// The result.
    pub verdict: ClaimVerdict,
    /// Why the tolerance is what it is, or why the claim cannot be met.
    pub reason: String,
}

impl Claim {
    /// Compares `measured` with `published`; `tolerance` is a fraction.
    pub fn within(item: &str, claim: &str, published: f64, measured: f64, tolerance: f64, reason: &str) -> Self {
        let ratio = measured / published;
        let met = (ratio - 1.0).abs() <= tolerance;
        Self {
            published: Some(published),
            measured: Some(measured),
            ratio: Some(ratio),
            tolerance: Some(tolerance),
            ..Self::bare(item, claim, verdict(met), reason)
        }
    }

    /// Compares `measured` with `published`; they may differ by `tolerance_absolute`, in the unit of the claim. For
    /// shares, and for published values near zero, whose ratio says little.
    pub fn within_absolute(
        item: &str,
        claim: &str,
        published: f64,
        measured: f64,
        tolerance_absolute: f64,
        reason: &str,
    ) -> Self {
        let met = (measured - published).abs() <= tolerance_absolute;
        Self {
            published: Some(published),
            measured: Some(measured),
            ratio: Some(measured / published).filter(|ratio| ratio.is_finite()),
            tolerance_absolute: Some(tolerance_absolute),
            ..Self::bare(item, claim, verdict(met), reason)
        }
    }

    /// Claims that the values are in strictly descending order, largest first. The measured values are appended to
    /// `reason`.
    pub fn descending(item: &str, claim: &str, values: &[(&str, f64)], reason: &str) -> Self {
        let met = values.windows(2).all(|pair| pair[0].1 > pair[1].1);
        let found: Vec<String> = values.iter().map(|(name, value)| format!("{name} {}", published(*value))).collect();
        Self::bare(item, claim, verdict(met), &format!("{reason}; measured: {}", found.join(", ")))
    }

    /// Claims that `measured` is zero, as published: nothing of the kind happens.
    pub fn none(item: &str, claim: &str, measured: f64, reason: &str) -> Self {
        Self::within_absolute(item, claim, 0.0, measured, 0.0, reason)
    }

    /// Claims that `measured` is at most `limit`, which is a limit of the authors or of ours and no published value.
    pub fn at_most(item: &str, claim: &str, limit: f64, measured: f64, reason: &str) -> Self {
        Self {
            at_most: Some(limit),
            measured: Some(measured),
            ..Self::bare(item, claim, verdict(measured <= limit), reason)
        }
    }

    /// Claims that `measured` is at least `limit`, which is a limit of the authors or of ours and no published value.
    pub fn at_least(item: &str, claim: &str, limit: f64, measured: f64, reason: &str) -> Self {
        Self {
            at_least: Some(limit),
            measured: Some(measured),
            ..Self::bare(item, claim, verdict(measured >= limit), reason)
        }
    }

    /// Shows a measured value for which the paper gives none.
    pub fn beside(item: &str, claim: &str, measured: f64, reason: &str) -> Self {
        Self { measured: Some(measured), ..Self::bare(item, claim, ClaimVerdict::Beside, reason) }
    }

    /// Shows a measured value beside a published one, without judging it.
    pub fn compared(item: &str, claim: &str, published: f64, measured: f64, reason: &str) -> Self {
        Self {
            published: Some(published),
            measured: Some(measured),
            ratio: Some(measured / published).filter(|ratio| ratio.is_finite()),
            ..Self::bare(item, claim, ClaimVerdict::Beside, reason)
        }
    }

    /// Compares a share of a whole, in percent: within 10 points. A factor says nothing of a share: twice the published
    /// value is out of reach where that is above 50 %.
    pub fn percent(item: &str, claim: &str, published: f64, measured: f64, reason: &str) -> Self {
        Self::within_absolute(item, claim, published, measured, POINTS_OF_A_SHARE, reason)
    }

    /// Compares a share of a whole as a fraction; else like [`Claim::percent`].
    pub fn share(item: &str, claim: &str, published: f64, measured: f64, reason: &str) -> Self {
        Self::within_absolute(item, claim, published, measured, POINTS_OF_A_SHARE / 100.0, reason)
    }

    /// A published value that cannot be measured, with the reason.
    pub fn unreachable(item: &str, claim: &str, published: Option<f64>, reason: &str) -> Self {
        Self { published, ..Self::bare(item, claim, ClaimVerdict::Unreachable, reason) }
    }

    /// Turns a claim that is met into one that holds by construction; `because` explains how. A missed claim stays
    /// missed.
    pub fn by_construction(mut self, because: &str) -> Self {
        if self.verdict == ClaimVerdict::Met {
            self.verdict = ClaimVerdict::Derived;
        }
        self.reason = format!("by construction ({because}): {}", self.reason);
        self
    }

    /// Marks a claim whose published value an input of the run was fitted to; `input` tells which. It tests nothing
    /// while the fit is within its tolerance, and is missed when the fit is lost.
    pub fn fitted(self, input: &str) -> Self {
        Self { fitted: true, ..self.by_construction(input) }
    }

    /// Marks the value as measured on a stand-in for what the paper used. The claim is then neither met nor missed, and
    /// the reason tells whether it holds there. A stand-in without a tolerance of its own gets [`STAND_IN_FACTOR`].
    /// What was fitted and is outside its tolerance stays missed.
    pub fn on_stand_in(mut self, stand_in: &str) -> Self {
        if self.verdict == ClaimVerdict::Beside
            && let Some(ratio) = self.ratio
        {
            self.tolerance_factor = Some(STAND_IN_FACTOR);
            self.stand_in_holds = Some((1.0 / STAND_IN_FACTOR..=STAND_IN_FACTOR).contains(&ratio));
        }
        if self.fitted && self.verdict == ClaimVerdict::Missed {
            self.reason = format!("stand-in ({stand_in}; the fit is lost): {}", self.reason);
            return self;
        }
        if matches!(self.verdict, ClaimVerdict::Met | ClaimVerdict::Missed) {
            self.stand_in_holds = Some(self.verdict == ClaimVerdict::Met);
        }
        let holds = match self.verdict {
            ClaimVerdict::Met => "; holds there",
            ClaimVerdict::Missed => "; does not hold there",
            _ => "",
        };
        if !matches!(self.verdict, ClaimVerdict::Unreachable | ClaimVerdict::Derived) {
            self.verdict = ClaimVerdict::StandIn;
        }
        self.reason = format!("stand-in ({stand_in}{holds}): {}", self.reason);
        self
    }

    /// The tolerance in words: "5 %", "± 0.02", "a factor of 2", "at least 40".
    pub fn stated_tolerance(&self) -> Option<String> {
        let relative = self.tolerance.map(|tolerance| format!("{} %", published(tolerance * 100.0)));
        let absolute = self.tolerance_absolute.map(|tolerance| format!("± {}", published(tolerance)));
        let factor = self.tolerance_factor.map(|factor| format!("a factor of {}", published(factor)));
        let most = self.at_most.map(|limit| format!("at most {}", published(limit)));
        let least = self.at_least.map(|limit| format!("at least {}", published(limit)));
        let stated: Vec<String> = [relative, absolute, factor, most, least].into_iter().flatten().collect();
        (!stated.is_empty()).then(|| stated.join(" or "))
    }

    /// The verdict in words; what is wrong stands out.
    pub const fn verdict_in_words(&self) -> &'static str {
        match (self.verdict, self.stand_in_holds) {
            (ClaimVerdict::Met, _) => "met",
            (ClaimVerdict::Missed, _) => "MISSED",
            (ClaimVerdict::Derived, _) => "derived",
            (ClaimVerdict::StandIn, Some(true)) => "stand-in, within",
            (ClaimVerdict::StandIn, Some(false)) => "stand-in, OUTSIDE",
            (ClaimVerdict::StandIn, None) => "stand-in",
            (ClaimVerdict::Unreachable, _) => "unreachable",
            (ClaimVerdict::Beside, _) => "beside",
        }
    }

    /// Whether the claim is missed, or on a stand-in outside its tolerance.
    pub fn is_wrong(&self) -> bool {
        self.verdict == ClaimVerdict::Missed || self.stand_in_holds == Some(false)
    }

    fn bare(item: &str, claim: &str, verdict: ClaimVerdict, reason: &str) -> Self {
        Self {
            item: item.into(),
            claim: claim.into(),
            published: None,
            measured: None,
            ratio: None,
            tolerance: None,
            tolerance_absolute: None,
            tolerance_factor: None,
            at_most: None,
            at_least: None,
            fitted: false,
            stand_in_holds: None,
            verdict,
            reason: reason.into(),
        }
    }
}

/// Values measured on a stand-in count as near within this factor, if the claim has no tolerance: a stand-in has the
/// published means of its trace, not its requests.
pub const STAND_IN_FACTOR: f64 = 2.0;

/// Points by which a share in percent may differ from the published one, if the claim has no tolerance of its own.
const POINTS_OF_A_SHARE: f64 = 10.0;

fn verdict(met: bool) -> ClaimVerdict {
    if met { ClaimVerdict::Met } else { ClaimVerdict::Missed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_outside_its_tolerance_is_missed() {
        assert_eq!(Claim::within("x", "y", 100.0, 100.9, 0.01, "").verdict, ClaimVerdict::Met);
        assert_eq!(Claim::within("x", "y", 100.0, 101.1, 0.01, "").verdict, ClaimVerdict::Missed);
        assert_eq!(Claim::within("x", "y", 100.0, 98.9, 0.01, "").verdict, ClaimVerdict::Missed);
        assert_eq!(Claim::within("x", "y", 100.0, f64::NAN, 0.01, "").verdict, ClaimVerdict::Missed);
    }

    #[test]
    fn an_absolute_tolerance_is_in_the_unit_of_the_claim() {
        let claim = |measured| Claim::within_absolute("x", "y", 0.0, measured, 0.02, "");
        assert_eq!((claim(0.02).verdict, claim(0.02).ratio), (ClaimVerdict::Met, None));
        assert_eq!(claim(-0.021).verdict, ClaimVerdict::Missed);
        assert_eq!(claim(f64::NAN).verdict, ClaimVerdict::Missed);
        assert_eq!(Claim::within_absolute("x", "y", 0.5, 0.51, 0.02, "").ratio, Some(1.02));
    }

    #[test]
    fn what_holds_by_construction_is_not_met_and_can_still_be_missed() {
        let claim = |measured| Claim::within("x", "y", 100.0, measured, 0.01, "exact").by_construction("stopped there");
        assert_eq!(claim(100.0).verdict, ClaimVerdict::Derived);
        assert_eq!(claim(100.0).reason, "by construction (stopped there): exact");
        assert_eq!(claim(102.0).verdict, ClaimVerdict::Missed);
    }

    #[test]
    fn a_limit_is_no_published_value() {
        let (most, least) = (Claim::at_most("x", "y", 2.0, 1.5, ""), Claim::at_least("x", "y", 40.0, 39.0, ""));
        assert_eq!((most.published, least.published, most.ratio), (None, None, None));
        assert_eq!((most.verdict, least.verdict), (ClaimVerdict::Met, ClaimVerdict::Missed));
        let stated = [most, least].map(|claim| claim.stated_tolerance().unwrap());
        assert_eq!(stated, ["at most 2", "at least 40"]);
        let none = |measured| Claim::none("x", "y", measured, "").verdict;
        assert_eq!((none(0.0), none(1.0)), (ClaimVerdict::Met, ClaimVerdict::Missed));
    }

    /// 52 % published: a factor of 2 would reach from 26 to 104 %.
    #[test]
    fn a_share_has_a_tolerance_in_points() {
        let holds = |measured| Claim::percent("x", "y", 52.0, measured, "").on_stand_in("another trace").stand_in_holds;
        assert_eq!([41.0, 43.0, 61.0, 63.0, 100.0].map(holds), [false, true, true, false, false].map(Some));
        assert_eq!(Claim::share("x", "y", 0.52, 0.63, "").verdict, ClaimVerdict::Missed);
    }

    #[test]
    fn a_lost_fit_is_missed_on_stand_ins_too() {
        let fitted =
            |measured| Claim::within("x", "y", 26.0, measured, 0.05, "").fitted("the disk").on_stand_in("another disk");
        assert_eq!(fitted(25.0).verdict, ClaimVerdict::Derived);
        assert_eq!((fitted(24.04).verdict, fitted(24.04).stand_in_holds), (ClaimVerdict::Missed, None));
        let derived = Claim::within("x", "y", 26.0, 24.04, 0.05, "").by_construction("Little's law");
        assert_eq!(derived.on_stand_in("another disk").verdict, ClaimVerdict::StandIn);
    }

    #[test]
    fn an_order_with_a_tie_is_missed() {
        let order = |values: &[(&str, f64)]| Claim::descending("x", "y", values, "why");
        let met = order(&[("a", 3.0), ("b", 2.0), ("c", 0.0)]);
        assert_eq!((met.verdict, met.reason.as_str()), (ClaimVerdict::Met, "why; measured: a 3, b 2, c 0"));
        assert_eq!(order(&[("a", 2.0), ("b", 2.0)]).verdict, ClaimVerdict::Missed);
        assert_eq!(order(&[("a", f64::NAN), ("b", 2.0)]).verdict, ClaimVerdict::Missed);
    }

    #[test]
    fn a_stand_in_neither_meets_nor_misses_and_says_what_it_is() {
        let claim = Claim::within("x", "y", 100.0, 300.0, 0.01, "exact").on_stand_in("another trace");
        assert_eq!((claim.verdict, claim.ratio), (ClaimVerdict::StandIn, Some(3.0)));
        assert_eq!(claim.reason, "stand-in (another trace; does not hold there): exact");
        let claim = Claim::at_most("x", "y", 1.0, 0.5, "small").on_stand_in("another trace");
        assert_eq!(claim.reason, "stand-in (another trace; holds there): small");
        let claim = Claim::unreachable("x", "y", None, "no trace").on_stand_in("another trace");
        assert_eq!(claim.verdict, ClaimVerdict::Unreachable);
    }
}
