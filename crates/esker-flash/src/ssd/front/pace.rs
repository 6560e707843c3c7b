//! The speed of the controller: how long it takes for a command, and for each page that leaves the buffer.

use esker_core::{Bytes, Nanos};
use esker_nand::ValueError;

use crate::{BufferMode, ControllerSettings, SsdError, SsdSettings};

/// Returns how long the controller takes for a command before it takes the next one.
pub(super) fn command_time(controller: &ControllerSettings) -> Nanos {
    controller.commands_per_second.map_or(Nanos::ZERO, |rate| Nanos(1_000_000_000_u64.div_ceil(rate)))
}

/// When the next page may leave the buffer. The controller passes on one page at a time, and moves the copies that
/// cleaning makes for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// How long the controller takes for a host page, and for a copy.
    write: Nanos,
    copy: Nanos,
    /// When the controller is done with the pages that have left.
    free: Nanos,
    /// Whether a page waits for [`Self::free`].
    waits: bool,
}

impl Pace {
    pub(super) fn new(controller: &ControllerSettings, page: Bytes) -> Self {
        let time = |rate: Option<esker_core::ByteRate>| rate.map_or(Nanos::ZERO, |rate| rate.time(page));
        let (write, copy) = (time(controller.write_rate), time(controller.copy_rate));
        Self { write, copy, free: Nanos::ZERO, waits: false }
    }

    /// Returns true if a page may leave at `now`. If not, the controller checks again at [`Self::next_event`].
    #[inline]
    pub(super) fn allows(&mut self, now: Nanos) -> bool {
        self.waits = now < self.free;
        !self.waits
    }

    /// Records that a page leaves at `now`, for which cleaning makes `copies` copies.
    #[inline]
    pub(super) fn began(&mut self, now: Nanos, copies: u64) {
        self.free = now + self.write + Nanos(self.copy.0.saturating_mul(copies));
    }

    #[inline]
    pub(super) fn next_event(&self) -> Nanos {
        if self.waits { self.free } else { Nanos::NEVER }
    }

    /// Drops the pages on their way, at a power failure.
    pub(super) fn lose_power(&mut self, now: Nanos) {
        (self.free, self.waits) = (now, false);
    }
}

impl SsdSettings {
    /// Refuses limits of the controller that would have no effect in this drive.
    pub(super) fn check_controller(&self) -> Result<(), SsdError> {
        let Some(controller) = &self.controller else { return Ok(()) };
        for (key, value) in [
            ("controller.commands_per_second", controller.commands_per_second),
            ("controller.write_rate", controller.write_rate.map(|rate| rate.0)),
            ("controller.copy_rate", controller.copy_rate.map(|rate| rate.0)),
        ] {
            if value == Some(0) {
                return Err(ValueError::Zero { key }.into());
            }
        }
        let contradiction = |keys: [&'static str; 2], first: &str, second: &str, reason: &str, remedy: &str| {
            let [first, second, reason, remedy] = [first, second, reason, remedy].map(str::to_string);
            Err(ValueError::Contradiction { keys: keys.into(), first, second, reason, remedy }.into())
        };
        if controller.commands_per_second.is_some() && self.link.is_none() {
            let reason = "commands reach the controller over the link";
            let keys = ["controller.commands_per_second", "link"];
            let remedy = "link = { rate = \"7000MB/s\", overhead = \"10us\" } would work";
            return contradiction(keys, "`controller.commands_per_second`", "no `link`", reason, remedy);
        }
        let write_back = self.write_buffer.is_some_and(|buffer| buffer.mode == BufferMode::WriteBack);
        if controller.paces_writes() && !write_back {
            let reason = "they limit how fast pages leave the write buffer for flash";
            let keys = ["controller.write_rate", "write_buffer"];
            let first = "`controller.write_rate` or `controller.copy_rate`";
            let remedy = "write_buffer = { size = \"16MiB\", latency = \"500ns\" } would work";
            return contradiction(keys, first, "no `write_buffer` that writes back", reason, remedy);
        }
        Ok(())
    }
}
