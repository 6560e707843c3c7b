//! What a server says of itself.

use esker_core::DeviceState;
use esker_nbd::Command;
use esker_volume::{DrainProgress, Presence, SystemClock, Volume};
use serde::{Deserialize, Serialize};

use crate::background::BackgroundStatus;

/// What a server says of the clients of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServingStatus {
    /// The name of the export.
    pub export: String,
    /// Where clients connect.
    pub addresses: Vec<String>,
    /// Its clients, and those that have opened no export yet.
    pub connections: Vec<ConnectionStatus>,
    /// Requests to it since the server began.
    pub requests: RequestCounts,
}

/// What a server says of itself and its volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VolumeStatus {
    /// The volume's identity.
    pub volume: String,
    /// The kind of its engine.
    pub kind: String,
    /// Bytes that clients see when they connect.
    pub capacity_bytes: u64,
    /// The most bytes that could be offered over these devices.
    pub capacity_max_bytes: u64,
    /// Generation of the superblocks.
    pub generation: u64,
    /// Why nothing can be written, if that is so.
    pub read_only: Option<String>,
    /// Whether a change of the devices is under way.
    pub is_changing: bool,
    /// How the devices are read and written.
    pub io: String,
    /// The devices, with those that have left.
    pub devices: Vec<DeviceStatus>,
    /// What moves in the background; `None` if its engine moves nothing.
    pub background: Option<BackgroundStatus>,
    /// Its clients.
    #[serde(flatten)]
    pub serving: ServingStatus,
}

/// A device of the volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceStatus {
    /// Its name.
    pub name: String,
    /// Its identity.
    pub identity: String,
    /// Bytes for data.
    pub data_bytes: u64,
    /// Bytes of the extents that it holds, if the engine keeps a map of extents.
    pub used_bytes: Option<u64>,
    /// `online`, `read-only`, `failed`, `missing` or `removed`.
    pub state: String,
    /// Whether it keeps a copy of the map.
    pub keeps_map: bool,
    /// Percent of its endurance that is used, if the device says so. May be more than 100.
    pub wear_percent: Option<u64>,
    /// How far its drain is, if it is being drained.
    pub drain: Option<DrainStatus>,
}

/// How far a drain is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum DrainStatus {
    /// Data are moving.
    Moving,
    /// Only data that cannot be read are left.
    Stuck {
        /// Number of extents.
        extents: u32,
    },
    /// The device is empty, and can be removed.
    Empty,
}

/// A client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionStatus {
    /// What it is called: its address, or its process.
    pub peer: String,
    /// The export that it has opened; `None` while it has not chosen one.
    pub export: Option<String>,
    /// Requests that are to be answered, or whose answer is being sent.
    pub under_way: u32,
}

/// Requests of clients, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestCounts {
    /// Reads.
    pub reads: u64,
    /// Bytes that they asked for.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes that they wrote.
    pub written_bytes: u64,
    /// Flushes, and writes and other changes that were to be durable.
    pub flushes: u64,
    /// Trims and zeroes.
    pub trims: u64,
    /// All other kinds.
    pub others: u64,
    /// Those that the volume has failed.
    pub failed: u64,
}

impl RequestCounts {
    pub(crate) fn count(&mut self, command: Command) {
        let (_, length) = command.range();
        match command {
            Command::Read { .. } => {
                (self.reads, self.read_bytes) = (self.reads + 1, self.read_bytes + u64::from(length))
            }
            Command::Write { durable, .. } => {
                (self.writes, self.written_bytes) = (self.writes + 1, self.written_bytes + u64::from(length));
                self.flushes += u64::from(durable);
            }
            Command::Flush => self.flushes += 1,
            Command::Trim { durable, .. } | Command::WriteZeroes { durable, .. } => {
                self.trims += 1;
                self.flushes += u64::from(durable);
            }
            Command::Cache { .. } | Command::BlockStatus { .. } => self.others += 1,
        }
    }
}

/// The state of a device, in a word.
pub(crate) fn name_of_state(presence: Presence, state: DeviceState) -> &'static str {
    match (presence, state) {
        (Presence::Missing, _) => "missing",
        (Presence::Removed, _) => "removed",
        (Presence::Present, DeviceState::Online) => "online",
        (Presence::Present, DeviceState::ReadOnly) => "read-only",
        (Presence::Present, DeviceState::Failed) => "failed",
    }
}

/// The devices of a volume; `wear_percent` knows by name how worn they are.
pub(crate) fn devices(volume: &Volume<SystemClock>, wear_percent: impl Fn(&str) -> Option<u64>) -> Vec<DeviceStatus> {
    let used = volume.used();
    let status = |(index, device): (usize, &esker_volume::VolumeMember)| {
        let state = name_of_state(device.presence, volume.device_state(index));
        let drain = volume.drain_progress(index).map(|progress| match progress {
            DrainProgress::Moving => DrainStatus::Moving,
            DrainProgress::Stuck(stuck) => DrainStatus::Stuck { extents: stuck.extents },
            DrainProgress::Empty => DrainStatus::Empty,
        });
        DeviceStatus {
            name: device.name.clone(),
            identity: device.identity.to_string(),
            data_bytes: device.data.0,
            used_bytes: used.get(index).map(|bytes| bytes.0),
            state: state.to_string(),
            keeps_map: device.keeps_map,
            wear_percent: wear_percent(&device.name),
            drain,
        }
    };
    volume.state().devices.iter().enumerate().map(status).collect()
}
