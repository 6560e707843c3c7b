//! How long the flash of each type of device in a plan lasts, by the model and as simulated. A study judges all flash
//! of a design together; of several products, one may wear out before the others.

use esker_results::DeviceReport;
use esker_results::study::Candidate;

use super::planner::Planner;
use super::solved::Solved;
use crate::lifetime::{Wear, lifetime_years};
use crate::models::WholeDrive;
use crate::offers::Part;

impl Planner<'_> {
    /// Years that the flash of a type lasts if it is written as planned, at the write amplification of random writes.
    /// `None` without flash.
    pub(super) fn planned_life_years(&self, solved: &Solved, at: usize) -> Option<f64> {
        let shares = &solved.solution.plan.shares;
        let classes = self.model.classes.classes.iter().zip(shares);
        let written = classes.map(|(class, shares)| class.total.written_bytes as f64 * shares[at]).sum();
        self.life_years(solved, at, written, self.model.types[at].times.random_amplification)
    }

    /// Likewise of the simulated `devices` of the type, with what they wrote. Without devices `None`.
    ///
    /// In the measured run a drive also cleans what filling it had left over. So its own amplification there only says
    /// how it differs from the others: all together have that which has settled. Where none has, all counts as written
    /// at random, as in studies.
    pub(super) fn simulated_life_years(
        &self,
        (solved, verified): (&Solved, &Candidate),
        at: usize,
        devices: &[&DeviceReport],
    ) -> Option<f64> {
        let random = self.model.types[at].times.random_amplification;
        let all: Vec<&DeviceReport> = verified.devices.values().collect();
        let ((written, own), (_, all)) = (self::written(devices, random), self::written(&all, random));
        let settled = verified.endurance.as_ref().and_then(|endurance| endurance.write_amplification);
        let amplification = settled.map_or(random, |settled| of_type(own, all, (settled, random)));
        self.life_years(solved, at, written, amplification).filter(|_| !devices.is_empty())
    }

    /// `written`: bytes in the trace.
    fn life_years(&self, solved: &Solved, at: usize, written: f64, amplification: f64) -> Option<f64> {
        let one = &self.model.types[at];
        let count = solved.solution.plan.counts[at];
        let whole = WholeDrive::of(one.part.product, one.part.capacity.bytes)?;
        let flash = Part { count, ..one.part }.flash_on_sale(&whole);
        let random = one.times.random_amplification;
        let (rated_cycles, _) = flash.rated_cycles(whole.settings().endurance_cycles, random);
        let wear = Wear {
            raw: flash.raw,
            rated_cycles,
            write_amplification: amplification,
            // A mean of the budgeted years: growth is in it.
            host_bytes_per_day: written * self.model.days_of_trace,
            growth_per_year: 0.0,
        };
        Some(lifetime_years(&wear).0)
    }
}

/// The amplification that one type has of what has `settled`, where it had its `own` in the measured run and `all`
/// types together had theirs. Beside a few writes what was left to clean is nearly all that a type programs: it counts
/// for no more than the type's `random` writes do, or all together.
fn of_type(own: f64, all: f64, (settled, random): (f64, f64)) -> f64 {
    (own * settled / all).max(1.0).min(random.max(settled).max(1.0))
}

/// Bytes that `devices` wrote in the measured run, and how many programs each cost; those of random writes where they
/// wrote too little to tell.
fn written(devices: &[&DeviceReport], random: f64) -> (f64, f64) {
    let flash = devices.iter().filter_map(|device| Some((device, device.flash.as_ref()?)));
    let (mut written, mut programmed) = (0.0, 0.0);
    for (device, flash) in flash {
        let page_bytes = device.capacity_bytes as f64 / flash.pages.host.max(1) as f64;
        let bytes = flash.host_page_writes as f64 * page_bytes;
        written += bytes;
        programmed += bytes * flash.write_amplification.unwrap_or(random);
    }
    (written, if written > 0.0 { programmed / written } else { random })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two types one is written 1,000 times as much, 2 programs a page. The other cleans what filling it left.
    #[test]
    fn what_a_type_that_is_hardly_written_cleans_is_not_charged_to_its_writes() {
        let all = (1_000.0 * 2.0 + 800.0) / 1_001.0;
        assert_eq!(of_type(800.0, all, (3.0, 2.5)), 3.0);
        assert!((of_type(2.0, all, (3.0, 2.5)) - 6.0 / all).abs() < 1e-12);
        assert_eq!(of_type(0.1, all, (3.0, 2.5)), 1.0);
    }
}
