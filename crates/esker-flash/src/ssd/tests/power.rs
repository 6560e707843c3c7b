//! Drives that lose power at any moment, checked page by page against what was written.

use std::collections::{BTreeMap, BTreeSet};

use esker_core::{PhysicalPage, Priority, Rng, StreamId, registry};
use esker_ftl::{Choice, EndOfLife, FTLS, LayerCapability, Separation, WearLevelling, WearSettings, WriteFrontiers};
use esker_nand::array::DieStep;
use esker_nand::state::{Cause, SpareArea};
use esker_nand::{
    CopyBack, FlashArraySettings, Gang, GangControl, ModeSettings, MultiPlane, PoolScope, Rewrite, Scheduling,
    SuspendSettings, WriteModeSettings,
};
use esker_results::RecoveryReport;

use super::witness::{Programs, watch};
use super::*;
use crate::{BufferMode, PowerFailureSettings, WriteBufferSettings};

/// A host that submits random requests to a drive, and keeps track of what must survive a power failure.
struct Host {
    ssd: Ssd,
    rng: Rng,
    now: Nanos,
    pages: u32,
    requests: Vec<Request>,
    done: Vec<Completion>,
    programs: Programs,
    /// For each request, when it was submitted and when it ended without an error, in steps of the host.
    submitted: Vec<u64>,
    ended: Vec<Option<u64>>,
    steps: u64,
    /// Acknowledged writes, by request and page.
    acknowledged: BTreeSet<(u32, u32)>,
    /// Per page, when the last of its durable writes was submitted.
    durable: BTreeMap<u32, u64>,
    /// For each flush, by its request, the writes that were acknowledged when it was submitted.
    flushes: BTreeMap<u32, BTreeSet<(u32, u32)>>,
    /// For each trim, by its request, how many requests had been submitted when it ended.
    trims_done: BTreeMap<u32, u32>,
    /// Pages that were trimmed after their last durable write.
    trimmed: BTreeSet<u32>,
    /// Whether writes are durable once they are acknowledged.
    writes_are_durable: bool,
    trims: bool,
    forced: bool,
    interrupted: u64,
}

impl Host {
    fn new(settings: &SsdSettings, seed: u64) -> Option<Self> {
        let mut ssd = Ssd::new("flash", settings, seed).ok()?;
        let mut rng = Rng::new(seed);
        Some(Self {
            now: Nanos::ZERO,
            pages: ssd.back.space.host_pages,
            requests: Vec::new(),
            done: Vec::new(),
            programs: watch(&mut ssd),
            submitted: Vec::new(),
            ended: Vec::new(),
            steps: 0,
            acknowledged: BTreeSet::new(),
            durable: BTreeMap::new(),
            flushes: BTreeMap::new(),
            trims_done: BTreeMap::new(),
            trimmed: BTreeSet::new(),
            writes_are_durable: settings.write_buffer.is_none_or(|buffer| buffer.mode == BufferMode::WriteThrough),
            trims: rng.below(3) == 0,
            forced: rng.below(2) == 0,
            interrupted: 0,
            ssd,
            rng,
        })
    }

    fn pages_of(request: &Request) -> std::ops::Range<u32> {
        (request.start.0 / 8) as u32..(request.start.0 / 8 + request.length.0.div_ceil(4096)) as u32
    }

    fn submit(&mut self) {
        let hot = self.rng.below(2) == 0;
        let page = self.rng.below(u64::from(if hot { self.pages.div_ceil(8) } else { self.pages })) as u32;
        let count = 1 + self.rng.below(if self.rng.clone().below(8) == 0 { 8 } else { 2 }) as u32;
        let count = count.min(self.pages - page);
        let (start, length) = (Lba(u64::from(page) * 8), Bytes::kib(4 * u64::from(count)));
        let index = self.requests.len() as u32;
        let request = match self.rng.below(20) {
            0 => {
                self.flushes.insert(index, self.acknowledged.clone());
                Request { start: Lba(0), length: Bytes(0), kind: RequestKind::Flush, ..Request::read(start, length) }
            }
            1 if self.trims => {
                self.trimmed.extend(page..page + count);
                Request { kind: RequestKind::Trim, ..Request::read(start, length) }
            }
            2..6 => Request::read(start, length),
            6 => Request::write(start, Bytes(512)),
            kind => {
                let fua = self.forced && kind < 9;
                Request { kind: RequestKind::Write { fua }, ..Request::read(start, length) }
            }
        };
        let (stream, priority) = (StreamId(index as u16), Priority(index as u8 % 2));
        let request = Request { stream, priority, ..request };
        self.requests.push(request);
        self.steps += 1;
        self.submitted.push(self.steps);
        self.ended.push(None);
        self.ssd.submit(self.now, tag(index), request);
    }

    /// Records that the writes `which` are durable: from now on, flash must hold their data or data of writes that were
    /// not before them.
    fn note_durable(&mut self, which: &BTreeSet<(u32, u32)>) {
        for key in which {
            let submitted = self.submitted[key.0 as usize];
            let durable = self.durable.entry(key.1).or_default();
            if submitted > *durable {
                *durable = submitted;
                // Requests that are under way at the same time have no order.
                let since = |index: u32| self.trims_done.get(&index).is_none_or(|submitted| *submitted > key.0);
                let trimmed = (0..self.requests.len() as u32).any(|index| {
                    let request = &self.requests[index as usize];
                    request.kind == RequestKind::Trim && Self::pages_of(request).contains(&key.1) && since(index)
                });
                if !trimmed {
                    self.trimmed.remove(&key.1);
                }
            }
        }
    }

    fn take_completions(&mut self) {
        self.steps += 1;
        for completion in std::mem::take(&mut self.done) {
            let index = completion.tag.slot();
            let request = self.requests[index as usize];
            match completion.result {
                Ok(()) => self.ended[index as usize] = Some(self.steps),
                Err(DeviceError::Interrupted) => {
                    self.interrupted += 1;
                    continue;
                }
                // This is expected once too many blocks have gone bad.
                Err(DeviceError::ReadOnly | DeviceError::NoSpace) if self.ssd.settings.wear.is_some() => continue,
                Err(error) => panic!("{request:?} ended with {error}"),
            }
            match request.kind {
                RequestKind::Flush => {
                    let before = self.flushes.remove(&index).unwrap();
                    self.note_durable(&before);
                }
                RequestKind::Write { fua } => {
                    let pages: BTreeSet<(u32, u32)> = Self::pages_of(&request).map(|page| (index, page)).collect();
                    if fua || self.writes_are_durable {
                        self.note_durable(&pages);
                    }
                    self.acknowledged.extend(pages);
                }
                RequestKind::Trim => {
                    self.trims_done.insert(index, self.requests.len() as u32);
                }
                _ => {}
            }
        }
    }

    fn power_has_not_failed(&self) -> bool {
        self.ssd.power.as_ref().is_some_and(PowerFailure::has_not_failed)
    }

    /// Runs until power has failed or this many requests have ended. Returns true if power has failed.
    fn run(&mut self, requests: usize) -> bool {
        let until = self.requests.len() + requests;
        let mut arrival = self.now;
        loop {
            let next = self.ssd.next_event();
            let more = self.requests.len() < until;
            if more && arrival < next && self.ssd.free_slots() > 0 {
                self.now = self.now.max(arrival);
                self.submit();
                let gap = if self.rng.below(10) == 0 { 20_000 } else { 300 };
                arrival = self.now + Nanos(self.rng.below(gap));
                continue;
            }
            if next == Nanos::NEVER || !more && self.ssd.front.slots.in_use() == 0 {
                return false;
            }
            let powered = self.power_has_not_failed();
            self.now = next;
            self.ssd.advance(next, &mut self.done);
            self.take_completions();
            if powered && !self.power_has_not_failed() {
                return true;
            }
        }
    }

    /// Returns the write whose data flash holds for `page`.
    fn on_flash(&self, page: u32) -> Option<u32> {
        let at = self.ssd.back.ftl.find(LogicalPage(page))?;
        Some(self.write_at(page, at))
    }

    fn write_at(&self, page: u32, at: PhysicalPage) -> u32 {
        let SpareArea::Programmed { version, .. } = self.ssd.back.flash.spare(at) else {
            panic!("{page} is mapped to nothing")
        };
        let (of, StreamId(index)) = self.programs.lock().unwrap()[&version];
        assert_eq!(of.0, page, "page {page} reads as another");
        let write = &self.requests[usize::from(index)];
        assert!(write.kind.is_write() && Self::pages_of(write).contains(&page), "{write:?} never wrote page {page}");
        u32::from(index)
    }

    /// Returns true if a write was acknowledged before the host submitted another one at `submitted`. `None` stands for
    /// a page without data, and counts as before all writes.
    fn is_before(&self, write: Option<u32>, submitted: u64) -> bool {
        write.is_none_or(|write| self.ended[write as usize].is_some_and(|ended| ended < submitted))
    }

    /// Asserts, right after the power failure, that every page holds data that it may hold.
    fn compare(&mut self) {
        // Pages that certainly lost acknowledged data, and pages that may have lost some: writes under way at the same
        // time may be served in any order.
        let (mut lost, mut perhaps_lost) = (0, 0);
        for page in 0..self.pages {
            let held = self.on_flash(page);
            if self.trimmed.contains(&page) {
                continue;
            }
            let buffer = self.ssd.front.buffer.as_mut().filter(|buffer| buffer.is_protected());
            if buffer.is_some_and(|buffer| buffer.memory.read(LogicalPage(page), 0)) {
                continue;
            }
            let durable = self.durable.get(&page).copied();
            assert!(
                durable.is_none_or(|durable| !self.is_before(held, durable)),
                "page {page} holds {held:?}, and a later write was durable: {:?}",
                self.ssd.settings
            );
            let others =
                || self.acknowledged.iter().filter(|key| key.1 == page && Some(key.0) != held).map(|key| key.0);
            lost += u64::from(others().any(|other| self.is_before(held, self.submitted[other as usize])));
            let not_before =
                |other| held.is_none_or(|held| !self.is_before(Some(other), self.submitted[held as usize]));
            perhaps_lost += u64::from(others().any(not_before));
        }
        let report = self.ssd.power.as_ref().unwrap().report_so_far();
        assert_eq!(report.interrupted_requests, self.interrupted);
        match &self.ssd.settings.write_buffer {
            Some(buffer) if buffer.power_protected => assert_eq!((report.lost_pages, lost), (0, 0)),
            None => assert_eq!((report.lost_pages, lost), (0, 0)),
            Some(_) if self.ssd.back.read_only => assert!(report.lost_pages >= lost),
            // A page with a forced write may have lost earlier data in its other sectors.
            Some(_) if self.trims || self.forced => assert!(report.lost_pages >= lost || self.trims),
            // A page may be in flash while the write that brought it still waits for the map.
            Some(_) if self.ssd.settings.ftl.kind == "dftl" => assert!(report.lost_pages >= lost),
            Some(_) => assert!(
                (lost..=perhaps_lost).contains(&report.lost_pages),
                "{} pages lost, by the host's account {lost} to {perhaps_lost}",
                report.lost_pages
            ),
        }
    }
}

#[test]
fn an_operation_that_power_interrupts_is_lost_and_its_request_ends_with_an_error() {
    let mut settings = agrawal();
    let failing_at = |settings: &mut SsdSettings, at| {
        settings.power_failure = Some(PowerFailureSettings::at(Nanos(at)));
        let mut ssd = Ssd::new("flash", settings, 1).unwrap();
        let mut done = Vec::new();
        ssd.submit(Nanos::ZERO, tag(0), write(5));
        while done.is_empty() {
            ssd.advance(ssd.next_event(), &mut done);
        }
        while ssd.power.as_ref().is_none_or(|power| power.report().is_none()) {
            ssd.advance(ssd.next_event(), &mut done);
        }
        (done[0].at, done[0].result, ssd.back.ftl.find(LogicalPage(5)).is_some(), ssd.power.unwrap().report_so_far())
    };
    // The write takes 305.6 us.
    let (at, result, found, report) = failing_at(&mut settings, 305_599);
    assert_eq!((at, result, found), (Nanos(305_599), Err(DeviceError::Interrupted), false));
    assert_eq!((report.interrupted_requests, report.interrupted_operations), (1, 1));
    let (at, result, found, report) = failing_at(&mut settings, 305_600);
    assert_eq!((at, result, found), (Nanos(305_600), Ok(()), true));
    assert_eq!((report.interrupted_requests, report.interrupted_operations), (0, 0));
    // With a buffer the write ends in memory, and is lost unless the buffer is protected.
    settings.write_buffer = Some(WriteBufferSettings {
        size: Bytes::kib(64),
        mode: BufferMode::WriteBack,
        latency: Nanos(1000),
        high_water: Ratio::percent(75),
        low_water: Ratio::percent(50),
        keep_reads: false,
        power_protected: false,
    });
    let (at, result, found, report) = failing_at(&mut settings, 305_600);
    assert_eq!((at, result, found, report.lost_pages), (Nanos(1000), Ok(()), false, 1));
    settings.write_buffer.as_mut().unwrap().power_protected = true;
    let (_, _, _, report) = failing_at(&mut settings, 305_600);
    assert_eq!((report.lost_pages, report.saved_pages), (0, 1));
}

/// Draws settings of a drive that loses power, with a layer that can recover from that.
fn drawn(rng: &mut Rng) -> SsdSettings {
    let mut settings = agrawal();
    let layers: Vec<&str> = registry::names_with(FTLS, LayerCapability::Recover).collect();
    settings.ftl = Choice::named(layers[rng.below(layers.len() as u64) as usize]);
    settings.over_provisioning = Some(Ratio::percent(45 + rng.below(20)));
    settings.block_summary = rng.below(3) == 0;
    settings.pool = [PoolScope::Plane, PoolScope::Die, PoolScope::Package, PoolScope::Gang, PoolScope::Device]
        [rng.below(5) as usize];
    settings.write_frontiers =
        [WriteFrontiers::Die, WriteFrontiers::Pool, WriteFrontiers::Plane][rng.below(3) as usize];
    settings.geometry.channels = 1 + rng.below(2) as u32;
    settings.geometry.packages_per_channel = 1 + rng.below(2) as u32;
    settings.geometry.dies_per_package = 1 + rng.below(2) as u32;
    settings.geometry.planes_per_die = 1 + rng.below(2) as u32;
    settings.geometry.blocks_per_plane = 8 + rng.below(8) as u32;
    settings.geometry.pages_per_block = 3 + rng.below(5) as u32;
    settings.cleaning.threshold = Ratio::percent(15);
    settings.queue_depth = 1 + rng.below(16) as u32;
    let scheduling = [Scheduling::Fifo, Scheduling::ReadsFirst, Scheduling::OutOfOrder][rng.below(3) as usize];
    settings.array = FlashArraySettings {
        scheduling,
        multi_plane: [MultiPlane::Off, MultiPlane::Any][rng.below(2) as usize],
        gang: [Gang::SharedBus, Gang::SharedControl][usize::from(rng.below(4) == 0)],
        copy_back: [CopyBack::Off, CopyBack::Unchecked][rng.below(2) as usize],
        rewrite: [Rewrite::Controller, Rewrite::InPlane][usize::from(rng.below(4) == 0)],
        ..FlashArraySettings::default()
    };
    if settings.array.gang == Gang::SharedControl {
        settings.array.gang_control =
            [GangControl::Strobes, GangControl::Commands, GangControl::Rounds][rng.below(3) as usize];
    }
    if scheduling != Scheduling::Fifo && rng.below(2) == 0 {
        settings.array.suspend = Some(SuspendSettings { suspend: Nanos(5000), resume: Nanos(5000), limit: 3 });
    }
    if rng.below(3) == 0 {
        settings.link = Some(LinkSettings { rate: "300MB/s".parse().unwrap(), overhead: Nanos(700) });
    }
    if rng.below(2) == 0 {
        settings.cleaning.background = Some(Ratio::percent(30));
        settings.cleaning.idle_before_background = Nanos(rng.below(1_000_000));
    }
    if rng.below(2) == 0 {
        settings.write_buffer = Some(WriteBufferSettings {
            size: Bytes::kib(4 * (1 + rng.below(20))),
            mode: if rng.below(5) == 0 { BufferMode::WriteThrough } else { BufferMode::WriteBack },
            latency: Nanos(rng.below(3000)),
            high_water: Ratio::percent(75),
            low_water: Ratio::percent(30),
            keep_reads: rng.below(2) == 0,
            power_protected: rng.below(3) == 0,
        });
    }
    let layer = esker_ftl::entry(&settings.ftl).unwrap();
    if layer.can(LayerCapability::Wear) && rng.below(2) == 0 {
        settings.endurance_cycles = 4 + rng.below(10);
        settings.wear = Some(WearSettings {
            levelling: [WearLevelling::None, WearLevelling::Migration, WearLevelling::Static][rng.below(3) as usize],
            end_of_life: EndOfLife::Retire,
            factory_bad_blocks: Ratio::percent(rng.below(6)),
            erase_failures: Ratio::percent(rng.below(8)),
            spread: 1,
            ..WearSettings::default()
        });
        settings.over_provisioning = Some(Ratio::percent(60 + rng.below(20)));
    }
    if layer.can(LayerCapability::Separate) {
        let apart = [Separation::None, Separation::Copied, Separation::HotCold][rng.below(3) as usize];
        settings.cleaning.separate = apart;
        if layer.can(LayerCapability::Streams) && apart != Separation::HotCold {
            settings.streams = 1 + rng.below(3) as u32;
        }
    }
    settings.power_failure = Some(match rng.below(2) {
        0 => PowerFailureSettings::at(Nanos(rng.below(60_000_000))),
        _ => PowerFailureSettings::after_operations(1 + rng.below(600)),
    });
    settings
}

/// Adds write modes to every third drive that can have them.
fn with_modes(settings: SsdSettings, seed: u64) -> SsdSettings {
    let array = &settings.array;
    let inside = array.copy_back != CopyBack::Off || array.rewrite != Rewrite::Controller;
    let layer = registry::find(FTLS, "layer", &settings.ftl.kind).unwrap();
    let able = layer.can(LayerCapability::Refresh) && array.span.is_empty() && array.logical_page.is_none();
    if inside || !able || !seed.is_multiple_of(3) {
        return settings;
    }
    let mode = |program, read| {
        let [page_program, read] = [program, read].map(Nanos::from_micros);
        Some(ModeSettings { page_program, page_read: Some(read), decode: Nanos::ZERO, raw_errors: 1.0, code: None })
    };
    let policy = Choice::named(if seed.is_multiple_of(2) { "differentiated" } else { "agcr" });
    let (low_cost, medium_cost, high_cost) = (mode(100, 80), mode(200, 50), mode(400, 30));
    SsdSettings { write_modes: Some(WriteModeSettings { policy, low_cost, medium_cost, high_cost }), ..settings }
}

#[test]
fn whatever_was_flushed_survives_a_power_failure_at_any_moment() {
    let soak = u64::from(esker_testkit::soak());
    let (mut failures, mut interrupted, mut interrupted_operations, mut lost, mut saved, mut given_up) =
        (0, 0, 0, 0, 0, 0);
    let mut rng = Rng::new(23);
    let draws = 3000 * soak;
    for seed in 0..draws {
        let settings = drawn(&mut rng);
        if std::env::var("ONLY").is_ok_and(|only| only != format!("{:?}", settings.array.scheduling)) {
            continue;
        }
        let settings = with_modes(settings, seed);
        let Some(mut host) = Host::new(&settings, seed) else { continue };
        if !host.run(300) {
            continue;
        }
        host.compare();
        let report = host.ssd.power.as_ref().unwrap().report_so_far();
        failures += 1;
        interrupted += report.interrupted_requests;
        interrupted_operations += report.interrupted_operations;
        lost += report.lost_pages;
        saved += report.saved_pages;
        // From now on, the data that survived the power failure count as the data that were written.
        given_up += host.ssd.back.ftl.wear().map_or(0, |wear| wear.retired);
        host.run(100);
        host.ssd.check();
        let blocks = (0..host.ssd.back.geometry.blocks()).map(crate::BlockIndex);
        let bad: Vec<_> = blocks.filter(|block| host.ssd.back.flash.is_marked_bad(*block)).collect();
        assert_eq!(host.ssd.back.ftl.wear().map_or(0, |wear| wear.retired), bad.len() as u64);
        assert!(bad.iter().all(|block| host.ssd.back.flash.written_in(*block) == 0), "a bad block is in use");
    }
    // The runs must reach each of these cases often.
    assert!(
        3 * failures > draws && 3 * interrupted > draws && 3 * interrupted_operations > draws,
        "{failures} {interrupted} {interrupted_operations}"
    );
    assert!(10 * lost > draws && 10 * saved > draws, "{lost} {saved}");
    assert!(500 * given_up > draws, "{given_up}");
}

/// Runs until the drive serves requests again after its power failure. `reads_ahead` is the number of scan reads issued
/// to each die ahead of time.
fn recovery_with(settings: &SsdSettings, seed: u64, reads_ahead: u32) -> Option<RecoveryReport> {
    let mut host = Host::new(settings, seed)?;
    host.ssd.power.as_mut().unwrap().reads_ahead = reads_ahead;
    if !host.run(300) {
        return None;
    }
    while host.ssd.power.as_ref().unwrap().is_recovering() {
        host.now = host.ssd.next_event();
        host.ssd.advance(host.now, &mut host.done);
    }
    host.ssd.power.as_ref().unwrap().report()
}

#[test]
fn reads_handed_on_in_lots_take_as_long_as_all_at_once() {
    let mut rng = Rng::new(41);
    let (mut compared, mut joined, mut all_at_once, mut all_in_lots) = (0, 0, 0.0, 0.0);
    let draws = 1200;
    for seed in 0..draws {
        let mut settings = drawn(&mut rng);
        // Larger blocks, so that reads are issued in many batches.
        settings.geometry.pages_per_block += 8;
        let array = &settings.array;
        if seed % 2 == 0 && array.copy_back == CopyBack::Off && array.rewrite == Rewrite::Controller {
            let pages = settings.geometry.pages_per_block.next_multiple_of(4);
            (settings.geometry.pages_per_block, settings.geometry.units_per_page) = (pages, 4);
        }
        if rng.below(3) == 0 {
            // The scheduler for runs of operations.
            settings.array = FlashArraySettings::default();
            (settings.write_buffer, settings.cleaning.background) = (None, None);
            settings.power_failure = Some(PowerFailureSettings::after_requests(200));
        }
        let (Some(at_once), Some(in_lots)) =
            (recovery_with(&settings, seed, u32::MAX), recovery_with(&settings, seed, 8))
        else {
            continue;
        };
        compared += 1;
        if settings.array.scheduling == Scheduling::OutOfOrder && settings.array.multi_plane != MultiPlane::Off {
            // Which reads the planes of a die perform together depends on the reads that wait there.
            joined += 1;
            all_at_once += at_once.duration_s;
            all_in_lots += in_lots.duration_s;
            let other = RecoveryReport { duration_s: at_once.duration_s, ..in_lots };
            assert_eq!(other, at_once, "{settings:?}");
        } else {
            assert_eq!(in_lots, at_once, "{settings:?}");
        }
    }
    assert!(4 * compared > draws && 100 * joined > draws, "{compared} {joined}");
    assert!((all_in_lots / all_at_once - 1.0).abs() < 0.02, "{all_in_lots} {all_at_once}");
}

#[test]
fn of_the_map_only_what_may_be_read_again_is_kept() {
    let mut settings = agrawal();
    settings.geometry.blocks_per_plane = 16;
    settings.over_provisioning = Some(Ratio::percent(40));
    settings.ftl = Choice::named("dftl");
    settings.power_failure = Some(PowerFailureSettings::after_requests(500));
    let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
    let filled = esker_core::Precondition::Filled { utilisation: Ratio::ONE };
    ssd.control(Nanos::ZERO, Control::Precondition(filled)).unwrap();
    let translation_pages = ssd.report_at(ssd.now).flash.unwrap().mapping.unwrap().translation_pages;
    assert!(
        ssd.back.flash.counts().programs().mapping > 10 * translation_pages,
        "each page of the map was written often"
    );
    assert!(ssd.back.flash.map_pages_kept() as u64 <= translation_pages, "{}", ssd.back.flash.map_pages_kept());
}

#[test]
fn a_protected_buffer_is_saved_over_all_dies_and_brought_back() {
    let mut settings = agrawal();
    let buffer = |power_protected| WriteBufferSettings {
        size: Bytes::mib(1),
        mode: BufferMode::WriteBack,
        latency: Nanos(1000),
        high_water: Ratio::ONE,
        low_water: Ratio::ONE,
        keep_reads: false,
        power_protected,
    };
    settings.geometry.blocks_per_plane = 8;
    settings.power_failure = Some(PowerFailureSettings::after_requests(33));
    let mut recovery = |protected: bool| {
        settings.write_buffer = Some(buffer(protected));
        let mut ssd = Ssd::new("flash", &settings, 1).unwrap();
        let mut done = Vec::new();
        for page in 0..33 {
            ssd.submit(Nanos::ZERO, tag(page), write(u64::from(page)));
        }
        while ssd.next_event() != Nanos::NEVER {
            ssd.advance(ssd.next_event(), &mut done);
        }
        (ssd.power.as_ref().unwrap().report().unwrap(), ssd.back.array.borrow().tally())
    };
    let (lost, _) = recovery(false);
    assert_eq!((lost.lost_pages, lost.saved_pages, lost.save_s), (33, 0, 0.0));
    let (saved, tally) = recovery(true);
    assert_eq!((saved.lost_pages, saved.saved_pages), (0, 33));
    // There are 16 dies, two on each bus. One die programs three pages, one after another; its bus also carries two
    // pages for another die. A program takes 102.4 us on the bus, with the spare bytes 105.6 us, and 200 us on the die.
    let programs = [105.6, 200.0, 105.6, 200.0, 105.6, 200.0].iter().sum::<f64>() / 1e6;
    assert!((saved.save_s - programs).abs() < 1e-9, "{saved:?}");
    let done = |step: DieStep| tally.done[step as usize][Cause::Recovery as usize].steps;
    assert_eq!((done(DieStep::Program), done(DieStep::Read), done(DieStep::Erase)), (33, 33, 33));
    // Three reads one after another, and an erase for each block that was used.
    assert!(saved.duration_s > lost.duration_s + saved.save_s + 2.0 * 1.5e-3, "{saved:?} {lost:?}");
}

#[test]
fn between_requests_a_drive_with_work_of_its_own_loses_it() {
    let soak = u64::from(esker_testkit::soak());
    let (mut failures, mut interrupted_operations, mut lost, mut saved) = (0, 0, 0, 0);
    let mut rng = Rng::new(29);
    let draws = 600 * soak;
    for seed in 0..draws {
        let settings = drawn(&mut rng);
        let after = 1 + rng.below(250);
        let settings = SsdSettings { power_failure: Some(PowerFailureSettings::after_requests(after)), ..settings };
        let Some(mut host) = Host::new(&settings, seed) else { continue };
        if !host.run(300) {
            continue;
        }
        host.compare();
        let report = host.ssd.power.as_ref().unwrap().report_so_far();
        assert_eq!(report.interrupted_requests, 0);
        failures += 1;
        interrupted_operations += report.interrupted_operations;
        lost += report.lost_pages;
        saved += report.saved_pages;
        host.run(100);
        host.ssd.check();
        assert_eq!(host.ssd.power.as_ref().unwrap().held(), 0, "a request still waits");
    }
    assert!(
        4 * failures > draws && 12 * interrupted_operations > draws && 12 * lost > draws && 12 * saved > draws,
        "{failures} {interrupted_operations} {lost} {saved}"
    );
}
