//! Bit errors, and the code that corrects them.
//!
//! This layer lies between the translation layer, which does not know of it, and the array. It follows the emitted
//! operations, tracks per block what the error rate of a page depends on, and decides how many decoding steps each read
//! takes. It uses the error rate at the time when an operation is pushed: waiting for the die does not change it.

mod code;
mod modes;
mod rate;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use esker_core::{Nanos, PhysicalPage, Rng};

use crate::array::STEPS_MAX;
use crate::state::{CAUSES, Cause, Cover, FlashOp, FlashOpKind, FlashState, OpIndex, WRITE_MODES, WriteMode};
use crate::{BlockIndex, EccSettings, Geometry, ValueError, WriteModeSettings};
use code::{Code, DecodeOutcome};
use rate::RawErrors;

pub use code::decoding;

/// What the error rate of a block's pages depends on.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// When its first page was programmed, not counting pages that were there at the start. All pages count as
    /// programmed then. [`Nanos::NEVER`] before that.
    programmed: Nanos,
    /// Number of its first pages that were there at the start.
    old_pages: u32,
    erases: u32,
    /// Sensings of its pages since the last erase.
    reads: u32,
}

impl Block {
    fn erased(erases: u32) -> Self {
        Self { programmed: Nanos::NEVER, old_pages: 0, erases, reads: 0 }
    }
}

/// Counts of reads since measuring began.
#[derive(Clone, Debug, Default)]
pub struct EccCounts {
    /// Reads by the step that decoded them.
    pub decoded: [u64; STEPS_MAX],
    /// Reads that no step decoded, by [`Cause`].
    pub failed: [u64; CAUSES],
    /// Pages whose data were lost because they could not be read when they were moved or rewritten.
    pub lost_pages: u64,
    /// Reads of pages whose data were already lost.
    pub reads_of_lost_pages: u64,
    /// Sum of the bit-error rates of all reads.
    pub rates: f64,
    /// The highest bit-error rate of a read.
    pub worst_rate: f64,
    /// Sum of the expected uncorrectable bit-error rates of all reads.
    pub uncorrectable_rates: f64,
}

impl EccCounts {
    /// Returns the number of reads that went through the decoder.
    pub fn reads(&self) -> u64 {
        self.decoded.iter().sum::<u64>() + self.failed.iter().sum::<u64>()
    }
}

/// The bit errors of an array.
#[derive(Debug)]
pub struct Ecc {
    geometry: Geometry,
    /// Flash pages per page of `geometry`. Each is decoded on its own.
    flash_pages: u32,
    raw_errors: RawErrors,
    /// The code of the pages of each write mode.
    codes: [Code; WRITE_MODES],
    /// Raw bit-error rates of the pages of each write mode, as multiples of those of the normal mode.
    factors: [f64; WRITE_MODES],
    rng: Rng,
    /// Age of the data in flash at the start.
    retention_at_start: Nanos,
    started: Nanos,
    blocks: Vec<Block>,
    /// Flash pages whose data could not be decoded when they were moved: the controller marks them.
    lost: BTreeSet<u64>,
    /// Sensings of a read, by write mode and by its number of steps beyond the first.
    sensings: [[u32; STEPS_MAX]; WRITE_MODES],
    counts: EccCounts,
    /// For each flash page of each operation of the last list, the decoding steps beyond the first.
    more_steps: Vec<u8>,
    /// In the same order, whether no step decodes the page.
    failed: Vec<bool>,
    /// The last operation of that list that read data for the host that should be rewritten.
    stale: Option<OpIndex>,
}

impl Ecc {
    /// Creates the layer. `geometry` is the array as the translation layer sees it; `flash` has the pages that are read
    /// one by one. `own` may give pages of some modes a code of their own.
    pub fn new(
        settings: &EccSettings,
        own: Option<&WriteModeSettings>,
        geometry: &Geometry,
        flash: &Geometry,
        seed: u64,
    ) -> Result<Self, ValueError> {
        let by_mode = modes::codes(own, settings);
        let mut codes = Vec::new();
        for (mode, (code, _)) in WriteMode::ALL.into_iter().zip(&by_mode) {
            codes.push(Code::new(code, flash).map_err(|error| modes::fault_of_code(mode, own, error))?);
        }
        let factors = by_mode.each_ref().map(|(_, factor)| *factor);
        let sensings = by_mode.map(|(code, _)| {
            let mut sensings = [0; STEPS_MAX];
            let mut sum = 0;
            for (step, sensed) in code.steps.iter().zip(&mut sensings) {
                sum += step.sensings;
                *sensed = sum;
            }
            sensings
        });
        Ok(Self {
            geometry: *geometry,
            flash_pages: (geometry.page_size().0 / flash.page_size().0) as u32,
            raw_errors: RawErrors::new(&settings.raw_errors)?,
            codes: codes.try_into().expect("one for each mode"),
            factors,
            rng: Rng::derive(seed, "ecc"),
            retention_at_start: settings.retention_at_start,
            started: Nanos::ZERO,
            blocks: vec![Block::erased(0); geometry.blocks() as usize],
            lost: BTreeSet::new(),
            sensings,
            counts: EccCounts::default(),
            more_steps: Vec::new(),
            failed: Vec::new(),
            stale: None,
        })
    }

    /// Takes over the content of `flash` at `now`, with the age given in the settings.
    pub fn start(&mut self, now: Nanos, flash: &FlashState) {
        self.started = now;
        self.lost.clear();
        for (index, block) in self.blocks.iter_mut().enumerate() {
            let index = BlockIndex(index as u32);
            let old_pages = flash.written_in(index);
            *block = Block { old_pages, ..Block::erased(flash.erases_of(index)) };
        }
    }

    /// Resets the counts.
    pub fn reset_counts(&mut self) {
        self.counts = EccCounts::default();
    }

    /// Returns the counts of reads since measuring began.
    pub fn counts(&self) -> &EccCounts {
        &self.counts
    }

    /// Returns the number of decoding steps of the code. If modes have different codes, the largest number counts.
    pub fn steps(&self) -> usize {
        self.codes.iter().map(Code::steps).max().unwrap_or(0)
    }

    /// Returns the data bits that the codewords of a page protect.
    pub fn data_bits_of_page(&self) -> u64 {
        self.codes[0].data_bits_of_page()
    }

    /// Returns the decoding steps beyond the first of the operations of the last list, one number per flash page.
    pub fn more_steps(&self) -> &[u8] {
        &self.more_steps
    }

    /// Follows `ops`, emitted at `now`, and decides the decoding steps of each. Reads for the host read only the flash
    /// pages in `cover`. Returns true if a read that a request waits for failed.
    pub fn judge(&mut self, now: Nanos, ops: &[FlashOp], cover: Option<&Cover>) -> bool {
        self.more_steps.clear();
        self.failed.clear();
        self.stale = None;
        self.judge_more(now, ops, cover)
    }

    /// Like [`Self::judge`], for a list to which operations were added since.
    pub fn judge_more(&mut self, now: Nanos, ops: &[FlashOp], cover: Option<&Cover>) -> bool {
        let mut request_failed = false;
        let flash_pages = self.flash_pages as usize;
        for index in self.failed.len() / flash_pages..ops.len() {
            let (op, first) = (ops[index], index * flash_pages);
            match op.kind {
                FlashOpKind::Read { page } => {
                    let cover = cover.filter(|_| op.cause == Cause::Host);
                    let stale = self.read(now, page, op, cover);
                    if stale && op.cause == Cause::Host {
                        self.stale = Some(OpIndex(index as u32));
                    }
                }
                FlashOpKind::Copy { from, to } => {
                    self.read(now, from, op, None);
                    self.program(now, to);
                    // The controller has another copy of the map.
                    if op.cause != Cause::Mapping {
                        self.lose(first, from, to);
                    }
                }
                FlashOpKind::Program { page, .. } => {
                    self.program(now, page);
                    // A partial rewrite loses the rest of a page that cannot be read.
                    if let (Cause::Host, Some(OpIndex(read))) = (op.cause, op.after)
                        && let FlashOp { kind: FlashOpKind::Read { page: from }, cause: Cause::Host, .. } =
                            ops[read as usize]
                    {
                        self.lose(read as usize * flash_pages, from, page);
                    }
                }
                FlashOpKind::CopyRun { .. } => unreachable!("pages are judged one by one"),
                FlashOpKind::Erase { block } => self.erase(block),
                // Spare areas have a code of their own, strong enough for any age.
                FlashOpKind::ReadSpare { .. } => {}
            }
            self.more_steps.resize(first + flash_pages, 0);
            self.failed.resize(first + flash_pages, false);
            request_failed |= op.awaited && self.failed[first..].contains(&true);
        }
        request_failed
    }

    /// Marks as lost the flash pages that were to be moved from `from` to `to` but could not be read. [`Self::failed`]
    /// has a flag for each flash page, from `first` on.
    fn lose(&mut self, first: usize, from: PhysicalPage, to: PhysicalPage) {
        for part in 0..self.flash_pages {
            if self.failed[first + part as usize] {
                let [from, to] = [from, to].map(|page| self.flash_page(page, part));
                self.counts.lost_pages += u64::from(!self.lost.contains(&from));
                self.lost.insert(to);
            }
        }
    }

    /// Returns the number of a flash page of `page`.
    fn flash_page(&self, page: PhysicalPage, part: u32) -> u64 {
        u64::from(page.0) * u64::from(self.flash_pages) + u64::from(part)
    }

    /// Returns the operation of the last list that read data that should be rewritten.
    pub fn stale(&self) -> Option<OpIndex> {
        self.stale
    }

    /// Reads the flash pages of `page`, or those that `cover` names, and records the results. Returns true if the page
    /// should be rewritten.
    fn read(&mut self, now: Nanos, page: PhysicalPage, op: FlashOp, cover: Option<&Cover>) -> bool {
        let mut any_stale = false;
        for part in 0..self.flash_pages {
            let needed = cover.is_none_or(|cover| cover.needed.iter().any(|range| range.contains(&part)));
            let (step, failed, stale) =
                if needed { self.read_flash_page(now, page, part, op) } else { (0, false, false) };
            self.more_steps.push(step);
            self.failed.push(failed);
            any_stale |= stale;
        }
        any_stale
    }

    /// Returns the read's decoding steps beyond the first, whether it failed, and whether the page should be rewritten.
    fn read_flash_page(&mut self, now: Nanos, page: PhysicalPage, part: u32, op: FlashOp) -> (u8, bool, bool) {
        let mode = op.modes.read() as usize;
        let rate = (self.rate(now, page) * self.factors[mode]).min(0.5);
        let code = &mut self.codes[mode];
        let draw = if code.draws() { self.rng.unit() } else { 0.0 };
        let outcome = code.decode(rate, draw);
        let stale = outcome != DecodeOutcome::Failed && code.is_stale(rate, draw);
        let uncorrectable_rate = code.uncorrectable_bit_error_rate(rate);
        let counts = &mut self.counts;
        counts.rates += rate;
        counts.worst_rate = counts.worst_rate.max(rate);
        counts.uncorrectable_rates += uncorrectable_rate;
        let (step, failed) = match outcome {
            DecodeOutcome::Decoded(step) => {
                counts.decoded[step as usize] += 1;
                (step, false)
            }
            DecodeOutcome::Failed => {
                counts.failed[op.cause as usize] += 1;
                (code.steps() as u8 - 1, true)
            }
        };
        let block = &mut self.blocks[self.geometry.block_of(page).0 as usize];
        block.reads = block.reads.saturating_add(self.sensings[mode][step as usize]);
        if !self.lost.is_empty() && self.lost.contains(&self.flash_page(page, part)) {
            self.counts.reads_of_lost_pages += 1;
            return (step, true, false);
        }
        (step, failed, stale)
    }

    /// Returns the bit-error rate of `page` at `now`.
    fn rate(&self, now: Nanos, page: PhysicalPage) -> f64 {
        let (index, offset) = self.geometry.split_page(page);
        let block = &self.blocks[index.0 as usize];
        let age = match offset >= block.old_pages {
            true => now.saturating_sub(block.programmed),
            false => Nanos((now - self.started).0.saturating_add(self.retention_at_start.0)),
        };
        let pages = f64::from(self.geometry.pages_per_block()) * f64::from(self.flash_pages);
        let reads = f64::from(block.reads) / pages;
        self.raw_errors.rate(block.erases, age, reads)
    }

    fn program(&mut self, now: Nanos, page: PhysicalPage) {
        let block = &mut self.blocks[self.geometry.block_of(page).0 as usize];
        block.programmed = block.programmed.min(now);
        // A power failure may have undone the program that lost data.
        if !self.lost.is_empty() {
            for part in 0..self.flash_pages {
                self.lost.remove(&self.flash_page(page, part));
            }
        }
    }

    fn erase(&mut self, index: BlockIndex) {
        let block = &mut self.blocks[index.0 as usize];
        *block = Block::erased(block.erases + 1);
        if !self.lost.is_empty() {
            let first = self.flash_page(self.geometry.first_page(index), 0);
            let end = first + u64::from(self.geometry.pages_per_block()) * u64::from(self.flash_pages);
            let lost: Vec<u64> = self.lost.range(first..end).copied().collect();
            lost.iter().for_each(|page| {
                self.lost.remove(page);
            });
        }
    }

    /// Returns the bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.blocks) + self.codes.iter().map(Code::memory_bytes).sum::<usize>()
    }
}
