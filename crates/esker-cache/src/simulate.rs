//! Runs a policy over a sequence of accesses.

use esker_core::Nanos;

use crate::{Access, Admission, Counts, Replacement};

/// Counts what a cache that takes in every object that misses does on `accesses`.
pub fn simulate(policy: &mut dyn Replacement, accesses: &[Access]) -> Counts {
    let mut counts = Counts::default();
    policy.perform(accesses, &mut counts);
    counts
}

/// Counts what a cache that takes in the objects that `admission` admits does on `accesses`. Each access has its time
/// at the same place of `times`, which do not decrease; accesses without one are left out.
pub fn simulate_admitting(
    policy: &mut dyn Replacement,
    admission: &mut dyn Admission,
    times: &[Nanos],
    accesses: &[Access],
) -> Counts {
    let mut counts = Counts::default();
    for (now, access) in times.iter().zip(accesses) {
        if policy.hit(access) {
            admission.hit(*now, access);
            counts.hit(access);
        } else if admission.admits(*now, access) {
            counts.miss(access);
            policy.insert(access);
        } else {
            counts.miss_refused(access);
        }
    }
    counts
}
