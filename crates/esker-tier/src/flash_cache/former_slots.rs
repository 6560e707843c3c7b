//! Former slots of dirty lines that have moved to another slot. A former slot is kept while the journal names it, or
//! may have to name it soon.

use std::collections::BTreeMap;

use super::slots::DataVersion;

/// The former slots of all lines.
#[derive(Debug, Default)]
pub(super) struct FormerSlots {
    /// For each line, the former slot that the journal names as dirty.
    named: BTreeMap<u32, u32>,
    /// Former slots that the journal does not name yet, but will once a flush under way has ended, because a host waits
    /// for the data in them. For each line: the slots and when each got the line, on the clock of changes, earliest
    /// first.
    promised: BTreeMap<u32, Vec<(u64, u32)>>,
}

impl FormerSlots {
    /// Notes that the journal names `slot` for `line`. Returns the former slot that it named until now.
    pub(super) fn name(&mut self, line: u32, slot: u32) -> Option<u32> {
        self.named.insert(line, slot)
    }

    /// Keeps `slot`, because a flush under way may be for its data. The slot got `line` at `mapped_at`, later than all
    /// slots that were kept for this line earlier.
    pub(super) fn promise(&mut self, line: u32, slot: u32, mapped_at: u64) {
        self.promised.entry(line).or_default().push((mapped_at, slot));
    }

    /// Notes that the data of `version` are durable. Returns the kept slot that holds them, if there is one, and all
    /// earlier kept slots of the same line, which are no longer needed.
    pub(super) fn keep_promise(&mut self, version: DataVersion) -> Option<(u32, Vec<u32>)> {
        let slots = self.promised.get_mut(&version.line)?;
        let index = slots.iter().rposition(|(mapped_at, _)| *mapped_at <= version.at)?;
        let mut taken: Vec<u32> = slots.drain(..=index).map(|(_, slot)| slot).collect();
        if slots.is_empty() {
            self.promised.remove(&version.line);
        }
        let slot = taken.pop()?;
        Some((slot, taken))
    }

    /// Forgets the former slots of `line`. Returns the one that the journal names, and those that it does not name.
    pub(super) fn forget(&mut self, line: u32) -> (Option<u32>, Vec<u32>) {
        let promised = self.promised.remove(&line).unwrap_or_default();
        (self.named.remove(&line), promised.into_iter().map(|(_, slot)| slot).collect())
    }

    /// Forgets all slots that were kept for a flush, and returns them.
    pub(super) fn forget_promises(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.promised).into_values().flatten().map(|(_, slot)| slot).collect()
    }

    /// Returns the former slots that the journal names, by line.
    pub(super) fn named(&self) -> &BTreeMap<u32, u32> {
        &self.named
    }

    /// Returns all former slots, in no particular order.
    pub(super) fn all(&self) -> impl Iterator<Item = u32> {
        self.named.values().copied().chain(self.promised.values().flatten().map(|(_, slot)| *slot))
    }
}
