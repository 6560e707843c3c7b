//! Reads checkpoints and the journal of a volume.

use std::collections::BTreeMap;

use esker_tier::{Record, RecordNumber};

use super::error::{MapDamage, VolumeError};
use super::superblocks::Keeper;
use crate::backend::OpenDevice;
use crate::format::{BLOCK, Batch, Damage, Header, Identity, JournalPlace, Kind, Piece, PieceWriter, SealedBy};
use crate::journal::disk::Ring;

/// Reads structures from the devices that keep the journal: what is damaged on one is read from the next.
pub(super) struct MapReader<'a> {
    pub(super) devices: &'a mut [Box<dyn OpenDevice>],
    pub(super) keepers: &'a [Keeper],
    pub(super) volume: Identity,
    /// Whether something was damaged on a device, and could be read from another one.
    pub(super) is_damaged: bool,
}

/// A checkpoint that may be whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) number: u64,
    pub(super) after: JournalPlace,
}

impl MapReader<'_> {
    /// Fills `bytes` from byte `address` of a device.
    fn read(&mut self, keeper: usize, address: u64, bytes: &mut [u8]) -> Result<(), VolumeError> {
        let device = &mut self.devices[self.keepers[keeper].given];
        device.blocking().read(address, bytes).map_err(|error| VolumeError::io(&**device, error))
    }

    /// Returns the checkpoints that have a first piece on some device, the newest first.
    pub(super) fn candidates(&mut self) -> Vec<Candidate> {
        let mut found = BTreeMap::new();
        let mut bytes = vec![0; PieceWriter::BYTES_MAX];
        for area in 0..2 {
            for keeper in 0..self.keepers.len() {
                if let Ok(piece) = self.piece_of(keeper, area, 0, &mut bytes) {
                    let after = piece.after;
                    found.insert(piece.header.number, Candidate { number: piece.header.number, after });
                }
            }
        }
        found.into_values().rev().collect()
    }

    /// Reads the piece at byte `at` of a checkpoint area of one device.
    fn piece_of<'b>(&mut self, keeper: usize, area: u64, at: u64, bytes: &'b mut [u8]) -> Result<Piece<'b>, Damage> {
        let layout = self.keepers[keeper].layout;
        let left = layout.checkpoint.checked_sub(at).filter(|&left| left >= BLOCK as u64).ok_or(Damage::Absent)?;
        let address = layout.checkpoint_start(area) + at;
        let length = (left as usize).min(bytes.len());
        self.read(keeper, address, &mut bytes[..length]).map_err(|_| Damage::Absent)?;
        let piece = Piece::read(SealedBy { volume: self.volume, address }, &bytes[..length])?;
        let is_sound = piece.header.number % 2 == area && piece.after.is_sound(layout.journal);
        let is_sound = is_sound && piece.records().count() == piece.len();
        if is_sound { Ok(piece) } else { Err(Damage::Content) }
    }

    /// Reads the whole journal of each device into memory.
    fn journals(&mut self) -> Vec<Option<Vec<u8>>> {
        let keepers = self.keepers.len();
        let mut read = |keeper: usize| {
            let layout = self.keepers[keeper].layout;
            let mut bytes = vec![0; layout.journal as usize];
            self.read(keeper, layout.journal_start(), &mut bytes).ok().map(|()| bytes)
        };
        (0..keepers).map(&mut read).collect()
    }

    /// Reads the journal behind a checkpoint.
    ///
    /// # Errors
    /// If a batch is damaged on all devices.
    pub(super) fn journal(&mut self, after: JournalPlace) -> Result<JournalFound, MapDamage> {
        let copies = self.journals();
        let layout = self.keepers[0].layout;
        let length = layout.journal;
        let mut found = JournalFound {
            ring: Ring::new(length, after, after.batch, after.offset),
            through: after.through,
            records: Vec::new(),
            to_repair: Vec::new(),
        };
        let by = |offset: u64| SealedBy { volume: self.volume, address: layout.journal_start() + offset };
        let (mut next, mut at) = (after.batch, after.offset);
        loop {
            let batch_at = |offset: u64, copy: &'_ Option<Vec<u8>>| -> Option<u64> {
                let bytes = copy.as_ref()?.get(offset as usize..).filter(|bytes| bytes.len() >= BLOCK)?;
                let batch = Batch::read(by(offset), bytes).ok()?;
                (batch.header.number == next && batch.records().count() as u64 == batch.len())
                    .then_some(batch.header.length.into())
            };
            // A batch that does not fit before the end begins at the start.
            let places = [at, 0];
            let place = places.into_iter().find(|&offset| copies.iter().any(|copy| batch_at(offset, copy).is_some()));
            let Some(offset) = place else { break };
            let good = copies.iter().position(|copy| batch_at(offset, copy).is_some()).expect("it was found");
            let bytes = copies[good].as_ref().expect("it was read");
            let batch = Batch::read(by(offset), &bytes[offset as usize..]).expect("it was checked");
            let length = u64::from(batch.header.length);
            found.take(&batch, after.through);
            let content = &bytes[offset as usize..][..length as usize];
            for (keeper, copy) in copies.iter().enumerate() {
                let same = copy.as_ref().is_some_and(|copy| &copy[offset as usize..][..length as usize] == content);
                if !same {
                    found.to_repair.push(Repair { keeper, offset, bytes: content.to_vec() });
                }
            }
            (next, at) = (next + 1, offset + length);
        }
        if let Some(later) = later_batch(&copies, next, by) {
            return Err(MapDamage::Batch { batch: next, later });
        }
        self.is_damaged |= !found.to_repair.is_empty() || copies.iter().any(Option::is_none);
        found.ring = Ring::new(length, after, next, at);
        Ok(found)
    }
}

impl MapReader<'_> {
    /// Finds batches from number `next` on, though the journal ends before. `others` keep no journal, but may have been
    /// about to when the power failed. Once they do, nothing may be there that the journal could be thought to go on
    /// with.
    pub(super) fn leftovers(&mut self, others: &[Keeper], next: u64) -> Leftovers {
        let mut found = Leftovers::default();
        for keeper in others {
            match self.leftovers_of(keeper, next) {
                Some(blocks) => found.blocks.extend(blocks.into_iter().map(|address| (keeper.given, address))),
                None => found.stay_on.push(keeper.given),
            }
        }
        found
    }

    /// Returns the addresses of the blocks with leftovers on one device; `None` if too much of it cannot be read.
    fn leftovers_of(&mut self, &Keeper { given, layout }: &Keeper, next: u64) -> Option<Vec<u64>> {
        let mut bytes = vec![0; layout.journal as usize];
        let device = self.devices[given].blocking();
        let is_readable = device.read(layout.journal_start(), &mut bytes).is_ok();
        let (mut found, mut unreadable) = (Vec::new(), 0);
        for (block, header) in bytes.chunks_mut(BLOCK).enumerate() {
            let address = layout.journal_start() + (block * BLOCK) as u64;
            // What a block that cannot be read holds is not known: it is erased as well.
            let is_read = is_readable || device.read(address, header).is_ok();
            unreadable += usize::from(!is_read);
            if unreadable > UNREADABLE_MAX {
                return None;
            }
            if !is_read || Header::peek(Kind::Batch, header).is_ok_and(|header| header.number >= next) {
                found.push(address);
            }
        }
        Some(found)
    }
}

/// Blocks that may be unreadable in the place for a journal. A drive with more of them takes seconds for each, and is
/// not to keep the journal anyway.
const UNREADABLE_MAX: usize = 4;

/// Batches on devices that keep no journal, and that are no part of it. Devices have their place in the list that was
/// given.
#[derive(Default)]
pub(super) struct Leftovers {
    /// Blocks that are to be erased: their device, and their address.
    pub(super) blocks: Vec<(usize, u64)>,
    /// Devices on which some stay, so that they must not keep the journal.
    pub(super) stay_on: Vec<usize>,
}

/// Returns the number of a batch behind `next`, if one is there.
fn later_batch(copies: &[Option<Vec<u8>>], next: u64, by: impl Fn(u64) -> SealedBy) -> Option<u64> {
    let blocks =
        copies.iter().flatten().flat_map(|copy| copy.chunks(BLOCK).enumerate().map(move |block| (copy, block)));
    let mut later = blocks.filter_map(|(copy, (index, block))| {
        let header = Header::peek(Kind::Batch, block).ok().filter(|header| header.number > next)?;
        let offset = index * BLOCK;
        Batch::read(by(offset as u64), &copy[offset..]).ok().map(|_| header.number)
    });
    later.next()
}

/// The journal behind a checkpoint.
pub(super) struct JournalFound {
    pub(super) ring: Ring,
    /// The last record.
    pub(super) through: RecordNumber,
    /// The records, with their layers.
    pub(super) records: Vec<(u8, Record)>,
    /// Batches that some device lacks.
    pub(super) to_repair: Vec<Repair>,
}

/// A batch that a device lacks.
pub(super) struct Repair {
    /// The device, among those that keep the journal.
    pub(super) keeper: usize,
    /// Where it belongs, in bytes from the start of the journal.
    pub(super) offset: u64,
    pub(super) bytes: Vec<u8>,
}

impl JournalFound {
    /// Adds the records of `batch`, except those up to `through`.
    fn take(&mut self, batch: &Batch<'_>, through: RecordNumber) {
        for (number, layer, record) in batch.records().filter(|(number, ..)| *number > through) {
            self.records.push((layer, record));
            self.through = number;
        }
    }
}

/// The records of a checkpoint, read piece by piece.
pub(super) struct CheckpointRecords<'a, 'b> {
    reader: &'a mut MapReader<'b>,
    candidate: Candidate,
    at: u64,
    index: u32,
    /// Generation of the last piece. It does not fall within a checkpoint; where it does, a crash has cut off two
    /// attempts at a checkpoint of one number.
    generation: u64,
    is_last: bool,
    bytes: Vec<u8>,
    /// Records of the last piece that was read, backwards.
    records: Vec<(u8, Record)>,
    /// Why the checkpoint is not whole.
    pub(super) damage: Option<Damage>,
    wanted: Copies,
}

/// The devices that have to have a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copies {
    /// All that keep the journal. A crash may have left a checkpoint on one of them: it does not count then, because
    /// the others still need the journal before it.
    All,
    /// Any: the others are damaged.
    Any,
}

impl<'a, 'b> CheckpointRecords<'a, 'b> {
    pub(super) fn new(reader: &'a mut MapReader<'b>, candidate: Candidate, wanted: Copies) -> Self {
        let (bytes, records) = (vec![0; PieceWriter::BYTES_MAX], Vec::new());
        let (at, index, generation) = (0, 0, 0);
        Self { reader, candidate, at, index, generation, is_last: false, bytes, records, damage: None, wanted }
    }

    /// Reads the next piece from the first device that has it. If all have to have it, looks at all.
    fn read_piece(&mut self) -> Result<(), Damage> {
        let Candidate { number, after } = self.candidate;
        let mut found = Err(Damage::Absent);
        for keeper in 0..self.reader.keepers.len() {
            let piece = self.reader.piece_of(keeper, number % 2, self.at, &mut self.bytes);
            let is_it = |piece: &Piece<'_>| {
                let is_next = (piece.header.number, piece.after, piece.index) == (number, after, self.index);
                is_next && piece.header.generation >= self.generation
            };
            match piece.and_then(|piece| if is_it(&piece) { Ok(piece) } else { Err(Damage::Absent) }) {
                Ok(_) if found.is_ok() => {}
                Ok(piece) => {
                    self.records.extend(piece.records());
                    self.records.reverse();
                    self.is_last = piece.is_last;
                    found = Ok((u64::from(piece.header.length), piece.header.generation));
                    if self.wanted == Copies::Any {
                        break;
                    }
                }
                Err(error) if self.wanted == Copies::All => return Err(error),
                Err(error) => {
                    self.reader.is_damaged = true;
                    found = found.or(Err(error));
                }
            }
        }
        let (length, generation) = found?;
        self.at += length;
        self.generation = generation;
        self.index += 1;
        Ok(())
    }
}

impl Iterator for CheckpointRecords<'_, '_> {
    type Item = (u8, Record);
    fn next(&mut self) -> Option<Self::Item> {
        while self.records.is_empty() {
            if self.is_last || self.damage.is_some() {
                return None;
            }
            self.damage = self.read_piece().err();
        }
        self.records.pop()
    }
}
