//! The contract between a device and whoever drives it.

use thiserror::Error;

use crate::{Bytes, Completion, Nanos, Ratio, Request, Tag};

/// Serves block requests. Times are nanoseconds since the start of the run; a device has no clock of its own.
///
/// At one instant the order is: internal events, completions upward, arrivals last. A request completes once, whole
/// or with its first error by address. A `Flush` covers what had completed before it was submitted.
pub trait Device: Send {
    /// Bytes that the host can address.
    fn capacity(&self) -> Bytes;

    /// How many more requests it takes now; one too many is the caller's bug (asserted). A completion frees a slot.
    fn free_slots(&self) -> usize;

    /// Takes a request at `now <= next_event()`: no event may be skipped (asserted, here and in `advance`).
    /// Ranges beyond the capacity complete with [`crate::DeviceError::OutOfRange`].
    fn submit(&mut self, now: Nanos, tag: Tag, request: Request);

    /// When it next has something to do; [`Nanos::NEVER`] while only a request can wake it. O(1), kept up by `submit`
    /// and `advance`.
    fn next_event(&self) -> Nanos;

    /// Does what is due at this one instant, `now == next_event()`, and appends what ended to `done`.
    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>);

    /// Hears which request will probably be submitted next, so that the device may fetch what it will need into the
    /// processor's caches. Nothing that can be observed changes, but for speed.
    #[inline]
    fn expect(&self, request: &Request) {
        let _ = request;
    }

    /// Beside the data path. Composite devices pass commands on to their children. Only called while no request is
    /// under way, except for `PauseWearLevelling`.
    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported>;

    /// What a policy may know, and how busy each kind of resource has been.
    fn telemetry(&self) -> Telemetry;
}

/// A boxed device is a device, so that drivers which are generic over one take a device tree too.
impl<D: Device + ?Sized> Device for Box<D> {
    fn capacity(&self) -> Bytes {
        (**self).capacity()
    }
    fn free_slots(&self) -> usize {
        (**self).free_slots()
    }
    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        (**self).submit(now, tag, request);
    }
    fn next_event(&self) -> Nanos {
        (**self).next_event()
    }
    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        (**self).advance(now, done);
    }
    fn expect(&self, request: &Request) {
        (**self).expect(request);
    }
    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        (**self).control(now, command)
    }
    fn telemetry(&self) -> Telemetry {
        (**self).telemetry()
    }
}

/// Commands beside the data path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Bring the content into the stated condition, in no simulated time.
    Precondition(Precondition),
    /// Forget counters and busy times; keep content and wear.
    StartMeasuring,
    /// Record some of the requests after [`Control::StartMeasuring`] with what the device did for them. Before any
    /// request. Devices that have nothing to tell ignore it.
    RecordTimeline(Stretch),
    /// Hold (true) or go on with (false) explicit wear-levelling.
    PauseWearLevelling(bool),
}

/// Which requests a timeline keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stretch {
    /// The first ones, so many.
    First(u32),
    /// Those that the device took last, so many; and those that came after one of them that has not ended.
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
    /// As overwriting the filled part page by page at uniformly random addresses leaves it once write amplification
    /// is steady. A device that knows this state may begin in it.
    Steady {
        /// Share of the host's address space.
        utilisation: Ratio,
        /// Seed of the overwrites.
        seed: u64,
    },
}

/// The answer of a device that does not know a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("this device does not support {0}")]
pub struct Unsupported(pub &'static str);

/// Whether a device serves; the worst state is the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DeviceState {
    /// Serves everything.
    #[default]
    Online,
    /// Takes no writes.
    ReadOnly,
    /// Data that it had taken may be lost. It takes no writes, and its flushes fail, until it is opened anew; it may
    /// still serve reads.
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
}

/// How long resources of one kind have been busy, summed over all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyTime {
    /// Which kind.
    pub kind: ResourceKind,
    /// How many of them there are.
    pub count: u32,
    /// Sum of their busy times up to now (work under way counts whole, at its start).
    pub busy: Nanos,
    /// The largest busy time of a single one.
    pub busiest: Nanos,
}

/// What a policy may know of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// Whether it serves.
    pub state: DeviceState,
    /// Requests under way.
    pub queued: usize,
    /// Space that can take writes without cleaning; `None` where the notion makes no sense.
    pub free_space: Option<Bytes>,
    /// Block erases so far.
    pub erases: u64,
    /// Share of the rated life that is used up (mean over blocks).
    pub life_used: Ratio,
    /// Busy times since measuring started, one entry per kind of resource.
    pub busy: Vec<BusyTime>,
}
