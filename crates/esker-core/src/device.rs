//! The contract between a device and whoever drives it.

use thiserror::Error;

use crate::{Bytes, Change, ChangeError, Completion, Nanos, Ownable, Ratio, Request, Tag};

/// Serves block requests. Times are nanoseconds since the start of the run; a device has no clock of its own.
///
/// The order at one instant: internal events, then completions upward, then arrivals. A request completes once: as a
/// whole, or with the error at its lowest address. A `Flush` covers the requests that had completed before it was
/// submitted.
pub trait Device: Send {
    /// Bytes that the host can address.
    fn capacity(&self) -> Bytes;

    /// How many more requests the device takes now. Submitting more is a bug of the caller (asserted). Each completion
    /// frees a slot.
    fn free_slots(&self) -> usize;

    /// Takes a request at `now <= next_event()`: the caller must not skip an event (asserted, here and in `advance`).
    /// Ranges beyond the capacity complete with [`crate::DeviceError::OutOfRange`].
    fn submit(&mut self, now: Nanos, tag: Tag, request: Request);

    /// Time of the next internal event; [`Nanos::NEVER`] if only a request can wake the device. Costs O(1): `submit`
    /// and `advance` keep it up to date.
    fn next_event(&self) -> Nanos;

    /// Performs what is due at `now == next_event()`, and appends the requests that ended to `done`.
    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>);

    /// Performs what is due at [`Self::next_event`], which is before `limit`, and goes on with what is due at later
    /// times before `limit` until a request ends. Returns the last of these times. Has the same effect as calls of
    /// [`Self::advance`] at these times; it exists because a device with many internal events for one request saves
    /// the way through its caller.
    #[inline]
    fn advance_before(&mut self, limit: Nanos, done: &mut Vec<Completion>) -> Nanos {
        let now = self.next_event();
        debug_assert!(now < limit, "nothing is due before {limit}");
        self.advance(now, done);
        now
    }

    /// A hint: `request` will probably be submitted next. The device may prefetch what it needs for it into the
    /// processor's caches. Changes nothing but speed.
    #[inline]
    fn expect(&self, request: &Request) {
        let _ = request;
    }

    /// Carries out a command that is no request. Composite devices pass commands on to their children. Only called
    /// while no request is under way, except for `PauseWearLevelling`.
    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported>;

    /// Makes a change to `device`, by its name in reports: this one, one below it or one above it. Comes at
    /// `now <= next_event()`, like a request, and requests may be under way. Returns false if it is nothing to this
    /// device and those below it. Composite devices make the changes that they understand, of themselves or of a child,
    /// and pass all others on to their children.
    fn change(&mut self, now: Nanos, device: &str, change: Change) -> Result<bool, ChangeError> {
        let _ = (now, device, change);
        Ok(false)
    }

    /// What a policy may know about the device, and how busy each kind of resource has been.
    fn telemetry(&self) -> Telemetry;

    /// The device as one that can have an owner, if it can.
    fn ownable(&mut self) -> Option<&mut dyn Ownable> {
        None
    }
}

/// Commands to a device that are no requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Bring the content into the stated condition, in no simulated time.
    Precondition(Precondition),
    /// Forget counters and busy times; keep content and wear.
    StartMeasuring,
    /// Record some of the requests after [`Control::StartMeasuring`], with what the device did for them. Sent before
    /// any request. Devices without a timeline ignore it.
    RecordTimeline(Stretch),
    /// Stop (true) or resume (false) wear levelling that moves data only to level wear. A composite device passes it on
    /// to all of its children, and supports it if one of them does. A loss of power ends the pause.
    PauseWearLevelling(bool),
}

/// Which requests a timeline keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stretch {
    /// The first ones, at most this many.
    First(u32),
    /// The last ones taken, at most this many, and those that came after one of them that has not ended yet.
    Last(u32),
}

/// The condition of a device's content before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// As from the factory.
    Empty,
    /// The first `utilisation` of the host's address space written once in address order, the rest never written.
    Filled {
        /// Share of the host's address space.
        utilisation: Ratio,
    },
    /// The state in which write amplification is steady: as if the filled part had been overwritten page by page at
    /// uniformly random addresses for long. A device that can compute this state may start in it.
    Steady {
        /// Share of the host's address space.
        utilisation: Ratio,
        /// Seed of the overwrites.
        seed: u64,
    },
}

/// Returned by a device that does not know a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("this device does not support {0}")]
pub struct Unsupported(pub &'static str);

/// Whether a device serves requests; a larger value is a worse state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceState {
    /// Serves all requests.
    #[default]
    Online,
    /// Takes no writes.
    ReadOnly,
    /// Data that the device had acknowledged may be lost. Until it is opened anew it takes no writes and its flushes
    /// fail; reads may still be served.
    Failed,
}

/// A kind of resource inside a device that can saturate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
    /// A serial flash bus.
    Bus,
    /// A flash die.
    Die,
    /// A disk's arm and head.
    Arm,
    /// The link to the host.
    Link,
    /// A server of the constant device.
    Server,
    /// What a cloud volume or its instance lets through in operations.
    Operations,
    /// What a cloud volume or its instance lets through in bytes.
    Throughput,
}

/// How long the resources of one kind have been busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyTime {
    /// Which kind.
    pub kind: ResourceKind,
    /// How many of them the device has.
    pub count: u32,
    /// Sum of their busy times up to now (an operation under way counts in full, at its start).
    pub busy: Nanos,
    /// The largest busy time of a single resource.
    pub busiest: Nanos,
}

/// What a policy may know about a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// Whether the device serves requests.
    pub state: DeviceState,
    /// Requests under way.
    pub queued: usize,
    /// Space that can take writes without cleaning; `None` for devices that do not clean.
    pub free_space: Option<Bytes>,
    /// Block erases so far.
    pub erases: u64,
    /// Whether the device counts its erases. It may have erased nothing yet.
    pub counts_erases: bool,
    /// Share of the rated life that is used up (mean over blocks).
    pub life_used: Ratio,
    /// Busy times since measuring started, one entry per kind of resource.
    pub busy: Vec<BusyTime>,
}

impl Telemetry {
    /// Returns true if the device knows how worn it is. One that does not count erases, and has used nothing of its
    /// life, may not know, or not yet.
    pub fn knows_wear(&self) -> bool {
        self.counts_erases || self.life_used > Ratio::ZERO
    }
}

/// What a drive says of its wear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriveWear {
    /// The share of its rated life that is used, in whole per cent, rounded down. It may exceed 100.
    pub used_percent: u64,
    /// What it has been written since it was new, if it counts that.
    pub written: Option<Bytes>,
    /// The size of the whole drive, of which a device may be a part.
    pub capacity: Option<Bytes>,
}
