//! What a host knows about the content of one sector.

/// The values that were written to a sector, from the oldest one that may survive a loss of power to the latest.
#[derive(Clone, Debug)]
pub(crate) struct History(Vec<SectorWrite>);

/// A value that was written to a sector, and the step at which its write was acknowledged.
#[derive(Clone, Copy, Debug)]
struct SectorWrite {
    value: u64,
    acknowledged: Option<u64>,
}

impl History {
    /// A sector that holds `value` durably.
    pub(crate) fn durable(value: u64) -> Self {
        Self(vec![SectorWrite { value, acknowledged: Some(0) }])
    }

    /// A sector that may hold any of `values`.
    pub(crate) fn any_of(values: impl IntoIterator<Item = u64>) -> Self {
        Self(values.into_iter().map(|value| SectorWrite { value, acknowledged: None }).collect())
    }

    /// The host sends a write of `value`.
    pub(crate) fn write(&mut self, value: u64) {
        self.0.push(SectorWrite { value, acknowledged: None });
    }

    /// The last write is acknowledged at `step`; `durable` tells whether it was a durable write.
    pub(crate) fn acknowledge(&mut self, step: u64, durable: bool) {
        self.0.last_mut().expect("something was written").acknowledged = Some(step);
        if durable {
            self.0.drain(..self.0.len() - 1);
        }
    }

    /// A flush that was sent at step `issued` is acknowledged.
    pub(crate) fn flush(&mut self, issued: u64) {
        let covered = |written: &SectorWrite| written.acknowledged.is_some_and(|step| step <= issued);
        // There is none if a durable write that was sent after the flush has been acknowledged before it.
        self.0.drain(..self.0.iter().rposition(covered).unwrap_or(0));
    }

    /// Returns true if a read may return `value`: the last acknowledged value, or the value of any later write.
    pub(crate) fn may_read(&self, value: u64) -> bool {
        let known = self.0.iter().rposition(|written| written.acknowledged.is_some()).unwrap_or(0);
        self.0[known..].iter().any(|written| written.value == value)
    }

    /// Returns true if the sector may hold `value` after a loss of power.
    pub(crate) fn may_survive(&self, value: u64) -> bool {
        self.0.iter().any(|written| written.value == value)
    }

    /// Returns the value of the last write that was sent.
    pub(crate) fn latest(&self) -> u64 {
        self.0.last().expect("something was written").value
    }
}
