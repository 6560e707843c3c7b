//! Telemetry and the report of the drive.

use std::collections::BTreeMap;

use esker_core::{BusyTime, Bytes, DeviceState, Nanos, Ratio, ResourceKind, Telemetry};
use esker_ftl::FtlCounters;
use esker_nand::array::DieStep;
use esker_nand::ecc::Ecc;
use esker_nand::state::{Cause, OperationCounts, WriteMode, by_cause};
use esker_results::{
    CleaningReport, Counters, DeviceReport, EccReport, EraseCounts, FlashReport, MergeCounts, WearReport,
    WriteModeReport, WriteModesReport,
};

use super::power::PowerFailure;
use super::{Baseline, Ssd};

const SECONDS_PER_YEAR: f64 = 365.0 * 86_400.0;

impl Ssd {
    pub(super) fn start_measuring(&mut self, now: Nanos) {
        let array = self.back.array.get_mut();
        array.settle(now);
        array.reset_busy();
        if let Some(link) = &mut self.front.link {
            link.reset_busy();
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.start();
        }
        if let Some(ecc) = &mut self.back.ecc {
            ecc.reset_counts();
        }
        self.back.flash.reset_mode_counts();
        if let Some(buffer) = &mut self.front.buffer {
            buffer.earlier = buffer.counts;
        }
        self.measuring = Baseline {
            at: now,
            completed: self.front.completed,
            pages: self.back.counts,
            operations: *self.back.flash.counts(),
            layer: self.back.layer_counters(),
            half_cleaned: self.back.ftl.half_cleaned(),
        };
    }

    /// Returns busy times up to `end`, which is not before the drive's last event.
    fn busy(&self, end: Nanos) -> Vec<BusyTime> {
        let mut array = self.back.array.borrow_mut();
        array.settle(end);
        #[cfg(debug_assertions)]
        array.check_tally();
        let mut all =
            vec![busy_time(ResourceKind::Bus, array.bus_busy()), busy_time(ResourceKind::Die, array.die_busy())];
        if let Some(link) = &self.front.link {
            all.push(busy_time(ResourceKind::Link, link.busy()));
        }
        all
    }

    /// Of the blocks that can be used at all: what was bad from the start takes no wear from the others.
    fn life_used(&self) -> Ratio {
        let erases = self.back.flash.counts().erases as f64 / f64::from(self.back.space.good_blocks());
        let mean = f64::from(self.initial_erases()) + erases;
        Ratio::from_f64(mean / self.settings.endurance_cycles as f64)
    }

    /// Erases that each block had when the drive was new.
    fn initial_erases(&self) -> u32 {
        self.settings.wear.map_or(0, |wear| wear.initial_erases)
    }

    pub(super) fn telemetry_now(&self) -> Telemetry {
        Telemetry {
            state: if self.back.read_only { DeviceState::ReadOnly } else { DeviceState::Online },
            queued: self.front.slots.in_use(),
            free_space: Some(Bytes(self.back.ftl.writable_pages() * self.back.geometry.page_size().0)),
            erases: self.back.flash.counts().erases,
            counts_erases: true,
            life_used: self.life_used(),
            busy: self.busy(self.now),
        }
    }

    /// Returns the results up to `end`, which is not before the drive's last event.
    pub(super) fn report_at(&self, end: Nanos) -> DeviceReport {
        let measured = end.saturating_sub(self.measuring.at);
        let share = |busy: f64| if measured > Nanos::ZERO { busy / measured.0 as f64 } else { 0.0 };
        let mut utilisation = BTreeMap::new();
        let mut busiest = BTreeMap::new();
        for busy in self.busy(end) {
            let name = match busy.kind {
                ResourceKind::Bus => "bus",
                ResourceKind::Die => "die",
                _ => "link",
            };
            utilisation.insert(name.to_string(), share(busy.busy.0 as f64 / f64::from(busy.count)));
            busiest.insert(name.to_string(), share(busy.busiest.0 as f64));
        }
        DeviceReport {
            kind: "ssd".to_string(),
            capacity_bytes: self.back.capacity().0,
            requests: self.front.completed - self.measuring.completed,
            utilisation,
            utilisation_busiest: busiest,
            flash: Some(self.flash_report(measured)),
            ..DeviceReport::default()
        }
    }

    /// Counts blocks that were erased, and pages that were moved out of them: those of blocks that are still being
    /// emptied count once these are erased.
    fn cleaning_report(&self, counts: &OperationCounts) -> Option<CleaningReport> {
        let (blocks, moved) = (counts.erases_by_cause().cleaning, counts.programs().cleaning);
        if blocks == 0 {
            return None;
        }
        let pages = blocks * u64::from(self.back.geometry.data_pages_per_block());
        let of_erased = (moved + self.measuring.half_cleaned).saturating_sub(self.back.ftl.half_cleaned());
        let tally = self.back.array.borrow().tally();
        let cleaning = Cause::Cleaning as usize;
        let flash_pages = self.back.flash_pages_per_page();
        let copy_backs =
            [DieStep::CopyBack, DieStep::CopyBackChecked].map(|step| tally.done[step as usize][cleaning].steps);
        let busy = tally.busy_for(cleaning);
        // A copy of the one takes as long as one of the other.
        let copying = busy - tally.done[DieStep::Erase as usize][cleaning].busy();
        let others = copying as f64 * (moved as f64 - of_erased as f64) / moved.max(1) as f64;
        Some(CleaningReport {
            blocks,
            pages_moved: of_erased,
            copy_backs: (copy_backs.iter().sum::<u64>() / flash_pages).min(of_erased),
            efficiency: 1.0 - of_erased as f64 / pages as f64,
            mean_block_us: (busy as f64 - others) / 1e3 / blocks as f64,
        })
    }

    /// Returns the bytes of memory that the simulator takes for the flash and its tables.
    fn memory_bytes(&self) -> usize {
        let ecc = self.back.ecc.as_ref().map_or(0, |ecc| ecc.memory_bytes());
        self.back.ftl.memory_bytes() + self.back.flash.memory_bytes() + ecc
    }

    fn flash_report(&self, measured: Nanos) -> FlashReport {
        let measured_s = measured.as_secs_f64();
        let counts = self.back.flash.counts().since(&self.measuring.operations);
        let FtlCounters {
            merges,
            full_merge_data_blocks,
            dead_log_blocks,
            mapping,
            // What the owner of the pages asked for: it counts that itself.
            dropped_pages: _,
            revived_pages: _,
            erased_suspects: _,
        } = self.back.layer_counters().since(&self.measuring.layer);
        let (pages, before) = (self.back.counts, self.measuring.pages);
        let host_page_writes = pages.writes - before.writes;
        let (bad, good) = (self.back.space.bad_blocks(), self.back.space.good_blocks());
        let erase_count = self.back.flash.erase_counts(bad, self.initial_erases());
        let endurance = self.settings.endurance_cycles;
        let lifetime = (counts.erases > 0 && measured_s > 0.0).then(|| {
            let erases_per_block_and_s = counts.erases as f64 / f64::from(good) / measured_s;
            (endurance as f64 - erase_count.mean).max(0.0) / erases_per_block_and_s / SECONDS_PER_YEAR
        });
        FlashReport {
            reads: counts.reads(),
            programs: counts.programs(),
            host_page_writes,
            host_page_reads: pages.reads - before.reads,
            unwritten_page_reads: pages.unwritten_reads - before.unwritten_reads,
            pages: self.back.space.page_counts(),
            effective_spare_factor: self.back.space.effective_spare_factor(),
            erases: counts.erases,
            merges: merges.unwrap_or_else(|| merges_of_pages(&counts)),
            full_merge_data_blocks,
            dead_log_blocks,
            map_bytes: self.back.ftl.map_bytes(),
            write_amplification: (host_page_writes > 0)
                .then(|| counts.programs().total() as f64 / host_page_writes as f64),
            cleaning: self.cleaning_report(&counts),
            energy: self.settings.array.energy.map(|energy| self.energy_report(&energy, measured)),
            array: self.settings.array.details.then(|| self.array_report(measured)),
            timeline: self.timeline.as_ref().map(|timeline| timeline.report()),
            erase_count,
            endurance_cycles: endurance,
            projected_lifetime_years: lifetime,
            wear: self.wear_report(&erase_count),
            ecc: self.back.ecc.as_ref().map(|ecc| ecc_report(ecc)),
            write_modes: self.write_modes_report(),
            write_buffer: self.front.buffer.as_ref().map(|buffer| buffer.counts.since(&buffer.earlier)),
            simulator_bytes_per_page: self.memory_bytes() as f64 / f64::from(self.back.geometry.pages()),
            precondition: self.precondition,
            mapping,
            recovery: self.power.as_ref().and_then(PowerFailure::report),
            power_failure_missed: self.power.as_ref().is_some_and(PowerFailure::is_pending),
        }
    }
}

impl Ssd {
    fn write_modes_report(&self) -> Option<WriteModesReport> {
        let flash = &self.back.flash;
        let (policy, counts) = (flash.mode_policy()?, flash.mode_counts()?);
        let mode = |mode: &WriteMode| WriteModeReport {
            mode: mode.name().to_string(),
            reads: by_cause(&counts.reads[*mode as usize]),
            programs: by_cause(&counts.programs[*mode as usize]),
        };
        let tag_bits = policy.modes().len().next_power_of_two().ilog2();
        Some(WriteModesReport {
            modes: policy.modes().iter().map(mode).collect(),
            tag_bytes: (u64::from(self.back.geometry.pages()) * u64::from(tag_bits)).div_ceil(8),
            history_bytes: policy.memory_bits().div_ceil(8),
        })
    }

    fn wear_report(&self, erases: &EraseCounts) -> Option<WearReport> {
        self.settings.wear?;
        let counts = self.back.wear_counts()?;
        let endurance = self.settings.endurance_cycles;
        // Blocks may be erased more often than they are rated for: there is nothing less left than nothing.
        let remaining_mean = (endurance as f64 - erases.mean).max(0.0);
        let mut by_erases = self.back.flash.blocks_by_erases();
        by_erases[self.initial_erases() as usize] -= u64::from(self.back.space.bad_blocks());
        let mut remaining_by_tenths = [0; 21];
        for (erases, blocks) in (0..).zip(&by_erases) {
            let remaining = endurance.saturating_sub(erases) as f64;
            // Once the mean block has no erases remaining, there is no mean to divide by.
            let tenths = if remaining_mean > 0.0 { remaining / remaining_mean * 10.0 } else { 0.0 };
            remaining_by_tenths[(tenths as usize).min(20)] += blocks;
        }
        Some(WearReport {
            remaining_mean,
            remaining_stddev: erases.stddev,
            remaining_by_tenths,
            expired_blocks: by_erases.iter().skip(endurance as usize).sum(),
            factory_bad_blocks: counts.factory_bad,
            retired_blocks: counts.retired,
            migrated_blocks: counts.migrated,
            spared_victims: counts.spared,
            read_only: self.back.read_only,
        })
    }
}

fn ecc_report(ecc: &Ecc) -> EccReport {
    let counts = ecc.counts();
    let reads = counts.reads().max(1) as f64;
    let bits = ecc.data_bits_of_page() as f64;
    let failed = counts.failed.iter().sum::<u64>() as f64;
    EccReport {
        reads_by_step: counts.decoded[..ecc.steps()].to_vec(),
        uncorrectable_reads: by_cause(&counts.failed),
        lost_pages: counts.lost_pages,
        reads_of_lost_pages: counts.reads_of_lost_pages,
        // If many rates are equal, rounding can lift their mean above the worst one.
        mean_raw_bit_error_rate: (counts.rates / reads).min(counts.worst_rate),
        worst_raw_bit_error_rate: counts.worst_rate,
        expected_uncorrectable_bit_error_rate: counts.uncorrectable_rates / reads,
        uncorrectable_bit_error_rate: failed / (reads * bits),
    }
}

/// A layer that maps pages does not count merges: each of its victims counts as one.
fn merges_of_pages(counts: &OperationCounts) -> MergeCounts {
    // A sudden power failure undoes erases that were under way when measuring began.
    let switch = counts.erases_without_copies.min(counts.erases);
    MergeCounts { switch, partial: counts.erases - switch, full: 0 }
}

fn busy_time(kind: ResourceKind, times: impl IntoIterator<Item = Nanos>) -> BusyTime {
    let start = BusyTime { kind, count: 0, busy: Nanos::ZERO, busiest: Nanos::ZERO };
    times.into_iter().fold(start, |all, busy| BusyTime {
        count: all.count + 1,
        busy: all.busy + busy,
        busiest: all.busiest.max(busy),
        ..all
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{agrawal, read, serve, write};
    use super::*;

    #[test]
    fn figures_are_those_since_measuring_began() {
        let mut ssd = Ssd::new("flash", &agrawal(), 1).unwrap();
        serve(&mut ssd, Nanos::ZERO, write(5));
        ssd.start_measuring(Nanos::from_millis(1));
        // The last page has no data.
        for (at, request) in [(2, write(6)), (3, read(5)), (4, read(7))] {
            serve(&mut ssd, Nanos::from_millis(at), request);
        }
        let flash = ssd.report_at(ssd.now).flash.unwrap();
        assert_eq!((flash.host_page_writes, flash.programs.host, flash.write_amplification), (1, 1, Some(1.0)));
        assert_eq!((flash.host_page_reads, flash.unwritten_page_reads, flash.reads.host), (2, 1, 1));
    }
}
