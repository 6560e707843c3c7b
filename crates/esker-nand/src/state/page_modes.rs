//! The write modes of all pages, and the policy that chooses them.

use std::fmt;

use dyn_clone::DynClone;
use esker_core::PhysicalPage;

use super::mode::{OpModes, WRITE_MODES, WriteMode};
use super::op::{CAUSES, Cause, OpIndex};

/// Decides in which mode data are programmed. Pages are identified by their owner, as translation layers write it into
/// spare areas: one number per logical page.
pub trait ModePolicy: DynClone + fmt::Debug + Send {
    /// Returns the mode of map pages, and of the data at the start.
    fn usual(&self) -> WriteMode;

    /// Returns the modes that the policy uses.
    fn modes(&self) -> &'static [WriteMode];

    /// Records that the host reads `page` from flash.
    fn record_read(&mut self, page: u32);

    /// Records that the host writes `page` to flash.
    fn record_write(&mut self, page: u32);

    /// Returns the mode in which the data of `page` are programmed, for the host or as a copy.
    fn choose(&self, page: u32) -> WriteMode;

    /// Returns the mode in which `page`, which the host is reading, should be programmed again, or `None` if it should
    /// stay in `mode`.
    fn re_encode(&self, page: u32, mode: WriteMode) -> Option<WriteMode>;

    /// Drops everything that a drive would keep in the controller's memory, as at a power failure.
    fn forget(&mut self);

    /// Returns the number of bits of controller memory that the policy would take in a drive, without the tags of
    /// pages.
    fn memory_bits(&self) -> u64;
}

dyn_clone::clone_trait_object!(ModePolicy);

/// Page operations by mode and cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeCounts {
    /// Page reads, without spare areas.
    pub reads: [[u64; CAUSES]; WRITE_MODES],
    /// Page programs.
    pub programs: [[u64; CAUSES]; WRITE_MODES],
}

/// What the host does to the pages that it accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HostAccess {
    /// Nothing: operations are not the host's, or are not to be recorded.
    #[default]
    None,
    /// It reads them.
    Read,
    /// It writes them. Reads are only those of read-modify-write.
    Write,
}

/// The tag of a map page, whose owner is not a host page. The lower bits are its mode.
const MAP: u8 = 1 << 7;

/// The modes of all pages, and the policy that chooses them.
#[derive(Clone, Debug)]
pub(super) struct PageModes {
    pub(super) policy: Box<dyn ModePolicy>,
    /// For each page, the mode in which it was last programmed, with [`MAP`].
    tags: Vec<u8>,
    pub(super) access: HostAccess,
    /// The last host read that should be followed by a program in another mode.
    pub(super) wish: Option<(OpIndex, WriteMode)>,
    pub(super) counts: ModeCounts,
}

impl PageModes {
    pub(super) fn new(policy: Box<dyn ModePolicy>, pages: u32) -> Self {
        let tags = vec![policy.usual() as u8; pages as usize];
        Self { policy, tags, access: HostAccess::None, wish: None, counts: ModeCounts::default() }
    }

    pub(super) fn mode_of(&self, page: PhysicalPage) -> WriteMode {
        Self::mode(self.tags[page.0 as usize])
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.tags.len()
    }

    fn mode(tag: u8) -> WriteMode {
        WriteMode::ALL[usize::from(tag & 3)]
    }

    pub(super) fn tags_of(&self, first: u32, pages: u32) -> &[u8] {
        &self.tags[first as usize..(first + pages) as usize]
    }
    pub(super) fn restore_tags(&mut self, first: u32, tags: &[u8]) {
        self.tags[first as usize..first as usize + tags.len()].copy_from_slice(tags);
    }
    pub(super) fn set_tags(&mut self, first: u32, pages: u32, map: bool) {
        let tag = self.policy.usual() as u8 | if map { MAP } else { 0 };
        self.tags[first as usize..(first + pages) as usize].fill(tag);
    }
    pub(super) fn format(&mut self) {
        self.tags.fill(self.policy.usual() as u8);
        self.forget();
    }
    pub(super) fn forget(&mut self) {
        self.policy.forget();
        self.wish = None;
    }

    /// Records a read of `page`, which has data of `owner`. Returns the mode.
    pub(super) fn read(&mut self, page: PhysicalPage, owner: u32, cause: Cause) -> WriteMode {
        let mode = Self::mode(self.tags[page.0 as usize]);
        self.counts.reads[mode as usize][cause as usize] += 1;
        if cause == Cause::Host && self.access == HostAccess::Read {
            self.policy.record_read(owner);
            self.wish = self.policy.re_encode(owner, mode).map(|mode| (OpIndex(0), mode));
        }
        mode
    }

    /// Sets the index, in its list, of the read that was recorded last.
    pub(super) fn emitted(&mut self, read: OpIndex) {
        self.wish = self.wish.map(|(_, mode)| (read, mode));
    }

    /// Records a program of `page` with data of `owner`. Returns the mode.
    pub(super) fn program(&mut self, page: PhysicalPage, owner: u32, cause: Cause) -> WriteMode {
        let mode = match (cause, self.wish) {
            (Cause::ReEncoding, Some((_, mode))) => mode,
            _ => {
                if cause == Cause::Host && self.access == HostAccess::Write {
                    self.policy.record_write(owner);
                }
                self.policy.choose(owner)
            }
        };
        self.tag(page, mode as u8, cause)
    }

    /// Records a program of `page` with a map page. Returns the mode.
    pub(super) fn program_map(&mut self, page: PhysicalPage) -> WriteMode {
        self.tag(page, self.policy.usual() as u8 | MAP, Cause::Mapping)
    }

    /// Records a copy of the data of `owner`. Returns both modes.
    pub(super) fn copy(&mut self, [from, to]: [PhysicalPage; 2], owner: u32, cause: Cause) -> OpModes {
        let tag = self.tags[from.0 as usize];
        self.counts.reads[usize::from(tag & 3)][cause as usize] += 1;
        let new = if tag & MAP == 0 { self.policy.choose(owner) as u8 } else { tag };
        OpModes::new(Self::mode(tag), self.tag(to, new, cause))
    }

    fn tag(&mut self, page: PhysicalPage, tag: u8, cause: Cause) -> WriteMode {
        self.tags[page.0 as usize] = tag;
        self.counts.programs[usize::from(tag & 3)][cause as usize] += 1;
        Self::mode(tag)
    }

    /// Undoes the program of `page`. Counts may be lower than the number of programs, since they are reset when
    /// measuring begins.
    pub(super) fn undo_program(&mut self, page: PhysicalPage, cause: Cause) {
        let tag = self.tags[page.0 as usize];
        let count = &mut self.counts.programs[usize::from(tag & 3)][cause as usize];
        *count = count.saturating_sub(1);
    }
}
