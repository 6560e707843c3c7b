//! The contract between a device and whoever drives it.

use thiserror::Error;

use crate::{Bytes, CannotOwn, Change, ChangeError, Completion, Lba, Nanos, OwnedRoom, Ratio, Request, Retention, Tag};

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

    /// Composite devices: how fast each child has answered since measuring started, in order of the children.
    fn child_responses(&self) -> Vec<ChildResponses> {
        Vec::new()
    }

    /// Devices that keep extents of the host's address space on their children: how many each child holds, and what was
    /// moved since the start. `None` for all others. Takes time in proportion to the children, not to the extents.
    fn placement(&self) -> Option<PlacementTelemetry> {
        None
    }

    /// Devices with a [`Device::placement`]: calls `visit` with the child that holds each extent, in order of address;
    /// `None` for an extent without a place. Takes time in proportion to the extents.
    fn visit_extents(&self, visit: &mut dyn FnMut(Option<usize>)) {
        let _ = visit;
    }

    /// Gives the device an owner, before anything else is asked of it: from now on it is empty, may drop data as
    /// [`Self::retain`] says, and has more addresses than room. With `drops` it drops what is droppable instead of
    /// copying it when it cleans. Only some devices can.
    fn own(&mut self, drops: bool) -> Result<OwnedRoom, CannotOwn> {
        let _ = drops;
        Err(CannotOwn { message: "this device does not leave to others which data it keeps".to_string() })
    }

    /// Devices with an [owner](Self::own): how long the data of a range have to stay from now on, until they
    /// are written or trimmed again. What is written has to stay at first. All others keep what they hold.
    fn retain(&mut self, start: Lba, length: Bytes, retention: Retention) {
        let _ = (start, length, retention);
    }

    /// The next range whose data such a device has dropped since it was last asked; `None` if there is none left.
    /// Whoever drives it asks after every request and every event, before anything else happens.
    fn take_dropped(&mut self) -> Option<(Lba, Bytes)> {
        None
    }

    /// What such a device has room for now, if that has become less since it was last asked, as flash does when it
    /// wears out. What it holds beyond that stays until its owner lets it go, but writes may then find no room
    /// ([`crate::DeviceError::NoSpace`]). Asked for after [`Self::take_dropped`].
    fn take_room(&mut self) -> Option<OwnedRoom> {
        None
    }
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
    fn change(&mut self, now: Nanos, device: &str, change: Change) -> Result<bool, ChangeError> {
        (**self).change(now, device, change)
    }
    fn telemetry(&self) -> Telemetry {
        (**self).telemetry()
    }
    fn child_responses(&self) -> Vec<ChildResponses> {
        (**self).child_responses()
    }
    fn placement(&self) -> Option<PlacementTelemetry> {
        (**self).placement()
    }
    fn visit_extents(&self, visit: &mut dyn FnMut(Option<usize>)) {
        (**self).visit_extents(visit);
    }
    fn own(&mut self, drops: bool) -> Result<OwnedRoom, CannotOwn> {
        (**self).own(drops)
    }
    fn retain(&mut self, start: Lba, length: Bytes, retention: Retention) {
        (**self).retain(start, length, retention);
    }
    fn take_dropped(&mut self) -> Option<(Lba, Bytes)> {
        (**self).take_dropped()
    }
    fn take_room(&mut self) -> Option<OwnedRoom> {
        (**self).take_room()
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
    /// Stop (true) or resume (false) wear levelling that moves data only to level wear.
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

/// How fast a child of a composite device has answered the host's requests; without what serves no single one of them,
/// such as copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChildResponses {
    /// Requests that ended.
    pub requests: u64,
    /// Sum of their response times in nanoseconds, each from sending the request to the child until its end.
    pub nanoseconds: u128,
}

/// What a device that places extents holds and has moved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlacementTelemetry {
    /// Bytes of an extent.
    pub extent: Bytes,
    /// Its children, in their order, without those that have not joined yet.
    pub children: Vec<ChildExtents>,
    /// Extents copied to another child.
    pub moved_extents: u64,
    /// Bytes of those extents.
    pub moved_bytes: u64,
    /// Bytes that copies have read, those that were given up included.
    pub copied_bytes: u64,
    /// Writes of the host that went to another child than the extent that they replaced.
    pub redirected_writes: u64,
    /// Copies that were given up.
    pub abandoned_moves: u64,
    /// Extents freed by trims of the host.
    pub freed_extents: u64,
    /// New extents that went to another child than the policy chose, because that one had no room or took no writes.
    pub displaced_extents: u64,
    /// How often an extent should have moved to a child that had no free extent.
    pub moves_without_room: u64,
    /// Tokens of its policy; `None` if the policy has none.
    pub tokens: Option<TokenCounts>,
}

/// What became of a policy's tokens so far. Each lets one extent go to a device where the policy wants more of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Tokens that there were.
    pub granted: u64,
    /// Spent on the places of new extents.
    pub new_extents: u64,
    /// Spent on moves, those that could not begin or were given up included.
    pub moves: u64,
    /// Spent on writes of the host that replace an extent.
    pub redirects: u64,
    /// Taken back at the end of their period.
    pub lapsed: u64,
}

/// What a child of such a device holds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChildExtents {
    /// Extents of the host that lie there.
    pub extents: u64,
    /// The share that the policy wants it to have, of the requests or of the extents, as the policy counts; `None` if
    /// the policy has no such shares.
    pub target_share: Option<f64>,
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
    /// Share of the rated life that is used up (mean over blocks).
    pub life_used: Ratio,
    /// Busy times since measuring started, one entry per kind of resource.
    pub busy: Vec<BusyTime>,
}
