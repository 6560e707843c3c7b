//! What a host knows of one sector.

/// The values that a sector was given, in the order in which they were sent. Writes may overlap; then either value may
/// be the last one.
#[derive(Clone, Debug)]
pub struct History(Vec<SectorWrite>);

/// A value that was written to a sector.
#[derive(Clone, Copy, Debug)]
struct SectorWrite {
    value: u64,
    /// The step at which the write was sent, which no other write has.
    sent: u64,
    /// The step at which the host was answered.
    ended: Option<u64>,
    /// Whether the answer was success.
    ok: bool,
    /// Whether the host was promised that the value, or a later one, survives.
    durable: bool,
}

impl History {
    /// A sector that holds `value` durably.
    pub fn durable(value: u64) -> Self {
        Self(vec![SectorWrite { value, sent: 0, ended: Some(0), ok: true, durable: true }])
    }

    /// A sector that may hold any of `values`.
    pub fn any_of(values: impl IntoIterator<Item = u64>) -> Self {
        let write = |value| SectorWrite { value, sent: 0, ended: Some(0), ok: false, durable: false };
        Self(values.into_iter().map(write).collect())
    }

    /// The host sends a write of `value` at step `sent`, at which it sends nothing else.
    pub fn write(&mut self, value: u64, sent: u64) {
        self.0.push(SectorWrite { value, sent, ended: None, ok: false, durable: false });
    }

    /// The write that was sent at step `sent` is answered at `step`; it may have been a durable one.
    pub fn end(&mut self, sent: u64, step: u64, ok: bool, durable: bool) {
        let write = self.0.iter_mut().rfind(|write| write.sent == sent).expect("it was sent");
        (write.ended, write.ok, write.durable) = (Some(step), ok, ok && durable);
    }

    /// A flush that was sent at step `sent` is acknowledged.
    pub fn flush(&mut self, sent: u64) {
        for write in &mut self.0 {
            write.durable |= write.ok && write.ended.is_some_and(|step| step <= sent);
        }
    }

    /// Whether `value` was written and no write for which `counts` has replaced it: one that was sent after its own had
    /// ended.
    fn stands(&self, value: u64, counts: impl Fn(&SectorWrite) -> bool) -> bool {
        let latest = self.0.iter().filter(|write| counts(write)).map(|write| write.sent).max();
        let stands = |write: &SectorWrite| write.ended.is_none_or(|ended| latest.is_none_or(|latest| latest <= ended));
        self.0.iter().any(|write| write.value == value && stands(write))
    }

    /// Whether a read that was sent at step `sent` and ends now may return `value`: no write that had succeeded before
    /// has replaced it.
    pub fn may_read(&self, value: u64, sent: u64) -> bool {
        self.stands(value, |write| write.ok && write.ended.is_some_and(|ended| ended < sent))
    }

    /// Whether no write has been under way since step `sent`: reads return the same value from then on.
    pub fn is_quiet_since(&self, sent: u64) -> bool {
        self.0.iter().all(|write| write.ended.is_some_and(|ended| ended < sent))
    }

    /// Whether `value` may be there after a loss of power.
    pub fn may_survive(&self, value: u64) -> bool {
        self.stands(value, |write| write.durable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_write_replaces_an_earlier_one_and_one_of_two_at_a_time_stays() {
        let mut history = History::durable(0);
        history.write(1, 1);
        assert!(history.may_read(0, 2) && history.may_read(1, 2));
        history.end(1, 3, true, false);
        assert!(!history.may_read(0, 4) && history.may_read(0, 3), "a read that was sent before may be as old");
        history.write(2, 5);
        history.write(3, 6);
        history.end(6, 7, true, false);
        history.end(5, 8, true, false);
        assert!(!history.may_read(1, 9) && history.may_read(2, 9) && history.may_read(3, 9));
        assert!(history.may_survive(0), "nothing was flushed");
        history.flush(9);
        assert_eq!([0, 1, 2, 3].map(|value| history.may_survive(value)), [false, false, true, true]);
    }

    #[test]
    fn a_failed_write_leaves_either_value_until_another_one_replaces_both() {
        let mut history = History::durable(0);
        history.write(1, 1);
        history.end(1, 2, false, true);
        assert!(history.may_read(0, 3) && history.may_read(1, 3));
        history.write(2, 4);
        history.end(4, 5, true, true);
        assert_eq!([0, 1, 2].map(|value| history.may_survive(value)), [false, false, true]);
        assert!(history.is_quiet_since(6) && !history.is_quiet_since(5));
    }
}
