//! A simulated device that serves real data in real time.

mod faults;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use esker_core::{Bytes, Completion, DeviceError, Nanos, Request, RequestKind, Tag, TagSlab};
use esker_results::Reporting;
use esker_volume::{Buffer, BufferPool, Clock, Reply, ReplyData, device_error};

use crate::contents::Contents;
use crate::figures::Figures;
use crate::medium::Medium;
use faults::Faults;

/// A simulated device that serves real data in real time: a request reaches the simulated device when it is submitted,
/// and is answered once the clock shows the time at which it has ended there.
///
/// - A write changes the data when it ends. A read returns the data as they are when it ends. So requests that overlap
///   while both are under way take effect in the order in which the simulated device ends them.
/// - With a volatile write cache, a flush makes durable what had ended before it was submitted.
/// - The simulated device knows nothing of the data, nor of faults.
///
/// One thread calls it: [`submit`](Self::submit) takes requests, [`step`](Self::step) performs what is due, and
/// [`next_reply`](Self::next_reply) returns requests that have ended.
pub struct EmulatedDevice<C> {
    device: Box<dyn Reporting>,
    /// The name of the simulated device.
    name: String,
    clock: C,
    /// How far the simulated device has come.
    now: Nanos,
    medium: Medium,
    under_way: TagSlab<UnderWay>,
    /// Requests for which the simulated device has no room yet.
    waiting: VecDeque<Tag>,
    ended: VecDeque<Ended>,
    faults: Faults,
    figures: Figures,
    /// When it began to serve.
    since: Nanos,
    pool: BufferPool,
    /// To be used again.
    completions: Vec<Completion>,
}

/// A request that the simulated device has, or will get.
struct UnderWay {
    /// The tag of whoever submitted it.
    tag: Tag,
    request: Request,
    /// The bytes of a write.
    data: Buffer,
    arrived: Nanos,
    /// The number of changes that a flush makes durable.
    covers: u64,
    /// How often the power had been cut when it arrived. Once that is more often, it has been answered.
    power_cuts: u64,
}

/// A request that has ended and was not answered yet.
struct Ended {
    request: Request,
    arrived: Nanos,
    reply: Reply,
}

/// What is emulated beside the simulated device itself.
pub struct EmulationSettings {
    /// Where the data are. They may be there already.
    pub contents: Box<dyn Contents>,
    /// Whether what was not flushed is lost with the power, in part.
    pub has_volatile_cache: bool,
    /// Seed of what is lost.
    pub seed: u64,
}

impl<C: Clock> EmulatedDevice<C> {
    /// Begins to serve with `device`, which is called `name` in its reports, and whose time is that of `clock`.
    pub fn new(name: impl Into<String>, device: Box<dyn Reporting>, settings: EmulationSettings, clock: C) -> Self {
        let EmulationSettings { contents, has_volatile_cache, seed } = settings;
        let since = clock.now();
        Self {
            device,
            name: name.into(),
            clock,
            now: Nanos::ZERO,
            medium: Medium::new(contents, has_volatile_cache, seed),
            under_way: TagSlab::default(),
            waiting: VecDeque::new(),
            ended: VecDeque::new(),
            faults: Faults::default(),
            figures: Figures::default(),
            since,
            pool: BufferPool::default(),
            completions: Vec::new(),
        }
    }

    /// The name of the simulated device.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes that clients can address: whole sectors.
    pub fn capacity(&self) -> Bytes {
        capacity_of(&*self.device)
    }

    /// Gives a buffer of `length` bytes for the data of a write. The bytes in it are any bytes.
    pub fn buffer(&mut self, length: usize) -> Buffer {
        self.pool.take(length)
    }

    /// Takes the memory of a reply back, so that later requests need no new memory.
    pub fn recycle(&mut self, data: ReplyData) {
        let _ = data.give_to(&mut self.pool);
    }

    /// Returns how many bytes from `start` on are alike, of `length` bytes within the capacity, and whether they may
    /// have been written. All others read as zeroes.
    pub fn written_run(&self, start: Bytes, length: Bytes) -> (Bytes, bool) {
        let (run, is_written) = self.medium.written_run(start.0, length.0);
        (Bytes(run), is_written)
    }

    /// Takes a request that arrives now, of whole sectors. `data` is the data of a write, as long as the request
    /// (asserted). The tag stays in use until the reply.
    pub fn submit(&mut self, tag: Tag, request: Request, data: Buffer) {
        let is_write = matches!(request.kind, RequestKind::Write { .. });
        assert!(!is_write || data.len() as u64 == request.length.0, "a write brings its data");
        self.advance();
        if let Some(error) = self.faults.error_of(request.kind) {
            let reply = Reply { tag, at: self.now, result: Err(error), data: ReplyData::from(data) };
            return self.ended.push_back(Ended { request, arrived: self.now, reply });
        }
        let covers = if request.kind == RequestKind::Flush { self.medium.begin_flush() } else { 0 };
        let new = UnderWay { tag, request, data, arrived: self.now, covers, power_cuts: self.faults.power_cuts };
        self.waiting.push_back(self.under_way.insert(new));
        self.feed();
    }

    /// Performs everything that is due by now, in the order in which it was due.
    pub fn step(&mut self) {
        self.advance();
        self.faults.were_seen(self.now);
    }

    /// Brings the simulated device up to now.
    fn advance(&mut self) {
        let now = self.clock.now().max(self.now);
        while self.device.next_event() <= now {
            let due = self.device.next_event();
            // As in a simulation: all that happens at this moment, then those requests that wait.
            while self.device.next_event() == due {
                self.device.advance(due, &mut self.completions);
            }
            self.now = due;
            let mut completions = std::mem::take(&mut self.completions);
            completions.drain(..).for_each(|completion| self.end(completion));
            self.completions = completions;
            self.feed();
        }
        self.now = now;
    }

    /// Returns when [`Self::step`] has to be called next, at the latest.
    pub fn next_event(&self) -> Nanos {
        match self.ended.is_empty() {
            true => self.device.next_event().min(self.faults.next_event()),
            false => self.now,
        }
    }

    /// Takes the reply to the next request that has ended.
    pub fn next_reply(&mut self) -> Option<Reply> {
        let Ended { request, arrived, reply } = self.ended.pop_front()?;
        self.figures.answered(&request, reply.result.is_ok(), [arrived, reply.at, self.clock.now()]);
        Some(reply)
    }

    /// Hands the simulated device those requests for which it has room.
    fn feed(&mut self) {
        while self.device.free_slots() > 0
            && let Some(own) = self.waiting.pop_front()
        {
            let request = self.under_way.get_mut(own).request;
            self.device.submit(self.now, own, request);
        }
    }

    /// The simulated device has ended a request.
    fn end(&mut self, completion: Completion) {
        let UnderWay { tag, request, mut data, arrived, covers, power_cuts } = self.under_way.remove(completion.tag);
        if power_cuts < self.faults.power_cuts {
            return;
        }
        let allowed = self.faults.error_of(request.kind).map_or(completion.result, Err);
        let result = allowed.and_then(|()| self.perform(&request, &mut data, covers));
        let reply = Reply { tag, at: completion.at, result, data: ReplyData::from(data) };
        self.ended.push_back(Ended { request, arrived, reply });
    }

    /// Reads or changes the data.
    fn perform(&mut self, request: &Request, data: &mut Buffer, covers: u64) -> Result<(), DeviceError> {
        let done = match request.kind {
            RequestKind::Read => {
                *data = self.pool.take(request.length.0 as usize);
                let bytes = data.get_mut().expect("what a pool gives has one owner");
                self.medium.read(request.start.byte_offset(), bytes)
            }
            RequestKind::Flush => {
                self.medium.flush(covers);
                Ok(())
            }
            _ => self.medium.change(request, data),
        };
        done.map_err(|error| device_error(&error))
    }
}

/// Bytes of `device` that clients can address: whole sectors.
pub fn capacity_of(device: &dyn Reporting) -> Bytes {
    Bytes(device.capacity().0 / Bytes::SECTOR.0 * Bytes::SECTOR.0)
}
