//! What the controller of a particular drive does: settings as extracted from real drives.

use esker_core::{Nanos, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the controller of a particular drive does, as tools that measure drives extract it (Worthington et al. 1995,
/// Schindler and Ganger 1999). Every key that is left out is zero or "no".
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FirmwareSettings {
    /// Time before the data of a read that begins in the buffer go to the host.
    pub read_hit: CommandOverhead,
    /// Time before the arm moves for a read.
    pub read_miss: CommandOverhead,
    /// Time before the arm moves for a write, and before its data come from the host.
    pub write: CommandOverhead,
    /// Time after the last byte of a read.
    pub read_completion: Nanos,
    /// Time at the end of a write.
    pub write_completion: Nanos,
    /// Time before data are sent or received, once the drive has the bus.
    pub data_preparation: Nanos,
    /// Time to get the bus back for the first time during a command.
    pub first_reselect: Nanos,
    /// Time to get the bus back once more.
    pub other_reselect: Nanos,
    /// Time to give the bus away while a read waits for the medium.
    pub read_disconnect: CommandOverhead,
    /// Time to give the bus away once the data of a write have come.
    pub write_disconnect: Nanos,
    /// Of drives that give the bus away before the data of a write come, too, if the command before was a write
    /// elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_disconnect: Option<ExtraDisconnect>,
    /// Least time from the overhead of a write to its first sector.
    pub write_seek_min: Nanos,
    /// Sectors of a write that have to be in the buffer before the head begins: `[length, sectors]` for writes of that
    /// length or more, in rising order. Shorter ones than `sectors` have to be there whole. Default: the first sector.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write_start: Vec<(u32, u32)>,
    /// Whether the drive keeps the bus from the command to its end.
    pub never_disconnects: bool,
    /// Share of a read's sectors that have to be in the buffer before the drive takes the bus and sends them, one after
    /// another. Zero: it sends the first sector as soon as it is there.
    pub read_watermark: Ratio,
    /// Where read-ahead ends.
    pub read_ahead_to: ReadAheadEnd,
    /// Whether a read counts as a hit if read-ahead has just come to its first sector. If not, such a read stops
    /// read-ahead and positions anew.
    pub read_at_end_hits: bool,
    /// Whether sectors leave the buffer once they were sent.
    pub forgets_read_sectors: bool,
    /// Whether written sectors cannot be read from the buffer.
    pub forgets_written_sectors: bool,
    /// Whether the first segment of the buffer takes all writes, and no reads.
    pub separate_write_segment: bool,
    /// Whether a read whose sectors are all in the buffer is answered while the arm serves another command. If not,
    /// it waits its turn.
    pub hits_overtake: bool,
    /// Whether sectors before those that a read wants are kept if they pass the head while it waits.
    pub reads_while_waiting: bool,
}

/// A time that depends on what the command before was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CommandOverhead {
    /// After a read, or as the first command.
    pub after_read: Nanos,
    /// After a write.
    pub after_write: Nanos,
}

impl CommandOverhead {
    /// Returns the time after a write, or after a read.
    pub(crate) fn after(&self, write: bool) -> Nanos {
        if write { self.after_write } else { self.after_read }
    }
}

/// Times of a write that gives the bus away before its data come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExtraDisconnect {
    /// Time before the drive gives the bus away, instead of `write`.
    pub command: Nanos,
    /// Time to give it away.
    pub disconnect: Nanos,
    /// Time until the drive wants it back.
    pub pause: Nanos,
    /// Time to give it away again once the data have come, instead of `write_disconnect`.
    pub second_disconnect: Nanos,
    /// Time from `command` to the arm's move.
    pub seek_delay: Nanos,
}

/// Where read-ahead ends, at the latest. A command that needs the arm ends it at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAheadEnd {
    /// `cache.read_ahead` behind the read.
    #[default]
    Amount,
    /// The end of the track, or `cache.read_ahead`.
    Track,
    /// The end of the cylinder, or `cache.read_ahead`.
    Cylinder,
    /// The end of the track behind the read; if the buffer holds what was before that track, the end of the next one.
    NextTrack,
}
