//! The ways of judging designs: one file each. A kind of design names the one that fits it.

mod at_any_time;
mod in_place;
mod last_quarter;
mod quarters;
mod ready;
mod round;
mod settled;
mod warm;

pub(crate) use at_any_time::AtAnyTime;
pub(crate) use in_place::InPlace;
pub(crate) use quarters::{PlacementCounts, PlayedParts, QuarterCounts, late_moves_max, policy_settled};
pub(crate) use settled::Settled;
pub(crate) use warm::Warm;
#[cfg(test)]
pub(crate) use warm::{WarmResults, warm};
