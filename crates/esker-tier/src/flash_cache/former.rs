//! Slots with former data of lines, which have gone to another slot since. The journal may name them, or is about to.

use std::collections::BTreeMap;

use super::slots::State;

/// The former slots of lines.
#[derive(Debug, Default)]
pub(super) struct Former {
    /// The slot that the journal names, as a dirty one, by line.
    named: BTreeMap<u32, u32>,
    /// Slots that the journal does not name, but will once a flush under way has ended: the host waits for what they
    /// hold. By line, the earliest first, each with the time when it got its line, on the clock of changes.
    promised: BTreeMap<u32, Vec<(u64, u32)>>,
}

impl Former {
    /// The journal names `slot` of `line`. Returns the slot that it named before.
    pub(super) fn name(&mut self, line: u32, slot: u32) -> Option<u32> {
        self.named.insert(line, slot)
    }

    /// A flush under way may be for what `slot` holds, which got `line` at `mapped_at`, later than any before.
    pub(super) fn promise(&mut self, line: u32, slot: u32, mapped_at: u64) {
        self.promised.entry(line).or_default().push((mapped_at, slot));
    }

    /// What `state` was of is durable. Returns the slot that holds it, if it is promised, and the earlier ones of its
    /// line.
    pub(super) fn keep_promise(&mut self, state: State) -> Option<(u32, Vec<u32>)> {
        let slots = self.promised.get_mut(&state.line)?;
        let index = slots.iter().rposition(|(mapped_at, _)| *mapped_at <= state.at)?;
        let mut taken: Vec<u32> = slots.drain(..=index).map(|(_, slot)| slot).collect();
        if slots.is_empty() {
            self.promised.remove(&state.line);
        }
        let slot = taken.pop()?;
        Some((slot, taken))
    }

    /// Forgets the former slots of `line`. Returns the one that the journal names, and those that it does not.
    pub(super) fn forget(&mut self, line: u32) -> (Option<u32>, Vec<u32>) {
        let promised = self.promised.remove(&line).unwrap_or_default();
        (self.named.remove(&line), promised.into_iter().map(|(_, slot)| slot).collect())
    }

    /// Nothing is promised any more: returns the slots that were.
    pub(super) fn forget_promises(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.promised).into_values().flatten().map(|(_, slot)| slot).collect()
    }

    /// The lines with a slot that the journal names, with that slot.
    pub(super) fn named(&self) -> &BTreeMap<u32, u32> {
        &self.named
    }

    /// All of them, in no order.
    pub(super) fn all(&self) -> impl Iterator<Item = u32> {
        self.named.values().copied().chain(self.promised.values().flatten().map(|(_, slot)| *slot))
    }
}
