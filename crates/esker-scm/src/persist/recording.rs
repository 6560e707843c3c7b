//! A pool in memory that knows which of its stores are durable, and makes the states that a loss of power may leave.
//!
//! The rules (design of SCMFS, point 8): eight aligned bytes are stored whole; of each cache line, any prefix of its
//! stores since its last write-back and fence may be durable; lines are independent; streaming stores are in any order.

use super::{Persist, PersistError};
use crate::layout::LINE;
use esker_core::Rng;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};

/// Bytes that the memory stores whole.
const WORD: u64 = 8;

/// A store to one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WordStore {
    /// Which word of the line.
    word: u8,
    value: [u8; WORD as usize],
    is_streaming: bool,
}

/// Stores to words of one line side by side, made by one call.
#[derive(Debug, Clone)]
struct LineStore {
    /// The first word and the one behind the last.
    words: (u8, u8),
    /// The bytes of the whole line; only those of the words count.
    bytes: [u8; LINE as usize],
    is_streaming: bool,
}

impl LineStore {
    /// Bytes of the line that are stored.
    fn range(&self) -> Range<usize> {
        self.words.0 as usize * WORD as usize..self.words.1 as usize * WORD as usize
    }

    /// The same, word by word.
    fn each_word(&self) -> impl Iterator<Item = WordStore> {
        let values = self.bytes[self.range()].as_chunks().0.iter();
        (self.words.0..).zip(values).map(|(word, &value)| WordStore { word, value, is_streaming: self.is_streaming })
    }
}

/// Stores to a line that may not be durable, in their order.
#[derive(Debug, Clone, Default)]
struct PendingLine {
    stores: Vec<LineStore>,
    /// How many of them the next fence makes durable.
    written_back: usize,
}

#[derive(Debug, Default)]
struct State {
    current: Vec<u8>,
    durable: Vec<u8>,
    pending: BTreeMap<u64, PendingLine>,
    points: Vec<CrashPoint>,
    is_recorded: bool,
    /// Whether nothing but `current` is kept.
    is_plain: bool,
}

/// A moment right before a fence: what is durable, and what may be.
#[derive(Debug, Clone)]
pub struct CrashPoint {
    durable: Vec<u8>,
    pending: Vec<(u64, Vec<WordStore>)>,
}

/// A state that a loss of power may leave.
pub type PersistedState = Vec<u8>;

/// A pool in memory, for tests.
#[derive(Debug)]
pub struct Recording {
    state: Mutex<State>,
}

impl Recording {
    /// A pool whose durable bytes are `image`.
    pub fn new(image: PersistedState) -> Recording {
        let state = State { durable: image.clone(), current: image, ..State::default() };
        Recording { state: Mutex::new(state) }
    }

    /// A pool whose stores are all durable at once, and which has no crash points: for tests that lose no power.
    pub fn without_crashes(image: PersistedState) -> Recording {
        let state = State { current: image, is_plain: true, ..State::default() };
        Recording { state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while the pool is locked")
    }

    /// From now on each fence leaves a [`CrashPoint`].
    pub fn record(&self) {
        self.state().is_recorded = true;
    }

    /// The crash points since the last call.
    pub fn take_points(&self) -> Vec<CrashPoint> {
        std::mem::take(&mut self.state().points)
    }

    /// A crash at this moment.
    pub fn point_now(&self) -> CrashPoint {
        self.state().point()
    }

    /// All bytes as programs see them, durable or not: what is left when the process is killed.
    pub fn image(&self) -> PersistedState {
        self.state().current.clone()
    }

    /// The pool as the next process finds it when this one is killed: it has all stores, and knows of none whether it
    /// is durable. What this one has written back or streamed, the next one's fences do not wait for.
    pub fn reopen(&self) -> Recording {
        let state = self.state();
        let mut pending = state.pending.clone();
        for line in pending.values_mut() {
            line.written_back = 0;
            line.stores.iter_mut().for_each(|store| store.is_streaming = false);
        }
        let (current, durable, is_plain) = (state.current.clone(), state.durable.clone(), state.is_plain);
        Recording { state: Mutex::new(State { current, durable, pending, is_plain, ..State::default() }) }
    }

    /// Flips bit number `bit` of the pool.
    pub fn flip(&self, bit: u64) {
        let mut state = self.state();
        state.current[(bit / 8) as usize] ^= 1 << (bit % 8);
        if !state.is_plain {
            state.durable[(bit / 8) as usize] ^= 1 << (bit % 8);
        }
    }
}

impl State {
    fn point(&self) -> CrashPoint {
        assert!(!self.is_plain, "what is durable was kept");
        let pending = self.pending.iter().map(|(&line, pending)| (line, words_of(&pending.stores))).collect();
        CrashPoint { durable: self.durable.clone(), pending }
    }

    fn store(&mut self, at: u64, bytes: &[u8], is_streaming: bool) {
        let end = at + bytes.len() as u64;
        self.current[at as usize..end as usize].copy_from_slice(bytes);
        if self.is_plain {
            return;
        }
        const WORDS: u64 = LINE / WORD;
        let (first, last) = (at / WORD, end.div_ceil(WORD));
        for line in first / WORDS..last.div_ceil(WORDS) {
            let words = (first.saturating_sub(line * WORDS) as u8, (last - line * WORDS).min(WORDS) as u8);
            let mut store = LineStore { words, bytes: [0; LINE as usize], is_streaming };
            // The pool's end may lie within the line.
            let range = store.range();
            store.bytes[range.clone()].copy_from_slice(&self.current[(line * LINE) as usize..][range]);
            self.pending.entry(line).or_default().stores.push(store);
        }
    }

    /// Makes durable what was written back or streamed.
    fn harden(&mut self) {
        let durable = &mut self.durable;
        self.pending.retain(|&line, pending| {
            let streamed = pending.stores.iter().rposition(|store| store.is_streaming).map_or(0, |last| last + 1);
            let hardened = pending.written_back.max(streamed);
            for store in pending.stores.drain(..hardened) {
                durable[(line * LINE) as usize..][store.range()].copy_from_slice(&store.bytes[store.range()]);
            }
            pending.written_back = 0;
            !pending.stores.is_empty()
        });
    }
}

fn words_of(stores: &[LineStore]) -> Vec<WordStore> {
    stores.iter().flat_map(LineStore::each_word).collect()
}

fn apply(image: &mut [u8], line: u64, store: &WordStore) {
    let at = (line * LINE + u64::from(store.word) * WORD) as usize;
    image[at..at + WORD as usize].copy_from_slice(&store.value);
}

impl Persist for Recording {
    fn len(&self) -> u64 {
        self.state().current.len() as u64
    }

    fn read(&self, at: u64, into: &mut [u8]) {
        into.copy_from_slice(&self.state().current[at as usize..at as usize + into.len()]);
    }

    fn write(&self, at: u64, bytes: &[u8]) {
        self.state().store(at, bytes, false);
    }

    fn write_streaming(&self, at: u64, bytes: &[u8]) {
        self.state().store(at, bytes, true);
    }

    fn zero_streaming(&self, at: u64, length: u64) {
        self.state().store(at, &vec![0; length as usize], true);
    }

    fn write_back(&self, at: u64, length: u64) {
        let mut state = self.state();
        for (_, pending) in state.pending.range_mut(at / LINE..(at + length).div_ceil(LINE)) {
            pending.written_back = pending.stores.len();
        }
    }

    fn fence(&self) -> Result<(), PersistError> {
        let mut state = self.state();
        if state.is_recorded {
            let point = state.point();
            state.points.push(point);
        }
        state.harden();
        Ok(())
    }
}

impl CrashPoint {
    /// The legal states at this point: all of them if there are at most `bound` prefixes, else `bound`: the one with
    /// nothing, the one with everything, and random ones.
    pub fn states(&self, bound: usize, seed: u64, mut visit: impl FnMut(&PersistedState)) -> usize {
        let prefixes = self
            .pending
            .iter()
            .try_fold(1_usize, |all, (_, stores)| all.checked_mul(stores.len() + 1))
            .unwrap_or(usize::MAX);
        let mut image = self.durable.clone();
        if prefixes <= bound {
            (0..prefixes).for_each(|number| {
                let mut rest = number;
                self.visit(&mut image, &mut visit, |stores| {
                    let length = rest % (stores.len() + 1);
                    rest /= stores.len() + 1;
                    vec![true; length]
                });
            });
            return prefixes;
        }
        let mut rng = Rng::new(seed);
        for number in 0..bound {
            self.visit(&mut image, &mut visit, |stores| match number {
                0 => Vec::new(),
                1 => vec![true; stores.len()],
                _ => choose(stores, &mut rng),
            });
        }
        bound
    }

    /// Applies the stores that `chosen` picks of each line, visits the state, and takes them back.
    fn visit(
        &self,
        image: &mut PersistedState,
        visit: &mut impl FnMut(&PersistedState),
        mut chosen: impl FnMut(&[WordStore]) -> Vec<bool>,
    ) {
        for (line, stores) in &self.pending {
            for (store, is_chosen) in stores.iter().zip(chosen(stores)) {
                if is_chosen {
                    apply(image, *line, store);
                }
            }
        }
        visit(image);
        for (line, _) in &self.pending {
            let bytes = (line * LINE) as usize..((line + 1) * LINE) as usize;
            image[bytes.clone()].copy_from_slice(&self.durable[bytes]);
        }
    }
}

/// Which stores of a line a random state has: often none or all, else a prefix, or any of the streaming ones.
fn choose(stores: &[WordStore], rng: &mut Rng) -> Vec<bool> {
    let length = match rng.below(4) {
        0 => 0,
        1 => stores.len(),
        _ => rng.below(stores.len() as u64 + 1) as usize,
    };
    if stores.iter().all(|store| store.is_streaming) && rng.below(2) == 0 {
        return stores.iter().map(|_| rng.below(2) == 0).collect();
    }
    vec![true; length]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn states(pool: &Recording) -> BTreeSet<PersistedState> {
        let mut states = BTreeSet::new();
        pool.point_now().states(10_000, 1, |state| {
            states.insert(state.clone());
        });
        states
    }

    fn image(stores: &[(usize, u8)]) -> Vec<u8> {
        let mut image = vec![0; 256];
        stores.iter().for_each(|&(at, value)| image[at] = value);
        image
    }

    #[test]
    fn of_a_line_any_prefix_may_be_durable() {
        let pool = Recording::new(vec![0; 256]);
        pool.write(0, &[1]);
        pool.write(8, &[2]);
        let expected = [image(&[]), image(&[(0, 1)]), image(&[(0, 1), (8, 2)])];
        assert_eq!(states(&pool), BTreeSet::from(expected));
    }

    #[test]
    fn lines_are_independent() {
        let pool = Recording::new(vec![0; 256]);
        pool.write(0, &[1]);
        pool.write(64, &[2]);
        let expected = [image(&[]), image(&[(0, 1)]), image(&[(64, 2)]), image(&[(0, 1), (64, 2)])];
        assert_eq!(states(&pool), BTreeSet::from(expected));
    }

    #[test]
    fn a_fence_hardens_what_was_written_back_before_and_nothing_else() {
        let pool = Recording::new(vec![0; 256]);
        pool.write(0, &[1]);
        pool.write_back(0, 1);
        pool.write(8, &[2]);
        pool.write(64, &[3]);
        pool.fence().unwrap();
        let expected =
            [image(&[(0, 1)]), image(&[(0, 1), (8, 2)]), image(&[(0, 1), (64, 3)]), image(&[(0, 1), (8, 2), (64, 3)])];
        assert_eq!(states(&pool), BTreeSet::from(expected));
    }

    #[test]
    fn streaming_needs_the_fence_only() {
        let pool = Recording::new(vec![0; 256]);
        pool.write_streaming(0, &[1]);
        assert_eq!(states(&pool).len(), 2);
        pool.fence().unwrap();
        assert_eq!(states(&pool), BTreeSet::from([image(&[(0, 1)])]));
    }
}
