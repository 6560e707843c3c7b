//! What a host knows of one sector.

/// The values that a sector was given, from the oldest one that may survive a loss of power to the latest.
#[derive(Clone, Debug)]
pub(crate) struct History(Vec<Written>);

/// A value that was written to a sector, and the step at which its write was acknowledged.
#[derive(Clone, Copy, Debug)]
struct Written {
    value: u64,
    acknowledged: Option<u64>,
}

impl History {
    /// A sector that holds `value` durably.
    pub(crate) fn durable(value: u64) -> Self {
        Self(vec![Written { value, acknowledged: Some(0) }])
    }

    /// A sector that may hold any of `values`.
    pub(crate) fn any_of(values: impl IntoIterator<Item = u64>) -> Self {
        Self(values.into_iter().map(|value| Written { value, acknowledged: None }).collect())
    }

    /// The host sends a write of `value`.
    pub(crate) fn write(&mut self, value: u64) {
        self.0.push(Written { value, acknowledged: None });
    }

    /// The last write is acknowledged at `step`; it may have been a durable one.
    pub(crate) fn acknowledge(&mut self, step: u64, durable: bool) {
        self.0.last_mut().expect("something was written").acknowledged = Some(step);
        if durable {
            self.0.drain(..self.0.len() - 1);
        }
    }

    /// A flush that was sent at step `issued` is acknowledged.
    pub(crate) fn flush(&mut self, issued: u64) {
        let covered = |written: &Written| written.acknowledged.is_some_and(|step| step <= issued);
        // Finds none if a durable write that came after the flush has ended before it.
        self.0.drain(..self.0.iter().rposition(covered).unwrap_or(0));
    }

    /// Whether a read may return `value`: the last one that was acknowledged, or one whose write was sent later.
    pub(crate) fn may_read(&self, value: u64) -> bool {
        let known = self.0.iter().rposition(|written| written.acknowledged.is_some()).unwrap_or(0);
        self.0[known..].iter().any(|written| written.value == value)
    }

    /// Whether `value` may be there after a loss of power.
    pub(crate) fn may_survive(&self, value: u64) -> bool {
        self.0.iter().any(|written| written.value == value)
    }

    /// The value of the last write.
    pub(crate) fn latest(&self) -> u64 {
        self.0.last().expect("something was written").value
    }
}
