//! Placement: a map says which device holds each extent of the host's address space. A policy decides where new extents
//! go, and which extents move.

mod background;
mod blocks;
mod cache;
mod capacity;
mod completions;
mod controls;
mod copies;
mod drains;
mod free_space;
mod frees;
mod io;
mod leaving_places;
mod limits;
mod lost_data;
mod map;
mod merges;
mod mirrored;
mod mirrors;
mod moves;
mod policy;
mod records;
mod redirects;
mod refused_writes;
mod report;
mod requests;
mod reshape;
mod settings;
mod snapshot;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::VecDeque;
use std::ops::Range;

use esker_core::{Bytes, DeviceError, DeviceState, Machine, Nanos, Ratio, Request, Tag, TagSlab};
use esker_results::{DeviceReport, ExtentPlaces, PlacementReport, TokenReport};

use crate::engine::{
    BackgroundReport, Durability, Effect, Engine, Health, Hosts, Input, LiveSettings, LiveSettingsError, Record,
    RecordNumber, Reshape, ReshapeError, Snapshot, WrittenBlocks,
};
use crate::extent::{DeviceIndex, LogicalExtent};
use background::Background;
use copies::Copies;
use drains::Drains;
use io::{HostPart, Io};
use leaving_places::LeavingPlaces;
use limits::Limits;
use map::ExtentMap;
use merges::Merge;
use mirrors::Mirrors;
use refused_writes::RefusedPart;

pub use background::WrittenInDay;
pub use cache::MemoryCache;
pub use capacity::UnmetShare;
pub use map::PlacementRecord;
pub use policy::{
    BuildPlacement, Completed, DeviceView, Event, LIFE_PERIOD, LifeBudget, MoveOutcome, NewExtent, NewPolicy,
    PLACEMENTS, Placement, PlacementEntry, PlacementError, PolicySettings, Rewrite, StaticSplit, StaticSplitSettings,
    TwoCopies, WishedMove, Wishes, check_device, checked_weights, schema_of,
};
pub use settings::{PlacementSettings, RestoreError, SettingsError};

/// Largest number of devices of one engine.
const DEVICES_MAX: usize = 1024;

/// Largest number of extents of one engine: 256 GiB in extents of 4 KiB, with a map of 1.3 GiB.
const EXTENTS_MAX: u64 = 1 << 26;

/// Splits the host's requests at extents, finds a place for each extent that is written for the first time, moves
/// extents as its policy asks, and issues the records of the map.
///
/// It keeps some rules in addition to those of every [`Engine`]:
/// - A record describes only data that are durable on their device.
/// - When the data of a place have gone, the place is reused only after the record of that is durable (see
///   `leaving_places.rs`).
/// - Of a place, only the blocks that the host has written since the extent got it are read (see `blocks.rs`).
#[derive(Debug)]
pub struct PlacementEngine {
    extent: u64,
    free_on_trim: bool,
    policy: Box<dyn Placement>,
    /// The policies that an operator may choose from.
    policies: &'static [PlacementEntry],
    map: ExtentMap,
    health: Health,
    hosts: Hosts,
    ios: TagSlab<Io>,
    durability: Durability,
    copies: Copies,
    leaving: LeavingPlaces,
    /// Number of writes under way that write some block for the first time.
    first_writes: u32,
    /// Number of redirected writes under way, merged ones included.
    redirects: u32,
    merges: TagSlab<Merge>,
    mirrors: Mirrors,
    /// If the next input is a write that [`Self::widened`] has announced: its extent, and the device to which it is
    /// redirected.
    promised: Option<(LogicalExtent, DeviceIndex)>,
    drains: Drains,
    background: Background,
    limits: Limits,
    /// Share of each device's extents that new extents leave free, so that extents can move there.
    kept_free: Ratio,
    /// The share that the settings name; `None` for the default of the policy.
    reserve: Option<Ratio>,
    /// Number of parts of host requests under way on each device.
    under_way: Vec<u32>,
    snapshot: Option<Snapshot>,
    /// Writes of the host that wait until places become free.
    waiting_for_space: VecDeque<(Tag, Request)>,
    /// Requests of the host that wait for a first write to their blocks, or for a redirected write.
    waiting_for_writes: VecDeque<(Tag, Request)>,
    /// Parts of writes that a device refused, to be sent to another one.
    refused: Vec<RefusedPart>,
    /// Blocks that a part which has just ended has written for the first time: their records wait for a flush.
    unflushed: Vec<WrittenBlocks>,
    views: Vec<DeviceView>,
    wishes: Wishes,
    /// Devices whose wear levelling the policy has paused.
    paused_levelling: Vec<DeviceIndex>,
    moved: PlacementReport,
    /// Tokens of the policy when measuring started.
    tokens_before: TokenReport,
    /// A fault for tests.
    #[cfg(test)]
    fault: Option<tests::Fault>,
}

impl PlacementEngine {
    /// Creates an engine in which nothing is mapped: everything reads as zeroes.
    pub fn new(settings: &PlacementSettings) -> Result<Self, SettingsError> {
        let (mut checkpoint, mut journal) = (std::iter::empty(), std::iter::empty());
        Self::restore(settings, RecordNumber(0), &mut checkpoint, &mut journal).map_err(|error| match error {
            RestoreError::Settings(error) => error,
            error => unreachable!("an empty map is sound: {error}"),
        })
    }

    /// Creates an engine with the map that the records of a `checkpoint` make, changed by those of the `journal` that
    /// follow it. `through` is the last record that the checkpoint includes. Nothing is kept of the records.
    ///
    /// A source whose reading fails ends early and keeps its error: look at that before the engine is used.
    pub fn restore(
        settings: &PlacementSettings,
        through: RecordNumber,
        checkpoint: &mut dyn Iterator<Item = Record>,
        journal: &mut dyn Iterator<Item = Record>,
    ) -> Result<Self, RestoreError> {
        let sizes = settings.sizes()?;
        let count = sizes.len();
        let policy = settings.policy.build(settings.policies, count).map_err(SettingsError::Policy)?;
        let mut through = through;
        let extent = settings.extent.0;
        let map = ExtentMap::restore(&sizes, extent, checkpoint.chain(journal.inspect(|_| through.0 += 1)))?;
        let mut engine = Self {
            extent,
            free_on_trim: settings.free_on_trim,
            policy,
            policies: settings.policies,
            map,
            health: Health::new(count),
            hosts: Hosts::default(),
            ios: TagSlab::default(),
            durability: Durability::new(count, through),
            copies: Copies::default(),
            leaving: LeavingPlaces::default(),
            first_writes: 0,
            redirects: 0,
            merges: TagSlab::default(),
            mirrors: Mirrors::default(),
            promised: None,
            drains: Drains::default(),
            background: Background::new(),
            limits: Limits::default(),
            kept_free: Ratio::ZERO,
            reserve: None,
            under_way: vec![0; count],
            snapshot: None,
            waiting_for_space: VecDeque::new(),
            waiting_for_writes: VecDeque::new(),
            refused: Vec::new(),
            unflushed: Vec::new(),
            views: Vec::with_capacity(count),
            wishes: Wishes::default(),
            paused_levelling: Vec::new(),
            moved: PlacementReport::default(),
            tokens_before: TokenReport::default(),
            #[cfg(test)]
            fault: None,
        };
        engine.tell_places();
        Ok(engine)
    }

    /// Tells the engine, before any input, that `device` was removed ([`Reshape::Remove`]). The settings still have the
    /// device's former capacity, because old records mention its places.
    ///
    /// # Errors
    /// If the map says that data lie there.
    pub fn with_removed(mut self, device: DeviceIndex) -> Result<Self, RestoreError> {
        let extents = self.map.mapped(device.0.into());
        if extents > 0 {
            return Err(RestoreError::Removed { device: device.0, extents });
        }
        self.map.remove_device(device.0.into());
        self.health.remove(device);
        self.drains.add_removed(device);
        Ok(self)
    }

    /// Tells the engine, before any input, that `device` is missing: its data cannot be read, nor changed in part, and
    /// everything else is served. Draining the device reports which extents are lost.
    pub fn without(mut self, device: DeviceIndex) -> Self {
        self.health.miss(device);
        self
    }

    /// Has the engine move nothing: its devices are only read, or places that the journal calls free may hold data.
    pub fn only_read(mut self) -> Self {
        self.background.only_read();
        self
    }

    /// Tells the policy where all extents are.
    fn tell_places(&mut self) {
        let mapped = (0..self.map.len()).map(LogicalExtent);
        for extent in mapped {
            if self.map.place(extent).is_some() {
                self.tell_place(extent);
            }
        }
    }

    /// Replaces the policy, before any input.
    pub fn with_policy(mut self, policy: Box<dyn Placement>) -> Self {
        self.policy = policy;
        self.tell_places();
        self
    }

    /// Does all the work that an input has made possible.
    fn go_on(&mut self, now: Nanos, effects: &mut Vec<Effect>) {
        self.resend_refused(now, effects);
        self.grant_wishes(now, effects);
        loop {
            self.reuse_places(effects);
            self.continue_drains(now, effects);
            self.serve_waiting(now, effects);
            // Second copies that have made room leave their places.
            if !self.mirrors.have_been_dropped() {
                return;
            }
        }
    }

    /// Marks the journal as failed, and answers all requests that wait for records with an error.
    fn fail_journal(&mut self, effects: &mut Vec<Effect>) {
        self.health.fail_journal();
        for tag in self.durability.give_up() {
            self.hosts.reply(tag, Err(DeviceError::Failed), effects);
        }
    }

    /// Returns the blocks that `request` touches, counted from the start of the address space.
    fn request_blocks(&self, request: &Request) -> Range<usize> {
        self.map.blocks.size.touched_by(request.start.byte_offset()..request.end_byte())
    }

    /// Returns true if a test has introduced this fault.
    #[cfg(test)]
    fn has_fault(&self, fault: tests::Fault) -> bool {
        self.fault == Some(fault)
    }
}

impl Machine for PlacementEngine {
    type Input = Input;
    type Effect = Effect;

    fn on(&mut self, now: Nanos, input: Input, effects: &mut Vec<Effect>) {
        self.limits.pass_time(now, self.under_way.len());
        match input {
            Input::Host { tag, request } => self.host(now, tag, request, effects),
            Input::Done { io, at, result } => self.io_done(now, io, at, result, effects),
            Input::Durable { through } => {
                self.leaving.durable(through);
                for tag in self.durability.durable(through, effects) {
                    self.hosts.reply(tag, Ok(()), effects);
                }
            }
            Input::JournalFailed => self.fail_journal(effects),
            Input::Device { device, telemetry } => {
                self.health.learn(device, telemetry.state);
                self.notify_policy(now, Event::Device { device, telemetry: &telemetry });
            }
            Input::Dropped { .. } | Input::Room { .. } => unreachable!("no device may drop what is placed on it"),
            Input::Unsupported { device, control } => self.is_unsupported(now, device, control),
            Input::Timer => {
                self.notify_policy(now, Event::Timer);
                self.drains.ask_again(now, effects);
                self.end_refusals(now, effects);
            }
        }
        self.go_on(now, effects);
    }

    fn look_period(&self) -> Option<Nanos> {
        self.policy.telemetry_period()
    }
}

impl Engine for PlacementEngine {
    /// All extents of all devices, or the part that [`PlacementEngine::offer`] offers.
    fn capacity(&self) -> Bytes {
        Bytes(u64::from(self.map.len()) * self.extent)
    }

    fn written_run(&self, start: Bytes, length: Bytes) -> (Bytes, bool) {
        self.map.blocks.written_run(start, length)
    }

    fn capacity_max(&self) -> Bytes {
        self.largest_offer().max(self.capacity())
    }

    fn check_reshape(&self, reshape: Reshape) -> Result<(), ReshapeError> {
        self.check_change(reshape)
    }

    fn reshape(&mut self, now: Nanos, reshape: Reshape, effects: &mut Vec<Effect>) -> Result<(), ReshapeError> {
        self.check_change(reshape)?;
        self.change_shape(reshape);
        self.go_on(now, effects);
        Ok(())
    }

    fn check_set(&self, settings: &LiveSettings) -> Result<(), LiveSettingsError> {
        self.check_live(settings)
    }

    fn set(&mut self, now: Nanos, settings: &LiveSettings, effects: &mut Vec<Effect>) -> Result<(), LiveSettingsError> {
        self.check_live(settings)?;
        self.set_live(now, settings, effects);
        Ok(())
    }

    fn background(&self, now: Nanos) -> Option<BackgroundReport> {
        Some(self.background_now(now))
    }

    fn device_state(&self, device: DeviceIndex) -> DeviceState {
        self.health.device(device)
    }

    fn state(&self) -> DeviceState {
        self.health.worst()
    }

    fn begin_checkpoint(&mut self) -> RecordNumber {
        self.begin_snapshot()
    }

    fn continue_checkpoint(&mut self, most: u32, visit: &mut dyn FnMut(Record)) -> bool {
        self.continue_snapshot(most, visit)
    }

    fn fill(&mut self, share: Ratio) {
        self.fill_extents(share);
    }

    fn start_measuring(&mut self) {
        self.forget_moves();
    }

    fn report(&self, into: &mut DeviceReport) {
        into.placement = Some(self.moved_now());
    }

    fn extent_places(&self) -> Option<&dyn ExtentPlaces> {
        Some(self)
    }

    fn check(&self) {
        let redirected = self.ios.iter().filter_map(|io| match io {
            Io::Part(part) if part.redirect && part.merge.is_none() => Some(part),
            _ => None,
        });
        let redirected = redirected.flat_map(|part| part.places().map(|(_, place)| place));
        let taken = self.copies.targets().chain(self.leaving.places()).chain(self.mirrors.places());
        self.map.check(taken.chain(redirected).chain(self.merges.iter().map(Merge::to)));
        self.durability.check();
    }
}
