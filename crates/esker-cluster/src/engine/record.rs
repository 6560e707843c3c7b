//! Records: changes of a cluster's map, as a journal and a checkpoint keep them.

use esker_tier::parts::{CLUSTER, EngineRecord, FIELDS};
use esker_tier::{Record, RecordError};

use crate::id::{ServerId, SliceId, SliceReplica};

/// Where a replica of a slice lies on a server: in one of its slots, which hold a slice each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotPlace {
    /// The server.
    pub server: ServerId,
    /// The slot.
    pub slot: u32,
}

/// A change of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterRecord {
    /// A replica is complete in this place. Only checkpoints have it.
    Placed {
        /// The replica.
        replica: SliceReplica,
        /// The place.
        place: SlotPlace,
    },
    /// A replica is in motion to this place.
    Begun {
        /// The replica.
        replica: SliceReplica,
        /// The place.
        place: SlotPlace,
    },
    /// A replica in motion goes back: what had not moved is where it goes now.
    Turned {
        /// The replica.
        replica: SliceReplica,
    },
    /// Objects of a replica in motion are at its destination. If they are the last ones, the motion is complete.
    Moved {
        /// The replica.
        replica: SliceReplica,
        /// The first of the objects, by its place in the slice.
        first: u32,
        /// Their number.
        count: u32,
        /// Whether they were written. All others read as zeroes.
        written: bool,
    },
    /// Objects were written where the replica has them.
    Written {
        /// The replica.
        replica: SliceReplica,
        /// The first of the objects.
        first: u32,
        /// Their number.
        count: u32,
    },
    /// An object was discarded: it reads as zeroes.
    Discarded {
        /// The replica.
        replica: SliceReplica,
        /// The object.
        index: u32,
    },
    /// No server has the replica. Only checkpoints have it.
    Homeless {
        /// The replica.
        replica: SliceReplica,
    },
    /// A replica misses changes of objects that another one has.
    Missed {
        /// The replica.
        replica: SliceReplica,
        /// The first of the objects.
        first: u32,
        /// Their number.
        count: u32,
    },
    /// A replica may miss changes of objects that were never promised to be durable. So it does not count, unless no
    /// other one is left. Only checkpoints have it.
    Unsure {
        /// The replica.
        replica: SliceReplica,
        /// The first of the objects.
        first: u32,
        /// Their number.
        count: u32,
    },
    /// A replica that was unsure counts, because the one that did cannot be read.
    Sure {
        /// The replica.
        replica: SliceReplica,
        /// The first of the objects.
        first: u32,
        /// Their number.
        count: u32,
    },
    /// The replicas of a slice may differ from now on, because they are being changed.
    Dirty {
        /// The slice.
        slice: SliceId,
    },
    /// The replicas of a slice are alike, and durable.
    Clean {
        /// The slice.
        slice: SliceId,
    },
    /// After a restart: of each object of the slices that are dirty, the first replica that has it counts, and the
    /// others are unsure.
    Resync,
    /// A server has failed: nothing that is there counts any more.
    Failed {
        /// The server.
        server: ServerId,
    },
    /// What was written to a server since it was new here, and what that has cost by the wear model.
    Worn {
        /// The server.
        server: ServerId,
        /// Pages that were written.
        pages: u64,
        /// Erases.
        erases: u64,
    },
}

const PLACED: u8 = 1;
const BEGUN: u8 = 2;
const MOVED: u8 = 3;
const MOVED_UNWRITTEN: u8 = 4;
const WRITTEN: u8 = 5;
const DISCARDED: u8 = 6;
const WORN: u8 = 7;
const HOMELESS: u8 = 8;
const MISSED: u8 = 9;
const UNSURE: u8 = 10;
const DIRTY: u8 = 11;
const CLEAN: u8 = 12;
const RESYNC: u8 = 13;
const FAILED: u8 = 14;
const SURE: u8 = 15;
const TURNED: u8 = 16;

/// The low and the high half of a number.
const fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

/// The number of these halves.
fn whole(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

impl EngineRecord for ClusterRecord {
    const ENGINE: u8 = CLUSTER;

    fn to_fields(self) -> (u8, [u32; FIELDS]) {
        let fields =
            |replica: SliceReplica, rest: [u32; 2]| [replica.slice.0, u32::from(replica.replica), rest[0], rest[1], 0];
        match self {
            Self::Placed { replica, place } => (PLACED, fields(replica, [place.server.0.into(), place.slot])),
            Self::Begun { replica, place } => (BEGUN, fields(replica, [place.server.0.into(), place.slot])),
            Self::Moved { replica, first, count, written } => {
                (if written { MOVED } else { MOVED_UNWRITTEN }, fields(replica, [first, count]))
            }
            Self::Written { replica, first, count } => (WRITTEN, fields(replica, [first, count])),
            Self::Discarded { replica, index } => (DISCARDED, fields(replica, [index, 0])),
            Self::Homeless { replica } => (HOMELESS, fields(replica, [0, 0])),
            Self::Turned { replica } => (TURNED, fields(replica, [0, 0])),
            Self::Missed { replica, first, count } => (MISSED, fields(replica, [first, count])),
            Self::Unsure { replica, first, count } => (UNSURE, fields(replica, [first, count])),
            Self::Sure { replica, first, count } => (SURE, fields(replica, [first, count])),
            Self::Dirty { slice } => (DIRTY, [slice.0, 0, 0, 0, 0]),
            Self::Clean { slice } => (CLEAN, [slice.0, 0, 0, 0, 0]),
            Self::Resync => (RESYNC, [0; FIELDS]),
            Self::Failed { server } => (FAILED, [server.0.into(), 0, 0, 0, 0]),
            Self::Worn { server, pages, erases } => {
                let ([pages, more_pages], [erases, more_erases]) = (halves(pages), halves(erases));
                (WORN, [server.0.into(), pages, more_pages, erases, more_erases])
            }
        }
    }

    fn from_fields(kind: u8, [slice, replica, one, two, zero]: [u32; FIELDS]) -> Option<Self> {
        if kind == WORN {
            let server = ServerId(u16::try_from(slice).ok()?);
            return Some(Self::Worn { server, pages: whole(replica, one), erases: whole(two, zero) });
        }
        let no_more = replica == 0 && one == 0 && two == 0;
        let replica = SliceReplica { slice: SliceId(slice), replica: u8::try_from(replica).ok()? };
        let place = || Some(SlotPlace { server: ServerId(u16::try_from(one).ok()?), slot: two });
        if zero != 0 {
            return None;
        }
        match kind {
            PLACED => place().map(|place| Self::Placed { replica, place }),
            BEGUN => place().map(|place| Self::Begun { replica, place }),
            MOVED | MOVED_UNWRITTEN => Some(Self::Moved { replica, first: one, count: two, written: kind == MOVED }),
            WRITTEN => Some(Self::Written { replica, first: one, count: two }),
            DISCARDED => (two == 0).then_some(Self::Discarded { replica, index: one }),
            HOMELESS => (one == 0 && two == 0).then_some(Self::Homeless { replica }),
            TURNED => (one == 0 && two == 0).then_some(Self::Turned { replica }),
            MISSED => Some(Self::Missed { replica, first: one, count: two }),
            UNSURE => Some(Self::Unsure { replica, first: one, count: two }),
            SURE => Some(Self::Sure { replica, first: one, count: two }),
            DIRTY => no_more.then_some(Self::Dirty { slice: SliceId(slice) }),
            CLEAN => no_more.then_some(Self::Clean { slice: SliceId(slice) }),
            RESYNC => (no_more && slice == 0).then_some(Self::Resync),
            FAILED => {
                let server = ServerId(u16::try_from(slice).ok()?);
                no_more.then_some(Self::Failed { server })
            }
            _ => None,
        }
    }
}

impl From<ClusterRecord> for Record {
    fn from(record: ClusterRecord) -> Self {
        record.record()
    }
}

impl TryFrom<Record> for ClusterRecord {
    type Error = RecordError;

    fn try_from(record: Record) -> Result<Self, RecordError> {
        Self::read(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of records as they are on disks: they must never change their meaning.
    #[test]
    fn golden_records_are_read_as_ever() {
        let replica = SliceReplica { slice: SliceId(0x0102_0304), replica: 1 };
        let place = SlotPlace { server: ServerId(7), slot: 9 };
        let hex = |record: ClusterRecord| {
            let bytes = Record::from(record).encode(0);
            assert_eq!(ClusterRecord::try_from(Record::decode(&bytes).unwrap().1), Ok(record));
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        for (record, kind, rest) in [
            (ClusterRecord::Placed { replica, place }, "01", "0700000009000000"),
            (ClusterRecord::Begun { replica, place }, "02", "0700000009000000"),
            (ClusterRecord::Moved { replica, first: 3, count: 5, written: true }, "03", "0300000005000000"),
            (ClusterRecord::Moved { replica, first: 3, count: 5, written: false }, "04", "0300000005000000"),
            (ClusterRecord::Written { replica, first: 3, count: 5 }, "05", "0300000005000000"),
            (ClusterRecord::Discarded { replica, index: 3 }, "06", "0300000000000000"),
            (ClusterRecord::Homeless { replica }, "08", "0000000000000000"),
            (ClusterRecord::Missed { replica, first: 3, count: 5 }, "09", "0300000005000000"),
            (ClusterRecord::Unsure { replica, first: 3, count: 5 }, "0a", "0300000005000000"),
            (ClusterRecord::Sure { replica, first: 3, count: 5 }, "0f", "0300000005000000"),
            (ClusterRecord::Turned { replica }, "10", "0000000000000000"),
        ] {
            assert_eq!(hex(record), format!("03{kind}00000403020101000000{rest}00000000"));
        }
        for (record, kind, first) in [
            (ClusterRecord::Dirty { slice: replica.slice }, "0b", "04030201"),
            (ClusterRecord::Clean { slice: replica.slice }, "0c", "04030201"),
            (ClusterRecord::Resync, "0d", "00000000"),
            (ClusterRecord::Failed { server: place.server }, "0e", "07000000"),
        ] {
            assert_eq!(hex(record), format!("03{kind}0000{first}{}", "0".repeat(32)));
        }
        let worn = ClusterRecord::Worn { server: ServerId(7), pages: 0x0102_0304_0506, erases: 9 };
        assert_eq!(hex(worn), "030700000700000006050403020100000900000000000000");
    }
}
