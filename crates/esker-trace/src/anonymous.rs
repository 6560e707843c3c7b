//! Traces that can be given to others: without what tells whose they are.

use esker_core::Nanos;

use crate::Record;

/// Takes the names of volumes and the date from a trace: volumes get numbers, and times begin at zero. Addresses,
/// lengths and the times between requests stay, because a simulation depends on them.
#[derive(Debug, Default)]
pub struct Anonymiser {
    /// The time of the first request.
    start: Option<Nanos>,
}

impl Anonymiser {
    /// Names of volumes that only number them.
    pub fn names(volumes: &[String]) -> Vec<String> {
        (1..=volumes.len()).map(|number| format!("volume-{number}")).collect()
    }

    /// The record with a time since the first one. Records come in the order of their times.
    pub fn apply(&mut self, record: &Record) -> Record {
        let start = *self.start.get_or_insert(record.at);
        Record { at: record.at.saturating_sub(start), ..*record }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operation, VolumeIndex};

    #[test]
    fn only_names_and_the_date_change() {
        assert_eq!(Anonymiser::names(&["payroll.0".into(), "mail".into()]), ["volume-1", "volume-2"]);
        let record = |at: u64| Record {
            at: Nanos(at),
            offset: 4096,
            length: 512,
            volume: VolumeIndex(1),
            operation: Operation::Write,
            response: Some(Nanos(7)),
        };
        let mut anonymiser = Anonymiser::default();
        assert_eq!(anonymiser.apply(&record(1_700_000_000_000)), record(0));
        assert_eq!(anonymiser.apply(&record(1_700_000_000_900)), record(900));
    }
}
