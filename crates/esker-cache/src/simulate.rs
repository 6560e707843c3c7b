//! Runs a policy over a sequence of accesses.

use esker_core::Nanos;

use crate::{Access, Admission, Counts, Replacement};

/// Counts hits and misses on `accesses` of a cache that takes in every object that misses.
pub fn simulate(policy: &mut dyn Replacement, accesses: &[Access]) -> Counts {
    let mut counts = Counts::default();
    policy.perform(accesses, &mut counts);
    counts
}

/// Counts hits and misses on `accesses` of a cache that takes in the objects that `admission` admits. `times` has the
/// time of each access, in ascending order; accesses without a time are left out.
pub fn simulate_admitting(
    policy: &mut dyn Replacement,
    admission: &mut dyn Admission,
    times: &[Nanos],
    accesses: &[Access],
) -> Counts {
    let mut counts = Counts::default();
    let timed = times.iter().copied().zip(accesses);
    perform_admitting(policy, admission, timed, 1.0, &mut counts);
    counts
}

/// Performs accesses, each of which stands for 1/`rate` accesses: to admission policies with a budget for the bytes of
/// all of these.
pub(crate) fn perform_admitting<'a>(
    policy: &mut dyn Replacement,
    admission: &mut dyn Admission,
    timed: impl Iterator<Item = (Nanos, &'a Access)>,
    rate: f64,
    counts: &mut Counts,
) {
    admission.set_rate(rate);
    for (now, access) in timed {
        if policy.hit(access) {
            admission.hit(now, access);
            counts.hit(access);
        } else if admission.admits(now, access) {
            counts.miss(access);
            policy.insert(access);
        } else {
            counts.miss_refused(access);
        }
    }
}
