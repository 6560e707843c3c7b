//! How requests count against the limits.

use esker_core::{Request, RequestKind};

use crate::CloudVolumeSettings;

/// What a request costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Operations.
    pub operations: u64,
    /// Bytes, as the volume counts them.
    pub bytes: u64,
    /// Bytes that cross the link between instance and volume.
    pub moved: u64,
}

/// Counts requests one after the other, since a request may share the unit of the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    unit: Option<u64>,
    merge: bool,
    whole_units: bool,
    reads: Sequence,
    writes: Sequence,
}

/// Where the last request of a kind ended, and what is left of its last unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sequence {
    end: u64,
    left: u64,
}

impl Counter {
    /// As the settings say; no request has come yet.
    pub fn new(settings: &CloudVolumeSettings) -> Self {
        Self {
            unit: settings.operations.unit.map(|unit| unit.0.max(1)),
            merge: settings.operations.merge,
            whole_units: settings.throughput.whole_units,
            reads: Sequence::default(),
            writes: Sequence::default(),
        }
    }

    /// Counts the next read or write.
    #[inline]
    pub fn count(&mut self, request: &Request) -> Cost {
        let length = request.length.0;
        // A range of zeroes is written by the volume; it counts in full, but only its command crosses the link.
        let moved = if request.kind.has_data() { length } else { 0 };
        let Some(unit) = self.unit else {
            return Cost { operations: 1, bytes: length, moved };
        };
        let sequence = if request.kind == RequestKind::Read { &mut self.reads } else { &mut self.writes };
        let shared = if self.merge && request.start.byte_offset() == sequence.end { sequence.left } else { 0 };
        let operations = length.saturating_sub(shared).div_ceil(unit);
        *sequence = Sequence { end: request.end_byte(), left: operations * unit + shared - length };
        let bytes = if self.whole_units { operations * unit } else { length };
        Cost { operations, bytes, moved }
    }
}

#[cfg(test)]
mod tests {
    use esker_core::{Bytes, Lba};

    use super::*;
    use crate::{OperationSettings, PRESETS};

    fn counter(change: impl Fn(&mut CloudVolumeSettings)) -> Counter {
        let preset = PRESETS.iter().find(|preset| preset.name == "aws-ebs-gp3").unwrap();
        let mut settings = toml::from_str(preset.toml).unwrap();
        change(&mut settings);
        Counter::new(&settings)
    }

    fn read(at_kib: u64, kib: u64) -> Request {
        Request::read(Lba(at_kib * 2), Bytes::kib(kib))
    }

    #[test]
    fn long_requests_count_once_for_each_unit_begun() {
        let mut counter = counter(|_| {});
        for (kib, operations) in [(4, 1), (256, 1), (260, 2), (512, 2), (1024, 4)] {
            // Each a gigabyte further on.
            let cost = counter.count(&read(operations << 20, kib));
            assert_eq!((cost.operations, cost.bytes), (operations, kib << 10), "{kib} KiB");
        }
    }

    #[test]
    fn short_requests_in_sequence_share_a_unit() {
        let mut counter = counter(|_| {});
        let operations = |counter: &mut Counter, first: u64, step: u64| -> u64 {
            (0..64).map(|index| counter.count(&read(first + index * step, 16)).operations).sum()
        };
        assert_eq!(operations(&mut counter, 1 << 20, 16), 4, "64 * 16 KiB are 4 units of 256 KiB");
        assert_eq!(operations(&mut counter, 1 << 24, 17), 64, "with gaps each counts");
        // A write between two reads does not part them; another read does.
        counter.count(&read(0, 16));
        counter.count(&Request::write(Lba(1 << 16), Bytes::kib(4)));
        assert_eq!(counter.count(&read(16, 16)).operations, 0);
        counter.count(&read(9999, 16));
        assert_eq!(counter.count(&read(32, 16)).operations, 1);
    }

    #[test]
    fn a_write_never_shares_the_unit_of_a_read() {
        let mut counter = counter(|_| {});
        counter.count(&read(0, 16));
        assert_eq!(counter.count(&Request::write(Lba(32), Bytes::kib(16))).operations, 1);
    }

    #[test]
    fn random_requests_cost_whole_units_of_bytes_where_the_type_says_so() {
        let mut counter = counter(|settings| {
            settings.operations.unit = Some(Bytes::mib(1));
            settings.throughput.whole_units = true;
        });
        assert_eq!(counter.count(&read(5000, 16)), Cost { operations: 1, bytes: 1 << 20, moved: 16 << 10 });
        assert_eq!(counter.count(&read(5016, 16)), Cost { operations: 0, bytes: 0, moved: 16 << 10 });
        assert_eq!(counter.count(&read(1 << 20, 1536)).bytes, 2 << 20);
    }

    #[test]
    fn without_a_unit_every_request_is_one_operation() {
        let mut counter = counter(|settings| settings.operations = OperationSettings::default());
        assert_eq!(counter.count(&read(0, 1024)).operations, 1);
        assert_eq!(counter.count(&read(1024, 1024)).operations, 1);
    }
}
