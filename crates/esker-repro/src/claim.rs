//! A published number beside a measured one, with a tolerance that was stated before.

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
    /// Shown for comparison; nothing was published to hold it against.
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
    /// Ours.
    pub measured: f64,
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
            item: item.into(),
            claim: claim.into(),
            published: Some(published),
            measured,
            ratio: Some(ratio),
            tolerance: Some(tolerance),
            verdict: if met { ClaimVerdict::Met } else { ClaimVerdict::Missed },
            reason: reason.into(),
        }
    }

    /// Shows a measured value that the paper does not give.
    pub fn beside(item: &str, claim: &str, measured: f64, reason: &str) -> Self {
        Self {
            item: item.into(),
            claim: claim.into(),
            published: None,
            measured,
            ratio: None,
            tolerance: None,
            verdict: ClaimVerdict::Beside,
            reason: reason.into(),
        }
    }
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
}
