//! The host's requests under way, and how many requests to devices each of them waits for.

use esker_core::{DeviceError, RequestKind, Tag, TagMap};

use super::Effect;

/// The host's requests under way, by tag.
#[derive(Debug, Default)]
pub struct Hosts(TagMap<HostRequest>);

#[derive(Debug)]
struct HostRequest {
    kind: RequestKind,
    /// Number of requests to devices (and other steps) that this one waits for.
    open: u32,
    /// The error with the lowest order so far: by offset, or for a flush by device.
    error: Option<(u64, DeviceError)>,
}

impl Hosts {
    /// Adds a new request. Its tag must not be in use (asserted).
    #[inline]
    pub fn begin(&mut self, tag: Tag, kind: RequestKind) {
        self.0.insert(tag, HostRequest { kind, open: 0, error: None });
    }

    /// Returns true if no request is under way.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the kind of a request.
    pub fn kind(&self, tag: Tag) -> RequestKind {
        self.0.get(tag).kind
    }

    /// Makes `tag` wait for one more request to a device.
    #[inline]
    pub fn wait(&mut self, tag: Tag) {
        self.0.get_mut(tag).open += 1;
    }

    /// Returns true if `tag` still waits for a device.
    #[inline]
    pub fn waits(&mut self, tag: Tag) -> bool {
        self.0.get_mut(tag).open > 0
    }

    /// Notes an error of `tag`. Of several errors, the one with the lowest `order` is reported: a medium error is where
    /// it says that it is.
    pub fn note(&mut self, tag: Tag, order: u64, error: DeviceError) {
        let host = self.0.get_mut(tag);
        let order = match error {
            DeviceError::Medium { at } if host.kind != RequestKind::Flush => at.0,
            _ => order,
        };
        if host.error.is_none_or(|(earlier, _)| order < earlier) {
            host.error = Some((order, error));
        }
    }

    /// Notes the end of a request that `tag` waits for. Returns true if it was the last one.
    #[inline]
    pub fn child_ended(&mut self, tag: Tag, order: u64, result: Result<(), DeviceError>) -> bool {
        if let Err(error) = result {
            self.note(tag, order, error);
        }
        let host = self.0.get_mut(tag);
        host.open -= 1;
        host.open == 0
    }

    /// Returns success, or the error with the lowest order.
    #[inline]
    pub fn result(&mut self, tag: Tag) -> Result<(), DeviceError> {
        self.0.get_mut(tag).error.map_or(Ok(()), |(_, error)| Err(error))
    }

    /// Answers `tag`, which must not wait for anything (asserted).
    #[inline]
    pub fn reply(&mut self, tag: Tag, result: Result<(), DeviceError>, effects: &mut Vec<Effect>) {
        let host = self.0.remove(tag);
        assert!(host.open == 0, "answered while a device still works for it");
        effects.push(Effect::Reply { tag, result });
    }
}
