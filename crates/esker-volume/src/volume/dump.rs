//! What lies on the devices of a volume, in words: superblocks, checkpoints and journal, whatever state they are in.

use std::io::{self, Write};

use esker_cluster::ClusterRecord;
use esker_core::Bytes;
use esker_tier::{FlashCacheRecord, PlacementRecord, Record};

use crate::backend::OpenDevice;
use crate::format::{
    BLOCK, Batch, Header, Identity, Kind, Layout, Piece, PieceWriter, SUPERBLOCK, SealedBy, Superblock, SuperblockError,
};

/// A part of what a device keeps beside data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpPart {
    /// Both superblocks.
    Superblocks,
    /// Both checkpoints, with their records.
    Map,
    /// The batches of the journal, with their records.
    Journal,
}

/// Writes what lies on `devices`, of which each is read for itself.
///
/// # Errors
/// If a device cannot be read, or `out` not written.
pub fn dump(devices: &mut [Box<dyn OpenDevice>], parts: &[DumpPart], out: &mut dyn Write) -> io::Result<()> {
    for device in devices {
        Dump { name: device.name().to_string(), device: &mut **device, out }.write(parts)?;
    }
    Ok(())
}

struct Dump<'a> {
    name: String,
    device: &'a mut dyn OpenDevice,
    out: &'a mut dyn Write,
}

impl Dump<'_> {
    fn write(&mut self, parts: &[DumpPart]) -> io::Result<()> {
        let capacity = self.device.blocking().capacity().0;
        let first = self.superblock(0)?;
        let end = (capacity - capacity % BLOCK as u64).saturating_sub(SUPERBLOCK as u64);
        let last = first.as_ref().map_or(end, |found| found.layout.superblocks()[1]);
        let found = [first, self.superblock(last)?];
        if parts.contains(&DumpPart::Superblocks) {
            for (which, at, found) in [("first", 0, &found[0]), ("last", last, &found[1])] {
                writeln!(self.out, "{}: {which} superblock at byte {at}", self.name)?;
                match found {
                    Ok(found) => describe_superblock(found, self.out)?,
                    Err(error) => writeln!(self.out, "  {error}")?,
                }
            }
        }
        let Some(best) = found.into_iter().flatten().max_by_key(|found| found.generation) else { return Ok(()) };
        if !best.layout.has_journal() {
            return writeln!(self.out, "{}: no room for checkpoints and journal", self.name);
        }
        if parts.contains(&DumpPart::Map) {
            (0..2).try_for_each(|area| self.checkpoint(best.volume, &best.layout, area))?;
        }
        if parts.contains(&DumpPart::Journal) {
            self.journal(best.volume, &best.layout)?;
        }
        Ok(())
    }

    fn read(&mut self, address: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.device.blocking().read(address, &mut bytes)?;
        Ok(bytes)
    }

    fn superblock(&mut self, address: u64) -> io::Result<Result<Superblock, SuperblockError>> {
        if address + SUPERBLOCK as u64 > self.device.blocking().capacity().0 {
            return Ok(Err(crate::format::Damage::Absent.into()));
        }
        Ok(Superblock::decode(&self.read(address, SUPERBLOCK)?, address))
    }

    fn checkpoint(&mut self, volume: Identity, layout: &Layout, area: u64) -> io::Result<()> {
        let (start, mut at, mut index) = (layout.checkpoint_start(area), 0, 0);
        writeln!(self.out, "{}: checkpoint area {area} at byte {start}, {}", self.name, Bytes(layout.checkpoint))?;
        while at + (BLOCK as u64) <= layout.checkpoint {
            let length = (layout.checkpoint - at).min(PieceWriter::BYTES_MAX as u64) as usize;
            let bytes = self.read(start + at, length)?;
            let piece = match Piece::read(SealedBy { volume, address: start + at }, &bytes) {
                Ok(piece) => piece,
                Err(error) => return writeln!(self.out, "  piece {index} at byte {}: {error}", start + at),
            };
            let last = if piece.is_last { ", the last one" } else { "" };
            writeln!(
                self.out,
                "  piece {} of checkpoint {} at byte {}: generation {}, {} records; includes record {}; the journal \
                 goes on with batch {}{last}",
                piece.index,
                piece.header.number,
                start + at,
                piece.header.generation,
                piece.len(),
                piece.after.through.0,
                piece.after.batch,
            )?;
            for (layer, record) in piece.records() {
                writeln!(self.out, "    {}", describe(layer, record))?;
            }
            if piece.is_last {
                return Ok(());
            }
            (at, index) = (at + u64::from(piece.header.length), index + 1);
        }
        Ok(())
    }

    fn journal(&mut self, volume: Identity, layout: &Layout) -> io::Result<()> {
        let start = layout.journal_start();
        writeln!(self.out, "{}: journal at byte {start}, {}", self.name, Bytes(layout.journal))?;
        let bytes = self.read(start, layout.journal as usize)?;
        let mut at = 0;
        while at + BLOCK <= bytes.len() {
            let address = start + at as u64;
            let mut length = BLOCK;
            match Batch::read(SealedBy { volume, address }, &bytes[at..]) {
                Ok(batch) => {
                    length = batch.header.length as usize;
                    writeln!(
                        self.out,
                        "  batch {} at byte {address}: generation {}, {} records from {} on",
                        batch.header.number,
                        batch.header.generation,
                        batch.len(),
                        batch.first.0
                    )?;
                    for (number, layer, record) in batch.records() {
                        writeln!(self.out, "    {}: {}", number.0, describe(layer, record))?;
                    }
                }
                // Bytes of earlier batches lie between the later ones.
                Err(error) => {
                    if let Ok(header) = Header::peek(Kind::Batch, &bytes[at..]) {
                        writeln!(self.out, "  batch {} at byte {address}: {error}", header.number)?;
                    }
                }
            }
            at += length;
        }
        Ok(())
    }
}

fn describe_superblock(found: &Superblock, out: &mut dyn Write) -> io::Result<()> {
    let Superblock { volume, generation, index, layout, .. } = found;
    writeln!(out, "  volume {volume}, generation {generation}, device {index} of {}", found.members.len())?;
    writeln!(
        out,
        "  {} in all; data from byte {} on, {}; journal {}, checkpoint areas {} each",
        Bytes(layout.size),
        layout.data,
        Bytes(layout.data_length),
        Bytes(layout.journal),
        Bytes(layout.checkpoint)
    )?;
    for (index, member) in found.members.iter().enumerate() {
        let keeps = if member.keeps_journal { ", keeps the map" } else { "" };
        let opened = match member.opened {
            0 => String::new(),
            opened => format!(", has generation {opened} or a later one"),
        };
        let (id, data, state) = (member.id, member.data, member.state.words());
        writeln!(out, "  device {index}: {id}, {data} of data, {state}{keeps}{opened}")?;
    }
    writeln!(out, "  engine: {}", found.settings)
}

/// A record in words.
fn describe(layer: u8, record: Record) -> String {
    let layer = if layer == 0 { String::new() } else { format!("layer {layer}: ") };
    let what = if let Ok(record) = PlacementRecord::try_from(record) {
        describe_placement(record)
    } else if let Ok(record) = FlashCacheRecord::try_from(record) {
        match record {
            FlashCacheRecord::Cached { line, slot, dirty } => {
                format!("line {} is in slot {}, {}", line.0, slot.0, if dirty { "dirty" } else { "clean" })
            }
            FlashCacheRecord::Uncached { line } => format!("line {} has left the cache", line.0),
        }
    } else if let Ok(record) = ClusterRecord::try_from(record) {
        describe_cluster(record)
    } else {
        format!("{record:?}")
    };
    layer + &what
}

fn describe_placement(record: PlacementRecord) -> String {
    match record {
        PlacementRecord::Mapped { extent, place, blocks } => format!(
            "extent {} got extent {} of device {}; {} blocks from {} on were written",
            extent.0, place.extent.0, place.device.0, blocks.count, blocks.first
        ),
        PlacementRecord::Written { extent, blocks } => {
            format!("extent {}: {} blocks from {} on were written", extent.0, blocks.count, blocks.first)
        }
        PlacementRecord::Scattered { extent, first, blocks } => {
            let count: u32 = blocks.iter().map(|word| word.count_ones()).sum();
            format!("extent {}: {count} of the 96 blocks from {first} on were written", extent.0)
        }
        PlacementRecord::Moved { extent, place } => {
            format!("extent {} has moved to extent {} of device {}", extent.0, place.extent.0, place.device.0)
        }
        PlacementRecord::Freed { extent } => format!("extent {} has no place", extent.0),
    }
}

fn describe_cluster(record: ClusterRecord) -> String {
    let objects = |first: u32, count: u32| format!("{count} objects from {first} on");
    match record {
        ClusterRecord::Placed { replica, place } => {
            format!("{} is in slot {} of device {}", replica.slice, place.slot, place.server.0)
        }
        ClusterRecord::Begun { replica, place } => {
            format!("{} moves to slot {} of device {}", replica.slice, place.slot, place.server.0)
        }
        ClusterRecord::Turned { replica } => format!("{}: copy {} moves back", replica.slice, replica.replica),
        ClusterRecord::Moved { replica, first, count, written } => {
            let what = if written { "have moved" } else { "have moved, and read as zeroes" };
            format!("{}: {} {what}", replica.slice, objects(first, count))
        }
        ClusterRecord::Written { replica, first, count } => {
            format!("{}: {} were written", replica.slice, objects(first, count))
        }
        ClusterRecord::Discarded { replica, index } => format!("{}: object {index} reads as zeroes", replica.slice),
        ClusterRecord::Homeless { replica } => format!("{}: copy {} is nowhere", replica.slice, replica.replica),
        ClusterRecord::Missed { replica, first, count } => {
            format!("{}: copy {} lacks the newest of {}", replica.slice, replica.replica, objects(first, count))
        }
        ClusterRecord::Unsure { replica, first, count } => {
            format!("{}: copy {} may lack the newest of {}", replica.slice, replica.replica, objects(first, count))
        }
        ClusterRecord::Sure { replica, first, count } => {
            format!("{}: copy {} counts for {}", replica.slice, replica.replica, objects(first, count))
        }
        ClusterRecord::Dirty { slice } => format!("{slice} is dirty: its copies may differ"),
        ClusterRecord::Clean { slice } => format!("{slice} is clean: its copies are alike"),
        ClusterRecord::Resync => "opened: of dirty slices, the first copy counts".to_string(),
        ClusterRecord::Failed { server } => format!("device {} has failed", server.0),
        ClusterRecord::Worn { server, pages, erases } => {
            format!("device {}: {pages} pages were written, {erases} erases by the wear model", server.0)
        }
    }
}
