//! Devices that are about to join a volume.

use std::io::{self, IoSlice};

use esker_core::Bytes;

use super::create::{STRUCTURES_PART, WhatIsThere, refuse_what_stays};
use super::error::VolumeError;
use crate::backend::{BlockingBackend, OpenDevice};
use crate::format::{Identity, Layout, Member, MemberState, PieceWriter, Superblock};

/// What a volume asks of a device that is to join it. [`prepare`](Self::prepare) takes as long as the device takes: it
/// may run beside the volume, in another thread.
#[derive(Clone, Debug)]
pub struct JoinPlan {
    /// A superblock of the volume, whose layout has the journal and the areas for checkpoints.
    pub(super) volume: Superblock,
    /// The engine uses a multiple of this.
    pub(super) unit: Bytes,
    /// Whether the device may keep the map.
    pub(super) has_map: bool,
}

/// A device that can join the volume for which it was prepared.
pub struct JoiningDevice {
    pub(super) device: Box<dyn OpenDevice>,
    pub(super) superblock: Superblock,
}

/// What a server says of this volume, so that the volume finds out if it is to have itself as a device.
pub fn served_as(volume: Identity) -> String {
    format!("esker volume {volume}")
}

impl JoinPlan {
    /// Leaves no room for the map on the device, so that it never keeps it: its changes do not wake it.
    pub fn without_map(self) -> Self {
        Self { has_map: false, ..self }
    }

    /// Writes superblocks on `device`, which gets this identity. They do not count before the other devices of the
    /// volume name it.
    ///
    /// # Errors
    /// If the device is an export of the volume itself, holds something that stays, or is too small: then nothing was
    /// written. If it cannot be written.
    pub fn prepare(
        self,
        mut device: Box<dyn OpenDevice>,
        identity: Identity,
        what_is_there: WhatIsThere,
    ) -> Result<JoiningDevice, VolumeError> {
        if device.description() == Some(&served_as(self.volume.volume)) {
            return Err(VolumeError::OwnExport { device: device.name().to_string() });
        }
        refuse_what_stays(&mut *device, what_is_there)?;
        let layout = self.layout(device.blocking().capacity());
        let layout = layout.map_err(|error| VolumeError::Layout { device: device.name().to_string(), error })?;
        let member = Member {
            id: identity,
            data: Bytes(layout.data_length),
            state: MemberState::InUse,
            keeps_journal: false,
            opened: 0,
        };
        let mut superblock = Superblock {
            generation: Superblock::JOINS,
            index: self.volume.members.len() as u16,
            layout,
            ..self.volume
        };
        superblock.members.push(member);
        write(device.blocking(), &superblock).map_err(|error| VolumeError::io(&*device, error))?;
        Ok(JoiningDevice { device, superblock })
    }

    /// Leaves room for journal and checkpoints where it is a small part of the device, which may keep them.
    fn layout(&self, size: Bytes) -> Result<Layout, crate::format::LayoutError> {
        let Layout { journal, checkpoint, .. } = self.volume.layout;
        match Layout::plan(size, journal, checkpoint, self.unit.0) {
            Ok(layout) if self.has_map && layout.overhead() <= layout.size / STRUCTURES_PART => Ok(layout),
            _ => Layout::plan(size, 0, 0, self.unit.0),
        }
    }
}

/// Erases what might be taken for a journal or a checkpoint, and then writes the superblocks.
fn write(device: &mut dyn BlockingBackend, superblock: &Superblock) -> io::Result<()> {
    let layout = superblock.layout;
    if layout.has_journal() {
        device.write_zeroes(layout.journal_start(), layout.journal, false)?;
        for area in 0..2 {
            let length = layout.checkpoint.min(PieceWriter::BYTES_MAX as u64);
            device.write_zeroes(layout.checkpoint_start(area), length, false)?;
        }
    }
    device.flush()?;
    for address in layout.superblocks().into_iter().rev() {
        device.write(address, &mut [IoSlice::new(&superblock.encode(address))], true)?;
    }
    Ok(())
}
