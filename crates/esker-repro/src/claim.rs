//! A published number beside a measured one, with a tolerance that was stated before.

use esker_core::words::published;
use schemars::JsonSchema;
use serde::Serialize;

/// How a claim came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// Within its tolerance.
    Met,
    /// Outside its tolerance.
    Missed,
    /// Measured on a stand-in for a trace that cannot be had.
    StandIn,
    /// Cannot be reached, for the reason given.
    Unreachable,
    /// Shown for comparison, without a tolerance.
    Beside,
}

/// One claim of a paper, reproduced.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Claim {
    /// The item it belongs to: "agrawal/table-3".
    pub item: String,
    /// What is claimed, with its unit.
    pub claim: String,
    /// The published value.
    pub published: Option<f64>,
    /// Ours; absent where the claim is about an order, or could not be measured.
    pub measured: Option<f64>,
    /// Measured over published.
    pub ratio: Option<f64>,
    /// Largest deviation of the ratio from 1 that counts as met.
    pub tolerance: Option<f64>,
    /// How it came out.
    pub verdict: ClaimVerdict,
    /// Why the tolerance is what it is, or why the claim cannot be met.
    pub reason: String,
}

impl Claim {
    /// Holds `measured` against `published` with the given tolerance (a fraction).
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

    /// Holds that the values, largest first, are in strictly descending order. `reason` is followed by what was measured.
    pub fn descending(item: &str, claim: &str, values: &[(&str, f64)], reason: &str) -> Self {
        let met = values.windows(2).all(|pair| pair[0].1 > pair[1].1);
        let found: Vec<String> = values.iter().map(|(name, value)| format!("{name} {}", published(*value))).collect();
        Self::bare(item, claim, verdict(met), &format!("{reason}; measured: {}", found.join(", ")))
    }

    /// Holds that `measured` is no larger than `limit`. For published values of zero, which have no ratio.
    pub fn at_most(item: &str, claim: &str, limit: f64, measured: f64, reason: &str) -> Self {
        Self {
            published: Some(limit),
            measured: Some(measured),
            ..Self::bare(item, claim, verdict(measured <= limit), reason)
        }
    }

    /// Holds that `measured` is no smaller than `limit`.
    pub fn at_least(item: &str, claim: &str, limit: f64, measured: f64, reason: &str) -> Self {
        Self {
            published: Some(limit),
            measured: Some(measured),
            ..Self::bare(item, claim, verdict(measured >= limit), reason)
        }
    }

    /// Shows a measured value that the paper does not give.
    pub fn beside(item: &str, claim: &str, measured: f64, reason: &str) -> Self {
        Self { measured: Some(measured), ..Self::bare(item, claim, ClaimVerdict::Beside, reason) }
    }

    /// Shows a measured value beside a published one that it is not held against.
    pub fn compared(item: &str, claim: &str, published: f64, measured: f64, reason: &str) -> Self {
        Self {
            published: Some(published),
            measured: Some(measured),
            ratio: Some(measured / published).filter(|ratio| ratio.is_finite()),
            ..Self::bare(item, claim, ClaimVerdict::Beside, reason)
        }
    }

    /// Says why a published value cannot be measured.
    pub fn unreachable(item: &str, claim: &str, published: Option<f64>, reason: &str) -> Self {
        Self { published, ..Self::bare(item, claim, ClaimVerdict::Unreachable, reason) }
    }

    /// The same claim, measured on something that stands in for what the paper used: it is neither met nor missed, and the reason
    /// says whether it holds there.
    pub fn on_stand_in(mut self, stand_in: &str) -> Self {
        let holds = match self.verdict {
            ClaimVerdict::Met => "; holds there",
            ClaimVerdict::Missed => "; does not hold there",
            ClaimVerdict::StandIn | ClaimVerdict::Unreachable | ClaimVerdict::Beside => "",
        };
        if self.verdict != ClaimVerdict::Unreachable {
            self.verdict = ClaimVerdict::StandIn;
        }
        self.reason = format!("stand-in ({stand_in}{holds}): {}", self.reason);
        self
    }

    fn bare(item: &str, claim: &str, verdict: ClaimVerdict, reason: &str) -> Self {
        Self {
            item: item.into(),
            claim: claim.into(),
            published: None,
            measured: None,
            ratio: None,
            tolerance: None,
            verdict,
            reason: reason.into(),
        }
    }
}

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
