//! An engine whose devices and journal answer at once, unless a case has them wait or fail.

use esker_core::{DeviceError, Lba, Request, RequestKind, Tag};
use esker_tier::{IoId, Record, RecordNumber};

use super::*;

/// An engine whose requests to devices end at once, but trims, which wait, and reads, if they are to.
pub(super) struct Driven {
    pub(super) engine: ClusterEngine,
    /// Reads that have not ended, if they wait.
    pub(super) reads: Option<Vec<(IoId, DeviceIndex)>>,
    pub(super) trims: Vec<(IoId, DeviceIndex, Request)>,
    /// Writes to devices: device, first sector, sectors.
    pub(super) writes: Vec<(u16, u64, u64)>,
    pub(super) replies: Vec<(Tag, Result<(), DeviceError>)>,
    /// Records, and how many of them are durable.
    records: Vec<Record>,
    durable: usize,
    /// Hardenings that have not ended, if they wait.
    pub(super) hardenings: Option<Vec<RecordNumber>>,
    /// A device that has failed.
    pub(super) failed: Option<ServerId>,
    /// A device that refuses writes.
    pub(super) refuses: Option<ServerId>,
    /// Whether it refuses only the next one.
    pub(super) refuses_once: bool,
    /// A device that cannot be read.
    pub(super) unreadable: Option<ServerId>,
    /// Devices whose drains were told to be stuck.
    pub(super) stuck: Vec<DeviceIndex>,
    next: u32,
    pub(super) now: u64,
}

impl Driven {
    pub(super) fn new(settings: &ClusterSettings) -> Self {
        Self::of(ClusterEngine::new(settings).unwrap(), Vec::new())
    }

    /// The engine after a loss of power, restored from the records that were durable.
    pub(super) fn restart(mut self, settings: &ClusterSettings) -> Self {
        self.records.truncate(self.durable);
        let engine = ClusterEngine::restore(settings, &esker_tier::Checkpoint::default(), &self.records).unwrap();
        Self::of(engine, self.records)
    }

    fn of(engine: ClusterEngine, records: Vec<Record>) -> Self {
        let (trims, writes, replies) = (Vec::new(), Vec::new(), Vec::new());
        let durable = records.len();
        let (hardenings, failed, refuses) = (None, None, None);
        Self {
            engine: engine.with_changing_members(),
            reads: None,
            trims,
            writes,
            replies,
            records,
            durable,
            hardenings,
            failed,
            refuses,
            refuses_once: false,
            unreadable: None,
            stuck: Vec::new(),
            next: 0,
            now: 0,
        }
    }

    pub(super) fn tell(&mut self, input: Input) {
        let mut effects = Vec::new();
        self.engine.on(Nanos(self.now), input, &mut effects);
        self.perform(effects);
    }

    pub(super) fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Io { io, device, request, .. } if request.kind == RequestKind::Trim => {
                    self.trims.push((io, device, request));
                }
                Effect::Io { io, device, request, .. } if request.kind == RequestKind::Read && self.reads.is_some() => {
                    self.reads.as_mut().unwrap().push((io, device));
                }
                Effect::Io { io, device, request, .. } => {
                    let is_refused = request.kind.is_write() && self.refuses == Some(ServerId(device.0));
                    if is_refused && self.refuses_once {
                        self.refuses = None;
                    }
                    if request.kind.is_write() && !is_refused {
                        self.writes.push((device.0, request.start.0, request.length.0 / 512));
                    }
                    let result = match () {
                        () if self.failed == Some(ServerId(device.0)) => Err(DeviceError::Failed),
                        () if request.kind == RequestKind::Read && self.unreadable == Some(ServerId(device.0)) => {
                            Err(DeviceError::MEDIUM)
                        }
                        () if is_refused => Err(DeviceError::NoSpace),
                        () => Ok(()),
                    };
                    self.tell(Input::Done { io, at: Nanos(self.now), result });
                }
                Effect::Harden { through } if self.hardenings.is_some() => {
                    self.hardenings.as_mut().unwrap().push(through);
                }
                Effect::Harden { through } => self.hardened(through),
                Effect::Reply { tag, result } => self.replies.push((tag, result)),
                Effect::Record { record, .. } => self.records.push(record),
                Effect::DrainStuck { device, .. } => self.stuck.push(device),
                Effect::Buffer(_) | Effect::WakeAt(_) | Effect::Drained(_) => {}
                other => panic!("unexpected: {other:?}"),
            }
        }
    }

    fn hardened(&mut self, through: RecordNumber) {
        self.durable = through.0 as usize;
        self.tell(Input::Durable { through });
    }

    /// Ends the hardenings that wait, and all later ones at once.
    pub(super) fn harden(&mut self) {
        self.hardenings.take().into_iter().flatten().for_each(|through| self.hardened(through));
    }

    /// Takes the answers since the last time.
    pub(super) fn results(&mut self) -> Vec<Result<(), DeviceError>> {
        self.replies.drain(..).map(|(_, result)| result).collect()
    }

    pub(super) fn request(&mut self, kind: RequestKind, start: u64, sectors: u64) {
        let tag = Tag::new(self.next, 0);
        self.next += 1;
        self.tell(Input::Host { tag, request: Request::new(kind, Lba(start), Bytes(sectors * 512)) });
    }

    pub(super) fn write(&mut self, start: u64, sectors: u64) {
        self.request(RequestKind::Write { fua: false }, start, sectors);
    }

    pub(super) fn router(&mut self, input: RouterInput) {
        let mut effects = Vec::new();
        self.engine.inputs.push_back(input);
        self.engine.settle(&mut effects);
        self.perform(effects);
    }

    /// Ends the trims that wait.
    pub(super) fn end_trims(&mut self) {
        let trims: Vec<IoId> = self.trims.drain(..).map(|(io, ..)| io).collect();
        trims.into_iter().for_each(|io| self.tell(Input::Done { io, at: Nanos(0), result: Ok(()) }));
    }

    /// Lets seconds pass.
    pub(super) fn pass(&mut self, seconds: u64) {
        for _ in 0..seconds {
            self.now += Nanos::from_secs(1).0;
            self.tell(Input::Timer);
        }
    }

    pub(super) fn home(&self, slice: u32) -> ServerId {
        let map = self.engine.router.map();
        match map.place(map.replicas_of(SliceId(slice)).next().unwrap()) {
            ReplicaPlace::Complete(home) => home,
            other => panic!("in motion: {other:?}"),
        }
    }

    pub(super) fn move_slice(&mut self, slice: u32, to: u16) {
        let moves =
            vec![SliceMove { slice: SliceId(slice), from: self.home(slice), to: ServerId(to), copied: Bytes(0) }];
        self.router(RouterInput::Plan(Plan { moves, copy_at_once: false }));
    }
}
