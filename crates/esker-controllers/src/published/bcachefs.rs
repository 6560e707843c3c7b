//! Heat tiering as bcachefs does it with targets, as a policy that moves extents.
//!
//! Sources: "bcachefs: Principles of Operation", "Device labels and targets", "Caching" and "Reconcile" (formerly
//! rebalance), and for what these leave open `rebalance.c`, `move.c`, `data_update.c` and `opts.h` of `fs/bcachefs` in
//! Linux.
//!
//! The set-up is the one that the document gives for a write-back cache: the foreground and the promote target are the
//! fast device, the background target is the slow ones. What the host writes goes to the fast device. In the background
//! (with idle priority, so that the host's requests go first) all that it has written moves to the slow ones, in order
//! of address, in passes; when a pass has found nothing, the next one begins once a 64th of the smallest device has
//! been written. What is read from the slow ones moves to the fast device. If that is full, what was used there least
//! recently, of what need not move behind any more, has to leave.
//!
//! What is assumed:
//! - An extent is in one place. In bcachefs, both kinds of moves leave a second copy on the fast device, which costs
//!   nothing to drop. Here a promotion moves, what is dropped is copied back, and what was written and moved behind has
//!   to be promoted before it is fast again.
//! - A promotion reads the extent anew; bcachefs writes what the host's read has read.
//! - At most 16 extents are promoted or dropped at a time. bcachefs has a limit for each processor, and does not
//!   promote to a device that it finds congested.
//! - A write of a part of an extent on a slow device stays there. bcachefs never writes in place: the part would go to
//!   the foreground target.
//! - Data that are there before the first request are on the slow devices, and have nothing to do behind.
//! - Moves in flight are limited to 32 and 1 MiB, as in Linux. Later sources of bcachefs have 64 and 64 MiB.
//! - Where a volume is opened, all that is on the fast device still has to move behind.

#[cfg(test)]
mod tests;

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Linked, Links, List, Nanos, bits};
use esker_tier::{
    DeviceIndex, DeviceView, Event, LogicalExtent, MoveOutcome, NewExtent, NewPolicy, Placement, PlacementEntry,
    PlacementError, Rewrite, WishedMove, Wishes, schema_of,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tiers::{ExtentSize, MovesUnderWay, Tiers};

/// The entry of [`super::PUBLISHED_PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "bcachefs",
    summary: "Writes go to the fast device and move behind to the slow ones; what is read there comes back",
    source: "bcachefs: Principles of Operation, on targets, caching and reconcile; fs/bcachefs of Linux",
    parameters: ParameterSource::Schema(schema_of::<BcachefsSettings>),
    capabilities: &[],
    build,
};

/// Most extents that are promoted or dropped at a time.
const PROMOTIONS_MAX: usize = 16;
/// A pass begins after this part of the smallest device has been written.
const PASS_AFTER: u64 = 64;
const IOS_MAX: u32 = 1024;
const BYTES_MIN: Bytes = Bytes::kib(1);
const BYTES_MAX: Bytes = Bytes::gib(4);

/// Settings of [`Bcachefs`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct BcachefsSettings {
    /// The foreground and promote target, by its place in `children`, from 0. All others are the background target.
    fast: u16,
    /// Most extents that move behind at a time.
    #[schemars(range(min = 1, max = 1024))]
    move_ios_in_flight: u32,
    /// Another extent moves behind while fewer bytes than this do.
    #[schemars(extend("least" = "1KiB", "most" = "4GiB"))]
    move_bytes_in_flight: Bytes,
}

impl Default for BcachefsSettings {
    fn default() -> Self {
        Self { fast: 0, move_ios_in_flight: 32, move_bytes_in_flight: Bytes::mib(1) }
    }
}

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let settings: BcachefsSettings = policy.options()?;
    let BcachefsSettings { fast, move_ios_in_flight: ios, move_bytes_in_flight: bytes } = settings;
    let error = |key: &str, message: String| Err(PlacementError::new(key, message));
    if !(1..=IOS_MAX).contains(&ios) {
        return error("move_ios_in_flight", format!("`move_ios_in_flight` is {ios}; it has to be 1 to {IOS_MAX}"));
    }
    if !(BYTES_MIN..=BYTES_MAX).contains(&bytes) {
        let message = format!("`move_bytes_in_flight` is {bytes}; it has to be {BYTES_MIN} to {BYTES_MAX}");
        return error("move_bytes_in_flight", message);
    }
    Ok(Box::new(Bcachefs::new(Tiers::new(fast, policy)?, settings)))
}

/// Where an extent is, and what is to be done about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Residence {
    /// On a slow device, or nowhere.
    #[default]
    Slow,
    /// On the fast device, written by the host: it has to move behind.
    Written,
    /// On the fast device, promoted: it may be dropped.
    Promoted,
}

/// What is known about an extent, in twelve bytes.
#[derive(Clone, Copy, Debug, Default)]
struct TieredExtent {
    links: Links,
    residence: Residence,
}

impl Linked for TieredExtent {
    fn links(&self) -> &Links {
        &self.links
    }
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// What the work in the background is doing.
#[derive(Clone, Copy, Debug)]
enum Pass {
    /// Goes through the extents, and is at `next`. `moved` tells whether it has moved any.
    Running { next: usize, moved: bool },
    /// Waits until the host has written this many bytes in all.
    Waiting { until: u64 },
}

/// A fast device that takes writes and what is read, and work in the background that moves writes on.
#[derive(Debug)]
struct Bcachefs {
    tiers: Tiers,
    settings: BcachefsSettings,
    extent: ExtentSize,
    extents: Vec<TieredExtent>,
    /// The promoted extents, least recently used first.
    promoted: List,
    /// A bit for each extent: whether the host has written it on the fast device.
    written: Vec<u64>,
    pass: Pass,
    /// Bytes that the host has written so far.
    written_bytes: u64,
    /// What moves behind, and what is promoted or dropped.
    behind: MovesUnderWay,
    promotions: MovesUnderWay,
}

impl Bcachefs {
    fn new(tiers: Tiers, settings: BcachefsSettings) -> Self {
        Self {
            tiers,
            settings,
            extent: ExtentSize::default(),
            extents: Vec::new(),
            promoted: List::EMPTY,
            written: Vec::new(),
            pass: Pass::Running { next: 0, moved: false },
            written_bytes: 0,
            behind: MovesUnderWay::default(),
            promotions: MovesUnderWay::default(),
        }
    }

    fn set(&mut self, LogicalExtent(extent): LogicalExtent, residence: Residence) {
        let index = extent as usize;
        if self.extents.len() <= index {
            self.extents.resize(index + 1, TieredExtent::default());
            self.written.resize(bits::words(index + 1), 0);
        }
        match std::mem::replace(&mut self.extents[index].residence, residence) {
            Residence::Slow => {}
            Residence::Written => bits::clear(&mut self.written, index),
            Residence::Promoted => drop(self.promoted.remove(&mut self.extents, extent)),
        }
        match residence {
            Residence::Slow => {}
            Residence::Written => bits::set(&mut self.written, index),
            Residence::Promoted => drop(self.promoted.push_back(&mut self.extents, extent)),
        }
    }

    fn residence(&self, extent: LogicalExtent) -> Residence {
        self.extents.get(extent.0 as usize).map_or(Residence::Slow, |extent| extent.residence)
    }

    fn read(&mut self, extent: LogicalExtent, devices: &[DeviceView], wishes: &mut Wishes) {
        match self.residence(extent) {
            Residence::Slow => self.promote(extent, devices, wishes),
            Residence::Written => {}
            // It becomes the most recently used one.
            Residence::Promoted => self.set(extent, Residence::Promoted),
        }
    }

    /// Moves `extent` to the fast device, or drops what was used least recently there.
    fn promote(&mut self, extent: LogicalExtent, devices: &[DeviceView], wishes: &mut Wishes) {
        if self.promotions.count() >= PROMOTIONS_MAX {
            return;
        }
        let fast = self.tiers.fast_view(devices);
        if fast.has_room() {
            self.promotions.ask(WishedMove::among_requests(extent, self.tiers.fast), wishes);
        } else if fast.is_full() {
            wishes.without_room += 1;
            if let Some((oldest, slow)) = self.promoted.first().zip(self.tiers.slow_with_room(devices)) {
                let oldest = LogicalExtent(oldest);
                self.promotions.ask(WishedMove::among_requests(oldest, slow), wishes);
                // Another one is the oldest until this one has left.
                self.set(oldest, Residence::Promoted);
            }
        }
    }

    /// Moves behind what the host has written, as far as the limits allow.
    fn move_behind(&mut self, devices: &[DeviceView], wishes: &mut Wishes) {
        let Some(slow) = self.tiers.slow_with_room(devices) else { return };
        while self.may_move_behind() {
            let next = match self.pass {
                Pass::Waiting { until } if self.written_bytes < until => return,
                Pass::Waiting { .. } => 0,
                Pass::Running { next, .. } => next,
            };
            let moved = matches!(self.pass, Pass::Running { moved: true, .. });
            match bits::first_of(next..self.extents.len(), |word| self.written[word]) {
                Some(found) => {
                    self.pass = Pass::Running { next: found + 1, moved };
                    self.behind.ask(WishedMove::in_background(LogicalExtent(found as u32), slow), wishes);
                }
                // What is under way may have to be tried again.
                None if self.behind.count() > 0 => {
                    self.pass = Pass::Running { next: self.extents.len(), moved };
                    return;
                }
                None if moved => self.pass = Pass::Running { next: 0, moved: false },
                None => {
                    let smallest = devices.iter().map(|view| u64::from(view.extents)).min().unwrap_or(0);
                    let until = self.written_bytes + smallest * self.extent.bytes() / PASS_AFTER;
                    self.pass = Pass::Waiting { until };
                    return;
                }
            }
        }
    }

    fn may_move_behind(&self) -> bool {
        let BcachefsSettings { move_ios_in_flight, move_bytes_in_flight, .. } = self.settings;
        let moving = self.behind.count() as u64;
        moving < u64::from(move_ios_in_flight) && moving * self.extent.bytes() < move_bytes_in_flight.0
    }
}

impl Placement for Bcachefs {
    fn place(&mut self, new: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        self.tiers.place(new.write.is_some(), devices)
    }

    fn placed(&mut self, extent: LogicalExtent, start: Bytes, device: Option<DeviceIndex>) {
        self.extent.learn(extent, start);
        match (device == Some(self.tiers.fast), self.residence(extent)) {
            (true, Residence::Slow) if self.promotions.has(extent) => self.set(extent, Residence::Promoted),
            (true, Residence::Slow) => self.set(extent, Residence::Written),
            (true, _) => {}
            (false, _) => self.set(extent, Residence::Slow),
        }
    }

    fn observe(&mut self, _: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        match *event {
            Event::Request { request, first, extents } if request.kind.has_data() => {
                let is_write = request.kind.is_write();
                for extent in (first.0..first.0 + extents).map(LogicalExtent) {
                    match is_write {
                        true if self.residence(extent) == Residence::Slow => {}
                        true => self.set(extent, Residence::Written),
                        false => self.read(extent, devices, wishes),
                    }
                }
                self.written_bytes += if is_write { request.length.0 } else { 0 };
                self.move_behind(devices, wishes);
            }
            Event::Moved { extent, outcome } => {
                self.promotions.ended(extent);
                if self.behind.ended(extent) && outcome == MoveOutcome::Done {
                    match &mut self.pass {
                        Pass::Running { moved, .. } => *moved = true,
                        Pass::Waiting { .. } => unreachable!("a pass ends when nothing is under way"),
                    }
                }
                self.move_behind(devices, wishes);
            }
            _ => {}
        }
    }

    fn observes(&self) -> bool {
        true
    }

    fn redirect(&mut self, write: &Rewrite<'_>, devices: &[DeviceView]) -> Option<DeviceIndex> {
        self.tiers.redirect(write.from, devices)
    }

    fn redirects(&self) -> bool {
        true
    }

    fn devices_joined(&mut self, _: usize) {}
}
