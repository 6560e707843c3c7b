//! Bit errors, and the code that corrects them.
//!
//! A layer of its own between the translation layer and the array: it follows the operations that were
//! emitted, keeps what the errors of a page depend on, block by block, and says of each read how many decoding
//! steps it takes. Translation layers know nothing of it, and time is that of pushing: what passes until the
//! die gets there changes no error rate.

mod code;
mod rate;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use esker_core::{Nanos, PhysicalPage, Rng};

use crate::array::STEPS_MAX;
use crate::state::{CAUSES, Cause, Cover, FlashOp, FlashOpKind, FlashState, OpIndex};
use crate::{BlockIndex, EccSettings, Geometry, ValueError};
use code::{Code, Outcome};
use rate::RawErrors;

pub use code::decoding;

/// What the errors in a block's pages depend on.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// When its first page was programmed, without those at the start; all count as programmed
    /// then. [`Nanos::NEVER`] before.
    programmed: Nanos,
    /// So many of its first pages were there at the start.
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

/// What was read since measuring began.
#[derive(Clone, Debug, Default)]
pub struct EccCounts {
    /// By the step that decoded them.
    pub decoded: [u64; STEPS_MAX],
    /// Reads that no step decoded, by [`Cause`].
    pub failed: [u64; CAUSES],
    /// Pages whose data were lost when they had to be moved or rewritten.
    pub lost_pages: u64,
    /// Reads of pages whose data had been lost before.
    pub reads_of_lost_pages: u64,
    /// Sum over all reads.
    pub rates: f64,
    /// The highest of them.
    pub worst_rate: f64,
    /// Sum over all reads of the uncorrectable bit-error rate that is to be expected.
    pub uncorrectable_rates: f64,
}

impl EccCounts {
    /// Reads that went through the decoder.
    pub fn reads(&self) -> u64 {
        self.decoded.iter().sum::<u64>() + self.failed.iter().sum::<u64>()
    }
}

/// Bit errors of one array.
#[derive(Debug)]
pub struct Ecc {
    geometry: Geometry,
    /// Flash pages of a page of `geometry`: each is decoded on its own.
    flash_pages: u32,
    raw_errors: RawErrors,
    code: Code,
    rng: Rng,
    /// The age of what is in flash at the start.
    retention_at_start: Nanos,
    started: Nanos,
    blocks: Vec<Block>,
    /// Flash pages with data that no step could decode when they were moved: the controller marks them.
    lost: BTreeSet<u64>,
    /// Sensings of a read that takes so many steps more than one.
    sensings: [u32; STEPS_MAX],
    counts: EccCounts,
    /// Per operation of the list that was judged last, and per flash page, the steps that it takes beyond the first.
    more_steps: Vec<u8>,
    /// Whether no step decodes it, in the same order.
    failed: Vec<bool>,
    /// The last operation of that list that read data for the host which should be written again.
    stale: Option<OpIndex>,
}

impl Ecc {
    /// `geometry` is what the translation layer sees, and `flash` has the pages that are read one by one.
    pub fn new(settings: &EccSettings, geometry: &Geometry, flash: &Geometry, seed: u64) -> Result<Self, ValueError> {
        let code = Code::new(settings, flash)?;
        let mut sensings = [0; STEPS_MAX];
        let mut sum = 0;
        for (step, sensed) in settings.steps.iter().zip(&mut sensings) {
            sum += step.sensings;
            *sensed = sum;
        }
        Ok(Self {
            geometry: *geometry,
            flash_pages: (geometry.page_size().0 / flash.page_size().0) as u32,
            raw_errors: RawErrors::new(&settings.raw_errors)?,
            code,
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

    /// Takes over what `flash` holds at `now`, as old as the settings say.
    pub fn start(&mut self, now: Nanos, flash: &FlashState) {
        self.started = now;
        self.lost.clear();
        for (index, block) in self.blocks.iter_mut().enumerate() {
            let index = BlockIndex(index as u32);
            let old_pages = flash.written_in(index);
            *block = Block { old_pages, ..Block::erased(flash.erases_of(index)) };
        }
    }

    /// Begins to count anew.
    pub fn reset_counts(&mut self) {
        self.counts = EccCounts::default();
    }

    /// What was read since measuring began.
    pub fn counts(&self) -> &EccCounts {
        &self.counts
    }

    /// How many decoding steps the code has.
    pub fn steps(&self) -> usize {
        self.code.steps()
    }

    /// Bits of data that the codewords of a page protect.
    pub fn data_bits_of_page(&self) -> u64 {
        self.code.data_bits_of_page()
    }

    /// Steps beyond the first of each operation of the list that was judged last, one
    /// number for each of its flash pages.
    pub fn more_steps(&self) -> &[u8] {
        &self.more_steps
    }

    /// Follows `ops`, which were emitted at `now`, and works out the steps that each of them takes. Reads for the host
    /// bring what `cover` says. Says whether one failed that a request waits for.
    pub fn judge(&mut self, now: Nanos, ops: &[FlashOp], cover: Option<&Cover>) -> bool {
        self.more_steps.clear();
        self.failed.clear();
        self.stale = None;
        self.judge_more(now, ops, cover)
    }

    /// The same for a list to which some were added since.
    pub fn judge_more(&mut self, now: Nanos, ops: &[FlashOp], cover: Option<&Cover>) -> bool {
        let mut request_failed = false;
        let flash_pages = self.flash_pages as usize;
        for index in self.failed.len() / flash_pages..ops.len() {
            let (op, first) = (ops[index], index * flash_pages);
            match op.kind {
                FlashOpKind::Read { page } => {
                    let stale = self.read(now, page, op.cause, cover.filter(|_| op.cause == Cause::Host));
                    if stale && op.cause == Cause::Host {
                        self.stale = Some(OpIndex(index as u32));
                    }
                }
                FlashOpKind::Copy { from, to } => {
                    self.read(now, from, op.cause, None);
                    self.program(now, to);
                    // Of the map the controller has another copy.
                    if op.cause != Cause::Mapping {
                        self.lose(first, from, to);
                    }
                }
                FlashOpKind::Program { page, .. } => {
                    self.program(now, page);
                    // What stays of a page that cannot be read is lost with the rewrite of the rest.
                    if let (Cause::Host, Some(OpIndex(read))) = (op.cause, op.after)
                        && let FlashOp { kind: FlashOpKind::Read { page: from }, cause: Cause::Host, .. } =
                            ops[read as usize]
                    {
                        self.lose(read as usize * flash_pages, from, page);
                    }
                }
                FlashOpKind::CopyRun { .. } => unreachable!("pages are judged one by one"),
                FlashOpKind::Erase { block } => self.erase(block),
                // Spare areas have a code of their own, with enough parity for any age.
                FlashOpKind::ReadSpare { .. } => {}
            }
            self.more_steps.resize(first + flash_pages, 0);
            self.failed.resize(first + flash_pages, false);
            request_failed |= op.awaited && self.failed[first..].contains(&true);
        }
        request_failed
    }

    /// Flash pages of `from` that could not be read, as [`Self::failed`] says from
    /// `first` on, were to be moved to `to`.
    fn lose(&mut self, first: usize, from: PhysicalPage, to: PhysicalPage) {
        for part in 0..self.flash_pages {
            if self.failed[first + part as usize] {
                let [from, to] = [from, to].map(|page| self.flash_page(page, part));
                self.counts.lost_pages += u64::from(!self.lost.contains(&from));
                self.lost.insert(to);
            }
        }
    }

    /// The number of a flash page of `page`.
    fn flash_page(&self, page: PhysicalPage, part: u32) -> u64 {
        u64::from(page.0) * u64::from(self.flash_pages) + u64::from(part)
    }

    /// The operation of the list that was judged last which read data that should be written again.
    pub fn stale(&self) -> Option<OpIndex> {
        self.stale
    }

    /// Reads the flash pages of `page`, or those that `cover` names, and notes how that went. Says whether
    /// the page should be written again.
    fn read(&mut self, now: Nanos, page: PhysicalPage, cause: Cause, cover: Option<&Cover>) -> bool {
        let mut any_stale = false;
        for part in 0..self.flash_pages {
            let needed = cover.is_none_or(|cover| cover.needed.iter().any(|range| range.contains(&part)));
            let (step, failed, stale) =
                if needed { self.read_flash_page(now, page, part, cause) } else { (0, false, false) };
            self.more_steps.push(step);
            self.failed.push(failed);
            any_stale |= stale;
        }
        any_stale
    }

    /// The steps that a read takes beyond the first, whether it failed, and whether its page should be written again.
    fn read_flash_page(&mut self, now: Nanos, page: PhysicalPage, part: u32, cause: Cause) -> (u8, bool, bool) {
        let rate = self.rate(now, page);
        let draw = if self.code.draws() { self.rng.unit() } else { 0.0 };
        let outcome = self.code.decode(rate, draw);
        let stale = outcome != Outcome::Failed && self.code.is_stale(rate, draw);
        let uncorrectable_rate = self.code.uncorrectable_bit_error_rate(rate);
        let counts = &mut self.counts;
        counts.rates += rate;
        counts.worst_rate = counts.worst_rate.max(rate);
        counts.uncorrectable_rates += uncorrectable_rate;
        let (step, failed) = match outcome {
            Outcome::Decoded(step) => {
                counts.decoded[step as usize] += 1;
                (step, false)
            }
            Outcome::Failed => {
                counts.failed[cause as usize] += 1;
                (self.code.steps() as u8 - 1, true)
            }
        };
        let block = &mut self.blocks[self.geometry.block_of(page).0 as usize];
        block.reads = block.reads.saturating_add(self.sensings[step as usize]);
        if !self.lost.is_empty() && self.lost.contains(&self.flash_page(page, part)) {
            self.counts.reads_of_lost_pages += 1;
            return (step, true, false);
        }
        (step, failed, stale)
    }

    /// Share of wrong bits of `page` at `now`.
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
        // A program that lost data may have been undone by a power failure.
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

    /// Bytes of memory that this takes.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.blocks) + self.code.memory_bytes()
    }
}
