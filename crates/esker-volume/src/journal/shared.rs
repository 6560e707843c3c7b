//! One journal for the engines of a stack.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use esker_core::Nanos;
use esker_tier::{Record, RecordNumber};

use super::Journal;

/// The journal of one engine in a stack, which keeps its records in a journal that it shares with the others.
///
/// Each engine numbers its own records. The shared journal has numbers of its own, and each record there carries the
/// layer of its engine.
pub struct JournalShare {
    layer: u8,
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    journal: Box<dyn Journal>,
    /// Number of the last record in the shared journal.
    appended: RecordNumber,
    layers: Vec<Layer>,
    ended: Vec<io::Result<RecordNumber>>,
}

#[derive(Default)]
struct Layer {
    /// Records that are not durable yet: their numbers in the engine and in the shared journal.
    pending: VecDeque<[RecordNumber; 2]>,
    /// Hardenings under way, in the order in which they were asked for: their numbers in the engine and in the shared
    /// journal.
    hardening: VecDeque<[RecordNumber; 2]>,
    ended: Vec<io::Result<RecordNumber>>,
}

/// Divides an empty `journal` among `layers` engines: the first one has layer 0.
pub fn share(journal: Box<dyn Journal>, layers: u8) -> Vec<JournalShare> {
    let layers_of = (0..layers).map(|_| Layer::default()).collect();
    let shared = Shared { journal, appended: RecordNumber(0), layers: layers_of, ended: Vec::new() };
    let shared = Arc::new(Mutex::new(shared));
    (0..layers).map(|layer| JournalShare { layer, shared: shared.clone() }).collect()
}

impl JournalShare {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for JournalShare {
    fn append(&mut self, number: RecordNumber, _: u8, record: Record) {
        let mut shared = self.shared();
        shared.appended.0 += 1;
        let appended = shared.appended;
        shared.journal.append(appended, self.layer, record);
        shared.layers[usize::from(self.layer)].pending.push_back([number, appended]);
    }

    fn harden(&mut self, through: RecordNumber) {
        let mut shared = self.shared();
        let layer = &mut shared.layers[usize::from(self.layer)];
        let covered = layer.pending.iter().rfind(|[own, _]| *own <= through);
        // If none is pending, all of them are durable.
        let in_journal = covered.map_or(RecordNumber(0), |[_, in_journal]| *in_journal);
        layer.hardening.push_back([through, in_journal]);
        shared.journal.harden(in_journal);
    }

    fn send(&mut self) {
        self.shared().journal.send();
    }

    fn take_ended(&mut self, now: Nanos, ended: &mut Vec<io::Result<RecordNumber>>) {
        let mut shared = self.shared();
        shared.collect(now);
        ended.append(&mut shared.layers[usize::from(self.layer)].ended);
    }
}

impl Shared {
    /// Hands what the journal has ended to the engines that wait for it. An error concerns all engines.
    fn collect(&mut self, now: Nanos) {
        let mut ended = std::mem::take(&mut self.ended);
        self.journal.take_ended(now, &mut ended);
        for hardened in ended.drain(..) {
            for layer in &mut self.layers {
                match &hardened {
                    Ok(through) => layer.hardened(*through),
                    Err(error) => layer.ended.push(Err(io::Error::new(error.kind(), error.to_string()))),
                }
            }
        }
        self.ended = ended;
    }
}

impl Layer {
    /// Notes that all records of the shared journal up to `through` are durable.
    fn hardened(&mut self, through: RecordNumber) {
        while self.pending.front().is_some_and(|[_, in_journal]| *in_journal <= through) {
            self.pending.pop_front();
        }
        while self.hardening.front().is_some_and(|[_, in_journal]| *in_journal <= through) {
            let [own, _] = self.hardening.pop_front().expect("it was looked at");
            self.ended.push(Ok(own));
        }
    }
}

#[cfg(test)]
mod tests {
    use esker_tier::{LogicalExtent, PlacementRecord};

    use super::*;
    use crate::journal::{BlockingJournal, DirectJournal, MemoryJournal};

    /// A journal that fails to harden past its third record.
    struct Short(MemoryJournal);
    impl BlockingJournal for Short {
        fn append(&mut self, number: RecordNumber, layer: u8, record: Record) -> io::Result<()> {
            self.0.append(number, layer, record)
        }
        fn harden(&mut self, through: RecordNumber) -> io::Result<()> {
            if through.0 > 3 { Err(io::Error::other("no room")) } else { self.0.harden(through) }
        }
    }

    fn record() -> Record {
        PlacementRecord::Freed { extent: LogicalExtent(7) }.into()
    }

    fn ended(share: &mut JournalShare) -> Vec<Option<u64>> {
        let mut ended = Vec::new();
        share.take_ended(Nanos::ZERO, &mut ended);
        ended.into_iter().map(|ended| ended.ok().map(|number| number.0)).collect()
    }

    #[test]
    fn each_engine_hears_of_its_own_records_by_its_own_numbers_and_of_every_error() {
        let journal = Box::new(DirectJournal::new(Short(MemoryJournal::default())));
        let mut shares = share(journal, 2);
        let [above, below] = &mut shares[..] else { panic!("two were asked for") };
        above.append(RecordNumber(1), 0, record());
        below.append(RecordNumber(1), 0, record());
        below.append(RecordNumber(2), 0, record());
        above.append(RecordNumber(2), 0, record());
        below.harden(RecordNumber(2));
        assert_eq!((ended(above), ended(below)), (vec![], vec![Some(2)]));
        above.harden(RecordNumber(1));
        assert_eq!((ended(above), ended(below)), (vec![Some(1)], vec![]));
        above.harden(RecordNumber(2));
        assert_eq!((ended(above), ended(below)), (vec![None], vec![None]));
    }
}
