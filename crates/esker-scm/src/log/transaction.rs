//! Stores that are made together, in the form in which the log keeps them.

use super::{HEADER, MAGIC};
use crate::layout::{Geometry, LINE, PAGE, number64, seal};
use crate::persist::Persist;

/// Bytes before those of a store: its address and its length.
const STORE: usize = 16;

/// Bytes that a store of `length` bytes takes.
pub(crate) fn store_bytes(length: u64) -> u64 {
    STORE as u64 + length.next_multiple_of(8)
}

/// Stores that are to be made together. Reads through it see them.
#[derive(Debug)]
pub(crate) struct Transaction {
    /// As the log keeps it; the header is filled when it is sealed.
    image: Vec<u8>,
    /// Where the last store begins in `image`.
    last: Option<usize>,
    /// Whether stores outside the log have to be durable before it.
    waits_for_stores: bool,
}

impl Default for Transaction {
    fn default() -> Self {
        Transaction { image: vec![0; HEADER], last: None, waits_for_stores: false }
    }
}

impl Transaction {
    /// Adds a store.
    pub(crate) fn put(&mut self, at: u64, bytes: &[u8]) {
        if let Some(earlier) = self.find(at, bytes.len()) {
            self.image[earlier..earlier + bytes.len()].copy_from_slice(bytes);
            return;
        }
        let length = bytes.len() as u64;
        if let Some(last) = self.last {
            let (last_at, last_length) = (number64(&self.image, last), number64(&self.image, last + 8));
            if last_at + last_length == at && last_length % 8 == 0 {
                self.image[last + 8..last + STORE].copy_from_slice(&(last_length + length).to_le_bytes());
                return self.append(bytes);
            }
        }
        self.append_store(at, bytes);
    }

    /// Adds a store behind all others, without a look for an earlier one of these bytes: that takes long if there are
    /// very many stores.
    pub(crate) fn append_store(&mut self, at: u64, bytes: &[u8]) {
        self.last = Some(self.image.len());
        self.image.extend_from_slice(&at.to_le_bytes());
        self.image.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.append(bytes);
    }

    /// Adds stores to those lines of `old`, at `at`, that differ from `new`.
    pub(crate) fn put_changed_lines(&mut self, at: u64, old: &[u8], new: &[u8]) {
        let lines = old.chunks(LINE as usize).zip(new.chunks(LINE as usize));
        for (line, (old, new)) in lines.enumerate() {
            if old != new {
                self.put(at + line as u64 * LINE, new);
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        self.image.extend_from_slice(bytes);
        self.image.resize(self.image.len().next_multiple_of(8), 0);
    }

    /// Where `image` has the bytes of an earlier store that covers this one.
    fn find(&self, at: u64, length: usize) -> Option<usize> {
        let mut place = HEADER;
        let mut found = None;
        while place < self.image.len() {
            let (store_at, store_length) = (number64(&self.image, place), number64(&self.image, place + 8));
            if store_at <= at && at + length as u64 <= store_at + store_length {
                found = Some(place + STORE + (at - store_at) as usize);
            }
            place += STORE + (store_length as usize).next_multiple_of(8);
        }
        found
    }

    /// Reads the bytes at `at` as they will be.
    pub(crate) fn read<P: Persist>(&self, persist: &P, at: u64, into: &mut [u8]) {
        persist.read(at, into);
        let end = at + into.len() as u64;
        for (store_at, bytes) in stores(&self.image) {
            let (from, to) = (store_at.max(at), (store_at + bytes.len() as u64).min(end));
            if from < to {
                let source = &bytes[(from - store_at) as usize..(to - store_at) as usize];
                into[(from - at) as usize..(to - at) as usize].copy_from_slice(source);
            }
        }
    }

    /// Bytes that it takes in the log so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.image.len() as u64
    }

    /// Whether nothing is stored.
    pub(crate) fn is_empty(&self) -> bool {
        self.image.len() == HEADER
    }

    /// What was stored outside the log becomes durable before the transaction does.
    pub(crate) fn wait_for_stores(&mut self) {
        self.waits_for_stores = true;
    }

    /// Whether stores outside the log have to be durable first.
    pub(crate) fn waits_for_stores(&self) -> bool {
        self.waits_for_stores
    }

    /// Forgets all stores.
    pub(crate) fn clear(&mut self) {
        self.image.truncate(HEADER);
        self.last = None;
        self.waits_for_stores = false;
    }

    /// Its bytes for the log.
    pub(super) fn sealed(&mut self, sequence: u64) -> &[u8] {
        let length = self.image.len() as u64;
        self.image[4..8].copy_from_slice(&MAGIC.to_le_bytes());
        self.image[8..16].copy_from_slice(&sequence.to_le_bytes());
        self.image[16..24].copy_from_slice(&length.to_le_bytes());
        seal::seal(&mut self.image, sequence % 2);
        &self.image
    }
}

/// The stores of a transaction in the form of the log: addresses and bytes.
pub(super) fn stores(image: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut place = HEADER;
    std::iter::from_fn(move || {
        let header = image.get(place..place + STORE)?;
        let (at, length) = (number64(header, 0), number64(header, 8) as usize);
        let bytes = &image[place + STORE..place + STORE + length];
        place += STORE + length.next_multiple_of(8);
        Some((at, bytes))
    })
}

/// Whether the stores of `image` fill it, and lie in the pool behind its log.
pub(super) fn is_well_formed(image: &[u8], plan: &Geometry) -> bool {
    let mut place = HEADER;
    while place < image.len() {
        let Some(header) = image.get(place..place + STORE) else { return false };
        let (at, length) = (number64(header, 0), number64(header, 8));
        let is_inside = at >= plan.table * PAGE && at.checked_add(length).is_some_and(|end| end <= plan.pages * PAGE);
        if !is_inside {
            return false;
        }
        place += STORE + (length as usize).next_multiple_of(8);
    }
    place == image.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{Log, Mode};
    use crate::persist::Recording;

    #[test]
    fn reads_see_stores_and_neighbours_become_one() {
        let pool = Recording::new(vec![7; 4096]);
        let mut transaction = Transaction::default();
        transaction.put(8, &[1; 8]);
        transaction.put(16, &[2; 8]);
        transaction.put(12, &[3; 4]);
        transaction.put(100, &[4; 3]);
        let mut bytes = [0; 32];
        transaction.read(&pool, 0, &mut bytes);
        assert_eq!(bytes[..24], [7, 7, 7, 7, 7, 7, 7, 7, 1, 1, 1, 1, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!(bytes[24..], [7; 8]);
        let all: Vec<(u64, Vec<u8>)> = stores(&transaction.image).map(|(at, bytes)| (at, bytes.to_vec())).collect();
        assert_eq!(all.len(), 2);
        assert_eq!(all[1], (100, vec![4; 3]));
    }

    /// Three transactions to the same two lines. Whatever a crash leaves, recovery finds a state between two of them.
    #[test]
    fn transactions_are_whole_or_not_there() {
        let plan = Geometry::plan(Geometry::PAGES_MIN);
        let at = plan.data * PAGE;
        let pool = Recording::new(vec![0; (plan.pages * PAGE) as usize]);
        let mut log = Log::recover(&pool, &plan, Mode::Metadata).unwrap();
        pool.record();
        // Miri takes its time.
        let bound = if cfg!(miri) { 8 } else { 2000 };
        let mut states = 0;
        for number in 1..=4_u8 {
            let mut transaction = Transaction::default();
            transaction.put(at + 8, &[number; 8]);
            transaction.put(at + 640, &[number; 24]);
            log.commit(&pool, &plan, &mut transaction).unwrap();
            let mut points: Vec<_> = pool.take_points().into_iter().map(|point| (point, number - 1)).collect();
            points.push((pool.point_now(), number));
            for (point, least) in points {
                states += point.states(bound, u64::from(number), |state| {
                    let again = Recording::new(state.clone());
                    Log::recover(&again, &plan, Mode::Metadata).unwrap();
                    let mut found = [0; 24];
                    again.read(at + 640, &mut found);
                    let mut other = [0; 8];
                    again.read(at + 8, &mut other);
                    assert!(found[0] >= least && found[0] <= number, "{} after {least}", found[0]);
                    assert!(found.iter().chain(&other).all(|&byte| byte == found[0]), "torn: {found:?} {other:?}");
                });
            }
        }
        assert!(states > bound / 2, "{states}");
    }
}
