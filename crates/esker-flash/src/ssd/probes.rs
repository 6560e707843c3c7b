//! Reports that are made only on request: the use of each die and bus, and energy.

use esker_core::Nanos;
use esker_nand::array::{DieStep, Done, Tally, Timing};
use esker_nand::state::{CAUSES, Cause};
use esker_nand::{EnergySettings, Gang};
use esker_results::{ArrayReport, EnergyByCause, EnergyReport, StepReport};

use super::Ssd;

/// Returns the name of a cause in results.
pub(super) fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Host => "host",
        Cause::Cleaning => "cleaning",
        Cause::Mapping => "mapping",
        Cause::WearLevelling => "wear-levelling",
        Cause::Recovery => "recovery",
        Cause::Refresh => "refresh",
        Cause::ReEncoding => "re-encoding",
    }
}

const CAUSES_IN_ORDER: [Cause; CAUSES] = [
    Cause::Host,
    Cause::Cleaning,
    Cause::Mapping,
    Cause::WearLevelling,
    Cause::Recovery,
    Cause::Refresh,
    Cause::ReEncoding,
];

impl Ssd {
    /// Reports each die and bus separately, and operations by step and cause.
    pub(super) fn array_report(&self, measured: Nanos) -> ArrayReport {
        let array = self.back.array.borrow();
        let share = |busy: Vec<Nanos>| busy.iter().map(|busy| busy.0 as f64 / measured.0.max(1) as f64).collect();
        let tally = array.tally();
        let mut steps = Vec::new();
        for step in DieStep::ALL {
            for (cause, done) in CAUSES_IN_ORDER.into_iter().zip(&tally.done[step as usize]) {
                if done.steps > 0 {
                    steps.push(StepReport {
                        kind: step.name().to_string(),
                        cause: cause_name(cause).to_string(),
                        count: done.steps,
                        cells_ns: done.cells,
                        transfers_ns: done.transfers,
                        interruptions_ns: done.interruptions,
                    });
                }
            }
        }
        ArrayReport { die_utilisation: share(array.die_busy()), bus_utilisation: share(array.bus_busy()), steps }
    }

    /// Reports the energy that the array took over `measured`.
    pub(super) fn energy_report(&self, energy: &EnergySettings, measured: Nanos) -> EnergyReport {
        let array = self.back.array.borrow();
        let tally = array.tally();
        // Operations of a synchronous gang are counted once for all its packages.
        let packages = match self.settings.array.gang {
            Gang::Synchronous => u64::from(self.settings.geometry.packages_per_channel),
            _ => 1,
        };
        let flash_page = self.settings.geometry.page_size + self.settings.geometry.spare_size;
        let sector = energy.page_transfer.0 * 512 / flash_page.0;
        let timing = &self.back.timing;
        let prices = Prices { energy, sector, packages, timing };
        let idle = array.die_busy().iter().map(|busy| u128::from(measured.saturating_sub(*busy).0)).sum::<u128>();
        let report = EnergyReport {
            read: prices.by_cause(&tally, Prices::read),
            program: prices.by_cause(&tally, Prices::program),
            erase: prices.by_cause(&tally, Prices::erase),
            transfer: prices.by_cause(&tally, Prices::transfer),
            idle_pj: energy.idle.over(idle * u128::from(packages)).0,
            total_pj: 0,
        };
        let parts = [report.read, report.program, report.erase, report.transfer];
        let total_pj = parts.iter().map(EnergyByCause::total_pj).sum::<u64>() + report.idle_pj;
        debug_assert_eq!(total_pj, prices.total(&tally) + report.idle_pj, "energy by cause does not add up");
        EnergyReport { total_pj, ..report }
    }
}

/// Computes the energy of steps by component, in picojoules.
struct Prices<'a> {
    energy: &'a EnergySettings,
    sector: u64,
    packages: u64,
    timing: &'a Timing,
}

impl Prices<'_> {
    fn read(&self, step: DieStep, done: &Done) -> u64 {
        match step {
            DieStep::Program | DieStep::ProgramSector | DieStep::CopyIn | DieStep::Erase => 0,
            DieStep::ReadHeld | DieStep::ReadSectorHeld | DieStep::CopyOutHeld => 0,
            // Each sensing takes as long as a read, so time in cells gives their number.
            DieStep::ReadAgain => done.cells / self.timing.page_read.0 * self.energy.page_read.0,
            _ => done.steps * self.energy.page_read.0,
        }
    }

    fn program(&self, step: DieStep, done: &Done) -> u64 {
        match step {
            DieStep::Read | DieStep::ReadSector | DieStep::ReadAgain | DieStep::CopyOut | DieStep::Erase => 0,
            DieStep::ReadHeld | DieStep::ReadSectorHeld | DieStep::CopyOutHeld => 0,
            _ => done.steps * self.energy.page_program.0,
        }
    }

    fn erase(&self, step: DieStep, done: &Done) -> u64 {
        if step == DieStep::Erase { done.steps * self.energy.block_erase.0 } else { 0 }
    }

    fn transfer(&self, step: DieStep, done: &Done) -> u64 {
        match step {
            DieStep::Erase | DieStep::CopyBack => 0,
            DieStep::ReadSector | DieStep::ReadSectorHeld | DieStep::ProgramSector => done.steps * self.sector,
            DieStep::ReadAgain => done.transfers / self.timing.page_transfer.0 * self.energy.page_transfer.0,
            _ => done.steps * self.energy.page_transfer.0,
        }
    }

    fn by_cause(&self, tally: &Tally, price: fn(&Self, DieStep, &Done) -> u64) -> EnergyByCause {
        let of = |cause: Cause| {
            let price = |step: DieStep| price(self, step, &tally.done[step as usize][cause as usize]);
            self.packages * DieStep::ALL.into_iter().map(price).sum::<u64>()
        };
        EnergyByCause {
            host_pj: of(Cause::Host),
            cleaning_pj: of(Cause::Cleaning),
            mapping_pj: of(Cause::Mapping),
            wear_levelling_pj: of(Cause::WearLevelling),
            recovery_pj: of(Cause::Recovery),
            refresh_pj: of(Cause::Refresh),
            re_encoding_pj: of(Cause::ReEncoding),
        }
    }

    /// Sums up the energy of all steps over all causes, to check [`Self::by_cause`].
    fn total(&self, tally: &Tally) -> u64 {
        let of = |step: DieStep| {
            let mut all = Done::default();
            for done in &tally.done[step as usize] {
                all.steps += done.steps;
                all.cells += done.cells;
                all.transfers += done.transfers;
            }
            self.read(step, &all) + self.program(step, &all) + self.erase(step, &all) + self.transfer(step, &all)
        };
        self.packages * DieStep::ALL.into_iter().map(of).sum::<u64>()
    }
}
