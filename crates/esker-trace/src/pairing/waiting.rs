//! Requests that wait for their completion, indexed by their ranges.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasherDefault, Hash, Hasher};

use esker_core::{Nanos, mix64};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::Event;
use crate::sink::Found;
use crate::{Operation, VolumeIndex};

/// The largest number of requests that are examined for one completion, beyond those that it completes.
const SEARCH_MAX: usize = 64;
/// Number of counters of open requests, a power of two. Tests use few, so that many starts share one.
const COUNTERS: usize = if cfg!(test) { 16 } else { 4096 };
/// Requests that are examined one by one if a counter does not decide; no more than the search for the oldest one.
const NEAR_MAX: usize = if cfg!(test) { 4 } else { SEARCH_MAX };

/// Where a request starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Start {
    volume: VolumeIndex,
    operation: Operation,
    offset: u64,
}

impl Start {
    fn of(found: &Found) -> Self {
        Self { volume: found.volume, operation: found.operation, offset: found.offset }
    }

    fn of_event(event: &Event) -> Self {
        Self { volume: event.volume, operation: event.operation, offset: event.offset }
    }

    /// All its bits in one word.
    #[inline]
    fn folded(&self) -> u64 {
        let Self { volume: VolumeIndex(volume), operation, offset } = *self;
        // Few volumes have bytes beyond 2^44.
        offset ^ u64::from(volume) << 44 ^ (operation as u64) << 62
    }

    /// The index of the counter for this start.
    #[inline]
    fn counter(&self) -> usize {
        mix64(self.folded()) as usize % COUNTERS
    }
}

impl Hash for Start {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.folded());
    }
}

/// Hashes one 64-bit number, in the same way on every machine. It need not resist chosen keys.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MixHasher(u64);

impl Hasher for MixHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("starts and numbers are hashed as one u64");
    }
    fn write_u64(&mut self, value: u64) {
        self.0 = mix64(value);
    }
}

/// Numbers of the open requests with one start. Each of them but the newest refers to the next one.
#[derive(Clone, Copy, Debug)]
struct Chain {
    oldest: u64,
    newest: u64,
}

/// How open requests are found. The index is changed to the next kind when a completion needs more: only completions of
/// merged or split requests need the last kind, and the first costs nothing.
#[derive(Debug)]
enum Index {
    /// Not built: nothing has completed yet.
    Unasked,
    /// Only the number of open requests, by the hash of their start. This is enough if it is known which request a
    /// completion belongs to, and the question is only whether it could be taken for that of another one.
    Counted(Box<[u32; COUNTERS]>),
    /// By their start.
    Starts(HashMap<Start, Chain, BuildHasherDefault<MixHasher>>),
    /// In order of start and number.
    Ordered(BTreeMap<(Start, u64), u64>),
}

impl Index {
    fn counted() -> Self {
        Self::Counted(Box::new([0; COUNTERS]))
    }
}

#[derive(Debug)]
struct Waiting<P> {
    found: Found,
    origin: P,
    /// Bytes that have not completed, since a request may be split on its way. `None` if there is nothing to wait for.
    left: Option<u64>,
    /// See [`Chain`].
    next: u64,
}

impl<P> Waiting<P> {
    fn complete(&mut self, at: Nanos) {
        self.left = None;
        self.found.response = at.0.checked_sub(self.found.at.0).map(Nanos);
    }
}

/// Requests in order of arrival, by number. A request is open until it has completed.
#[derive(Debug)]
pub(super) struct Requests<P> {
    waiting: VecDeque<Waiting<P>>,
    /// Number of the first request.
    first: u64,
    index: Index,
    /// Whether the index goes back to counting once no request waits.
    known: bool,
}

impl<P> Default for Requests<P> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), first: 0, index: Index::Unasked, known: false }
    }
}

impl<P> Requests<P> {
    /// For a caller that knows which request a completion belongs to: see [`Self::end_known`].
    pub(super) fn counted() -> Self {
        Self { index: Index::counted(), known: true, ..Self::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Number of the next request.
    pub(super) fn next(&self) -> u64 {
        self.first + self.waiting.len() as u64
    }

    /// Request `number`, if it has not been taken out.
    #[inline]
    pub(super) fn get(&self, number: u64) -> Option<&Found> {
        let place = number.checked_sub(self.first)?;
        self.waiting.get(place as usize).map(|waiting| &waiting.found)
    }

    /// The first request, and whether it is open.
    pub(super) fn front(&self) -> Option<(&Found, bool)> {
        self.waiting.front().map(|waiting| (&waiting.found, waiting.left.is_some()))
    }

    /// Removes all waiting requests.
    pub(super) fn clear(&mut self) {
        let first = self.next();
        *self = Self { first, ..if self.known { Self::counted() } else { Self::default() } };
    }

    #[inline(always)]
    pub(super) fn push(&mut self, found: Found, origin: P) {
        if self.known && self.waiting.is_empty() && !matches!(self.index, Index::Counted(_)) {
            self.index = Index::counted();
        }
        let number = self.next();
        let open = found.length > 0 || found.operation == Operation::Flush;
        self.waiting.push_back(Waiting { found, origin, left: open.then_some(found.length), next: 0 });
        if open {
            self.insert(number);
        }
    }

    /// Takes out the first request, with its origin.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<(Found, P)> {
        if self.waiting.front()?.left.is_some() && !matches!(self.index, Index::Unasked) {
            self.remove(self.first);
        }
        self.first += 1;
        self.waiting.pop_front().map(|waiting| (waiting.found, waiting.origin))
    }

    /// Ends the oldest open request for exactly the range of `event`, and returns whether there were others. `None` if
    /// there is none.
    pub(super) fn end_exact(&mut self, event: &Event) -> Option<bool> {
        if matches!(self.index, Index::Unasked | Index::Counted(_)) {
            self.build(Index::Starts(HashMap::default()));
        }
        let start = Start::of_event(event);
        let (number, several) = match &mut self.index {
            Index::Unasked | Index::Counted(_) => None,
            Index::Starts(starts) => {
                let Entry::Occupied(entry) = starts.entry(start) else { return None };
                let chain = *entry.get();
                if chain.oldest == chain.newest {
                    let waiting = &mut self.waiting[(chain.oldest - self.first) as usize];
                    if waiting.found.length != event.length {
                        return None;
                    }
                    entry.remove();
                    waiting.complete(event.at);
                    return Some(false);
                }
                let same_start = self.chain(chain).take(SEARCH_MAX);
                let mut exact = same_start.filter(|(_, waiting)| waiting.found.length == event.length);
                exact.next().map(|(number, _)| (number, exact.next().is_some()))
            }
            Index::Ordered(ordered) => {
                let same_start = ordered.range((start, 0)..=(start, u64::MAX));
                let mut exact = same_start.take(SEARCH_MAX).filter(|(_, length)| **length == event.length);
                exact.next().map(|((_, number), _)| (*number, exact.next().is_some()))
            }
        }?;
        self.end(number, None, event.at);
        Some(several)
    }

    /// Ends the request that [`Self::end_exact`] would find for `event`, the completion of request `number`. Returns
    /// false if that cannot be decided without searching for it.
    #[inline]
    pub(super) fn end_known(&mut self, number: u64, event: &Event) -> bool {
        let Index::Counted(counts) = &mut self.index else { return false };
        let Some(place) = number.checked_sub(self.first).map(|place| place as usize) else { return false };
        if self.waiting.get(place).is_none_or(|waiting| waiting.left.is_none()) {
            return false;
        }
        let start = Start::of_event(event);
        let count = &mut counts[start.counter()];
        let ended = if *count == 1 {
            place
        } else if place < NEAR_MAX {
            let is_exact = |waiting: &Waiting<P>| {
                waiting.left.is_some() && waiting.found.length == event.length && Start::of(&waiting.found) == start
            };
            self.waiting.iter().take(place).position(is_exact).unwrap_or(place)
        } else {
            return false;
        };
        *count -= 1;
        self.waiting[ended].complete(event.at);
        true
    }

    /// The open requests within the range of `event`.
    pub(super) fn within(&mut self, event: &Event) -> Vec<u64> {
        let end = event.offset + event.length;
        let key = |offset| (Start { volume: event.volume, operation: event.operation, offset }, 0);
        let (from, to) = (key(event.offset), key(end));
        let mut missed = 0;
        let fits = |start: &Start, length: &u64| start.offset + length <= end;
        self.ordered()
            .range(from..to)
            .take_while(|((start, _), length)| {
                missed += usize::from(!fits(start, length));
                missed <= SEARCH_MAX
            })
            .filter(|((start, _), length)| fits(start, length))
            .map(|((_, number), _)| *number)
            .collect()
    }

    /// Returns the open request that `event` is a part of.
    pub(super) fn around(&mut self, event: &Event) -> Option<u64> {
        let key = |offset, number| (Start { volume: event.volume, operation: event.operation, offset }, number);
        let (from, to) = (key(0, 0), key(event.offset, u64::MAX));
        let ((start, number), length) = self.ordered().range(from..=to).next_back()?;
        (start.offset + length >= event.offset + event.length && event.length > 0).then_some(*number)
    }

    /// Notes that `length` bytes of a request have completed, or all of them. Does nothing if it no longer waits.
    pub(super) fn end(&mut self, number: u64, length: Option<u64>, at: Nanos) {
        let Some(index) = number.checked_sub(self.first) else { return };
        let Some(waiting) = self.waiting.get_mut(index as usize) else { return };
        let Some(left) = waiting.left else { return };
        let left = left.saturating_sub(length.unwrap_or(left));
        if left > 0 {
            waiting.left = Some(left);
            return;
        }
        waiting.complete(at);
        self.remove(number);
    }

    fn at(&self, number: u64) -> &Waiting<P> {
        &self.waiting[(number - self.first) as usize]
    }

    fn chain(&self, chain: Chain) -> impl Iterator<Item = (u64, &Waiting<P>)> {
        let next = move |(number, waiting): &(u64, &Waiting<P>)| {
            (*number != chain.newest).then(|| (waiting.next, self.at(waiting.next)))
        };
        std::iter::successors(Some((chain.oldest, self.at(chain.oldest))), next)
    }

    /// Builds the index anew, of the kind of `empty`.
    fn build(&mut self, empty: Index) {
        self.index = empty;
        for number in self.first..self.next() {
            if self.at(number).left.is_some() {
                self.insert(number);
            }
        }
    }

    fn ordered(&mut self) -> &BTreeMap<(Start, u64), u64> {
        if !matches!(self.index, Index::Ordered(_)) {
            self.build(Index::Ordered(BTreeMap::new()));
        }
        match &self.index {
            Index::Ordered(ordered) => ordered,
            _ => unreachable!("it was just built"),
        }
    }

    /// Adds an open request to the index, as the newest one.
    #[inline]
    fn insert(&mut self, number: u64) {
        match &mut self.index {
            Index::Unasked => {}
            Index::Counted(counts) => {
                let found = &self.waiting[(number - self.first) as usize].found;
                counts[Start::of(found).counter()] += 1;
            }
            Index::Starts(_) | Index::Ordered(_) => self.insert_by_start(number),
        }
    }

    fn insert_by_start(&mut self, number: u64) {
        let found = &self.waiting[(number - self.first) as usize].found;
        let start = Start::of(found);
        match &mut self.index {
            Index::Unasked | Index::Counted(_) => {}
            Index::Starts(starts) => match starts.entry(start) {
                Entry::Vacant(entry) => {
                    entry.insert(Chain { oldest: number, newest: number });
                }
                Entry::Occupied(mut entry) => {
                    let newest = std::mem::replace(&mut entry.get_mut().newest, number);
                    self.waiting[(newest - self.first) as usize].next = number;
                }
            },
            Index::Ordered(ordered) => {
                ordered.insert((start, number), found.length);
            }
        }
    }

    /// Removes a request from the index. All older ones with the same start must still wait.
    fn remove(&mut self, number: u64) {
        let start = Start::of(&self.at(number).found);
        match &mut self.index {
            Index::Unasked => {}
            Index::Counted(counts) => counts[start.counter()] -= 1,
            Index::Starts(starts) => {
                let Entry::Occupied(mut entry) = starts.entry(start) else { return };
                let chain = *entry.get();
                if chain.oldest == chain.newest {
                    entry.remove();
                } else if chain.oldest == number {
                    entry.get_mut().oldest = self.waiting[(number - self.first) as usize].next;
                } else {
                    self.unlink(number, start, chain);
                }
            }
            Index::Ordered(ordered) => {
                ordered.remove(&(start, number));
            }
        }
    }

    /// Removes a request from the middle or the end of its chain.
    fn unlink(&mut self, number: u64, start: Start, chain: Chain) {
        let next = self.at(number).next;
        // It is among the first SEARCH_MAX, where it was found.
        let before = self.chain(chain).map(|(before, _)| before).find(|before| self.at(*before).next == number);
        let Some(before) = before else { return };
        self.waiting[(before - self.first) as usize].next = next;
        if chain.newest == number
            && let Index::Starts(starts) = &mut self.index
        {
            starts.insert(start, Chain { newest: before, ..chain });
        }
    }
}
