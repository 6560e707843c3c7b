//! The cache as a device: requests, fetches from the backing device, and the flash in time.

use std::collections::BTreeMap;

use esker_cache::Found;
use esker_core::{
    Bytes, Change, ChangeError, Children, Completion, Control, Device, DeviceError, Lba, LogicalPage, Nanos, Request,
    RequestKind, Tag, Telemetry, Unsupported,
};
use esker_flash::{Ended, HostManagedCache, Waiter};
use esker_results::{DeviceReport, Report, Reporting};

use super::{CacheReply, KIND};

/// A read cache in front of one device.
pub(super) struct HostManagedCacheDevice {
    name: String,
    cache: HostManagedCache,
    reply: CacheReply,
    page: u64,
    children: Children<dyn Reporting, ChildIo>,
    /// Requests under way by slot, and the free slots.
    hosts: Vec<Option<Host>>,
    free: Vec<u32>,
    /// Fetches under way by number.
    fetches: BTreeMap<u64, Fetch>,
    next_fetch: u64,
    /// The fetch that brings each page which is on its way to the flash.
    on_its_way: BTreeMap<u32, u64>,
    /// Slots of requests that end at `ready_at`.
    ready: Vec<u32>,
    ready_at: Nanos,
    /// Kept to reuse the allocations.
    ended: Vec<Ended>,
    child_ended: Vec<(ChildIo, Completion)>,
    last_event: Nanos,
    measured_from: Nanos,
    requests: u64,
}

/// A request to the backing device.
#[derive(Clone, Copy, Debug)]
enum ChildIo {
    /// The fetch of this number.
    Fetch(u64),
    /// The host's own request, in this slot.
    Host(u32),
}

/// Neighbouring pages that are being fetched.
struct Fetch {
    pages: std::ops::Range<u32>,
    /// The request that missed them.
    slot: u32,
    /// Requests that came later and wait for some of the pages, once for each page.
    waiting: Vec<u32>,
}

/// A request of the host.
struct Host {
    tag: Tag,
    request: Request,
    submitted: Nanos,
    start: Nanos,
    /// What it still waits for: flash operations, fetches, its own request to the backing device.
    remaining: u32,
    result: Result<(), DeviceError>,
}

impl HostManagedCacheDevice {
    pub(super) fn new(
        name: String,
        cache: HostManagedCache,
        backing: Box<dyn Reporting>,
        reply: CacheReply,
        queue_depth: u32,
    ) -> Self {
        Self {
            name,
            page: cache.page_size().0,
            cache,
            reply,
            children: Children::new(vec![backing]),
            hosts: (0..queue_depth).map(|_| None).collect(),
            free: (0..queue_depth).rev().collect(),
            fetches: BTreeMap::new(),
            next_fetch: 0,
            on_its_way: BTreeMap::new(),
            ready: Vec::new(),
            ready_at: Nanos::NEVER,
            ended: Vec::new(),
            child_ended: Vec::new(),
            last_event: Nanos::ZERO,
            measured_from: Nanos::ZERO,
            requests: 0,
        }
    }

    fn host(&mut self, slot: u32) -> &mut Host {
        self.hosts[slot as usize].as_mut().expect("the request is under way")
    }

    /// The pages that a request touches.
    fn pages(&self, request: &Request) -> std::ops::Range<u32> {
        if request.length == Bytes::ZERO {
            return 0..0;
        }
        (request.start.byte_offset() / self.page) as u32..request.end_byte().div_ceil(self.page) as u32
    }

    fn read(&mut self, now: Nanos, slot: u32, request: &Request) {
        let mut missed: Option<std::ops::Range<u32>> = None;
        for page in self.pages(request) {
            let found = self.cache.access(now, LogicalPage(page));
            let coming = self.on_its_way.get(&page).copied();
            let there = coming.is_none() && found != Found::Miss && self.cache.has_data(LogicalPage(page));
            if let Some(fetch) = coming {
                self.fetches.get_mut(&fetch).expect("it is under way").waiting.push(slot);
                self.host(slot).remaining += 1;
            } else if there {
                let awaited = self.cache.read(now, Waiter::request(slot), LogicalPage(page));
                self.host(slot).remaining += awaited;
            } else {
                match &mut missed {
                    Some(missed) if missed.end == page => missed.end += 1,
                    _ => {
                        let before = missed.replace(page..page + 1);
                        before.into_iter().for_each(|pages| self.fetch(now, slot, pages));
                    }
                }
            }
        }
        missed.into_iter().for_each(|pages| self.fetch(now, slot, pages));
    }

    fn fetch(&mut self, now: Nanos, slot: u32, pages: std::ops::Range<u32>) {
        let number = self.next_fetch;
        self.next_fetch += 1;
        self.on_its_way.extend(pages.clone().map(|page| (page, number)));
        self.host(slot).remaining += 1;
        let start = u64::from(pages.start) * self.page;
        let end = (u64::from(pages.end) * self.page).min(self.capacity().0);
        let host = self.host(slot).request;
        let request = Request { start: Lba(start / Bytes::SECTOR.0), length: Bytes(end - start), ..host };
        self.fetches.insert(number, Fetch { pages, slot, waiting: Vec::new() });
        self.children.submit(now, 0, ChildIo::Fetch(number), request);
    }

    /// Forgets the pages of a request that changes them. What is being fetched of them may be out of date.
    fn invalidate(&mut self, request: &Request) {
        for page in self.pages(request) {
            self.on_its_way.remove(&page);
            self.cache.invalidate(LogicalPage(page));
        }
    }

    /// Fills in what was fetched, unless it was written to or left meanwhile.
    fn fetched(&mut self, now: Nanos, number: u64, completion: &Completion) {
        let Fetch { pages, slot, waiting } = self.fetches.remove(&number).expect("it is under way");
        for page in pages {
            if self.on_its_way.get(&page) != Some(&number) {
                continue;
            }
            self.on_its_way.remove(&page);
            if completion.result.is_err() {
                self.cache.invalidate(LogicalPage(page));
            } else if self.reply == CacheReply::AfterFill {
                let awaited = self.cache.fill(now, Waiter::request(slot), LogicalPage(page));
                self.host(slot).remaining += awaited;
            } else {
                self.cache.fill(now, Waiter::NOBODY, LogicalPage(page));
            }
        }
        for slot in waiting.into_iter().chain([slot]) {
            self.part_done(now, slot, completion.service_start, completion.result);
        }
    }

    /// One of the things that a request waits for has ended.
    fn part_done(&mut self, now: Nanos, slot: u32, start: Nanos, result: Result<(), DeviceError>) {
        let host = self.host(slot);
        host.start = host.start.min(start);
        host.result = host.result.and(result);
        host.remaining -= 1;
        if host.remaining == 0 {
            self.ready.push(slot);
            self.ready_at = now;
        }
    }

    fn advance_child(&mut self, now: Nanos) {
        let mut ended = std::mem::take(&mut self.child_ended);
        self.children.advance(now, &mut ended);
        for (io, completion) in ended.drain(..) {
            match io {
                ChildIo::Fetch(number) => self.fetched(now, number, &completion),
                ChildIo::Host(slot) => {
                    let request = self.host(slot).request;
                    // A read may have fetched the old data while the write was under way.
                    if request.kind != RequestKind::Flush {
                        self.invalidate(&request);
                    }
                    self.part_done(now, slot, completion.service_start, completion.result);
                }
            }
        }
        self.child_ended = ended;
    }

    fn advance_flash(&mut self, now: Nanos) {
        let mut ended = std::mem::take(&mut self.ended);
        self.cache.advance(now, &mut ended);
        for Ended { waiter, start } in ended.drain(..) {
            let slot = waiter.slot().expect("only requests wait for the flash");
            self.part_done(now, slot, start, Ok(()));
        }
        self.ended = ended;
    }
}

impl Device for HostManagedCacheDevice {
    fn capacity(&self) -> Bytes {
        self.children.device(0).capacity()
    }

    fn free_slots(&self) -> usize {
        self.free.len()
    }

    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        assert!(now >= self.last_event && now <= self.next_event(), "an event was skipped");
        self.last_event = now;
        let slot = self.free.pop().expect("there is a free slot");
        let (start, result) = (Nanos::NEVER, Ok(()));
        self.hosts[slot as usize] = Some(Host { tag, request, submitted: now, start, remaining: 0, result });
        let (end, capacity) = (request.end_byte(), self.capacity());
        if request.kind != RequestKind::Flush && end > capacity.0 {
            self.host(slot).result = Err(DeviceError::OutOfRange { end, capacity });
        } else if request.kind == RequestKind::Read {
            self.read(now, slot, &request);
        } else {
            if request.kind != RequestKind::Flush {
                self.invalidate(&request);
            }
            self.host(slot).remaining = 1;
            self.children.submit(now, 0, ChildIo::Host(slot), request);
        }
        if self.host(slot).remaining == 0 {
            self.ready.push(slot);
            self.ready_at = now;
        }
    }

    fn next_event(&self) -> Nanos {
        self.ready_at.min(self.children.next_event()).min(self.cache.next_event())
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        assert!(now == self.next_event(), "an event was skipped");
        self.last_event = now;
        if self.children.next_event() == now {
            self.advance_child(now);
        } else if self.cache.next_event() == now {
            self.advance_flash(now);
        }
        self.ready_at = Nanos::NEVER;
        for slot in self.ready.drain(..) {
            let Host { tag, submitted, start, result, .. } =
                self.hosts[slot as usize].take().expect("the request is under way");
            self.free.push(slot);
            self.requests += 1;
            // What it waited for may have begun for another request, before this one came.
            let service_start = if start == Nanos::NEVER { now } else { start.max(submitted) };
            done.push(Completion { tag, at: now, service_start, result });
        }
    }

    /// The cache begins empty, whatever the condition of the backing device.
    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        if command == Control::StartMeasuring {
            self.cache.start_measuring(now);
            (self.requests, self.measured_from) = (0, now);
        }
        self.children.control(now, command)
    }

    fn change(&mut self, now: Nanos, device: &str, change: Change) -> Result<bool, ChangeError> {
        self.children.change(now, device, change)
    }

    fn telemetry(&self) -> Telemetry {
        let children = self.children.telemetry();
        let queued = self.hosts.len() - self.free.len();
        Telemetry { queued, erases: children.erases + self.cache.erases(), ..children }
    }
}

impl Reporting for HostManagedCacheDevice {
    fn report(&self, into: &mut Report) {
        #[cfg(debug_assertions)]
        self.cache.check();
        self.children.iter().for_each(|(device, _)| device.report(into));
        let end = into.end(self.last_event);
        let utilisation = self.cache.utilisation(end, end.saturating_sub(self.measured_from));
        into.add(
            &self.name,
            DeviceReport {
                kind: KIND.name.to_string(),
                capacity_bytes: self.capacity().0,
                requests: self.requests,
                utilisation: utilisation.map(|(name, share)| (name.to_string(), share)).into(),
                host_managed_cache: Some(self.cache.report()),
                ..DeviceReport::default()
            },
        );
    }
}
