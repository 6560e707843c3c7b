//! Devices that a volume is opened on.

use std::io;

use esker_core::ByteRate;

use super::{Backend, BlockingBackend, Direct, MemoryBackend};

/// A device on which a volume is created or opened, and which serves afterwards.
pub trait OpenDevice: Send {
    /// What errors call the device.
    fn name(&self) -> &str;

    /// The device while the volume is created or opened.
    fn blocking(&mut self) -> &mut dyn BlockingBackend;

    /// Has the operating system forget what it keeps of the device in memory, after a
    /// [`flush`](BlockingBackend::flush): later reads show what the device holds.
    fn forget_cached(&mut self) -> io::Result<()>;

    /// Returns true if it was opened to be read, and takes no writes.
    fn only_reads(&self) -> bool {
        false
    }

    /// What its server says that it is, if it has one that says so.
    fn description(&self) -> Option<&str> {
        None
    }

    /// How much it does at a time while it serves.
    fn limits(&self) -> DeviceLimits {
        DeviceLimits::default()
    }

    /// Makes it serve. Called by the thread that drives the volume.
    fn into_backend(self: Box<Self>) -> Box<dyn Backend>;
}

/// What [`is_device_name`] asks of a name, for errors.
pub const DEVICE_NAME_RULE: &str = "a name has letters, digits, `-` and `_`";

/// Returns true if a device of a volume may be called `name`: commands, files and figures name it without quotes.
pub fn is_device_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// How much a device does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Operations that it has at a time, at most. Others wait, those of users before those in the background.
    pub depth: usize,
    /// Bytes per second that are read and written in the background; `None` for no limit.
    pub background: Option<ByteRate>,
}

impl Default for DeviceLimits {
    /// No limits.
    fn default() -> Self {
        Self { depth: usize::MAX, background: None }
    }
}

impl OpenDevice for MemoryBackend {
    fn name(&self) -> &'static str {
        "memory"
    }
    fn blocking(&mut self) -> &mut dyn BlockingBackend {
        self
    }
    fn forget_cached(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn into_backend(self: Box<Self>) -> Box<dyn Backend> {
        Box::new(Direct::new(*self))
    }
}
