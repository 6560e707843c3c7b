//! How many claims are met, missed, and so on.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Claim, ClaimVerdict};

/// Number of claims by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Tally {
    /// Within their tolerance, as measured.
    pub met: usize,
    /// Outside their tolerance.
    pub missed: usize,
    /// Within their tolerance by construction.
    pub derived: usize,
    /// Stand-ins within their tolerance.
    pub stand_ins_within: usize,
    /// Stand-ins outside their tolerance.
    pub stand_ins_outside: usize,
    /// Stand-ins for which the paper has no value to compare with.
    pub stand_ins_without_value: usize,
    /// Claims that cannot be measured.
    pub unreachable: usize,
    /// Values shown for comparison.
    pub beside: usize,
}

impl Tally {
    /// Counts `claims`.
    pub fn of<'a>(claims: impl IntoIterator<Item = &'a Claim>) -> Self {
        let mut tally = Self::default();
        for claim in claims {
            let count = match (claim.verdict, claim.stand_in_holds) {
                (ClaimVerdict::Met, _) => &mut tally.met,
                (ClaimVerdict::Missed, _) => &mut tally.missed,
                (ClaimVerdict::Derived, _) => &mut tally.derived,
                (ClaimVerdict::StandIn, Some(true)) => &mut tally.stand_ins_within,
                (ClaimVerdict::StandIn, Some(false)) => &mut tally.stand_ins_outside,
                (ClaimVerdict::StandIn, None) => &mut tally.stand_ins_without_value,
                (ClaimVerdict::Unreachable, _) => &mut tally.unreachable,
                (ClaimVerdict::Beside, _) => &mut tally.beside,
            };
            *count += 1;
        }
        tally
    }
}

/// What is wrong comes first.
impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { met, missed, derived, unreachable, beside, .. } = self;
        let (within, outside) = (self.stand_ins_within, self.stand_ins_outside);
        write!(f, "{missed} missed, {outside} stand-ins outside their tolerance; ")?;
        write!(f, "{met} met, {derived} derived; {within} stand-ins within their tolerance")?;
        if self.stand_ins_without_value > 0 {
            write!(f, ", {} without a published value", self.stand_ins_without_value)?;
        }
        write!(f, "; {unreachable} unreachable, {beside} beside")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tally_parts_near_stand_ins_from_far_ones() {
        let on = |claim: Claim| claim.on_stand_in("another trace");
        let claims = [
            Claim::within("x", "y", 100.0, 100.0, 0.01, ""),
            Claim::within("x", "y", 100.0, 150.0, 0.01, ""),
            Claim::within("x", "y", 100.0, 100.0, 0.01, "").by_construction("so"),
            on(Claim::within("x", "y", 100.0, 100.0, 0.01, "")),
            on(Claim::within("x", "y", 100.0, 102.0, 0.01, "")),
            on(Claim::compared("x", "y", 100.0, 199.0, "")),
            on(Claim::compared("x", "y", 100.0, 49.0, "")),
            on(Claim::beside("x", "y", 49.0, "")),
            Claim::unreachable("x", "y", None, ""),
            Claim::beside("x", "y", 1.0, ""),
        ];
        let tally = Tally::of(&claims);
        let counts = [tally.met, tally.missed, tally.derived, tally.stand_ins_within, tally.stand_ins_outside];
        assert_eq!(counts, [1, 1, 1, 2, 2]);
        assert_eq!((tally.stand_ins_without_value, tally.unreachable, tally.beside), (1, 1, 1));
        let text = tally.to_string();
        let expected = "1 missed, 2 stand-ins outside their tolerance; 1 met, 1 derived; 2 stand-ins within their \
                        tolerance, 1 without a published value; 1 unreachable, 1 beside";
        assert_eq!(text, expected, "what is wrong comes first");
    }
}
