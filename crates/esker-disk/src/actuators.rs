//! Disks with several arms on one spindle.

use esker_core::{
    Bytes, Children, Completion, Control, Device, Lba, Nanos, Request, RequestKind, Tag, Telemetry, Unsupported,
};
use esker_results::{Report, Reporting};

use crate::disk::{Disk, report_of};
use crate::geometry::check_surfaces;
use crate::split::{SplitRequests, sectors_of};
use crate::{DiskError, DiskSettings, Mechanics};

/// A disk with several arms. Each serves an equal share of the surfaces and of the addresses; the first arm has the
/// first addresses. This is how dual-actuator disks with one address space are built (Seagate Exos 2X18, SATA); SAS
/// disks show each arm as a unit of its own.
///
/// - **Queue**: the disk holds `queue_depth` requests; each arm serves those for its share in its own order.
/// - **Platters** are the same for all arms: they stand at the same angle at any time.
/// - **Controller and link** are there for each arm, as if these were never the bottleneck. The buffer is shared out.
/// - **A request for several shares** completes with the last of its parts; a flush with that of the slowest arm.
pub struct MultiActuatorDisk {
    name: String,
    capacity: Bytes,
    queue_depth: u32,
    /// Sectors of each arm.
    share: u64,
    arms: Children<Disk, Tag>,
    requests: SplitRequests,
    /// Parts that ended at the same instant; kept to avoid allocations.
    ended: Vec<(Tag, Completion)>,
}

impl MultiActuatorDisk {
    /// Creates a disk called `name` in reports, with `settings.actuators` arms.
    ///
    /// # Errors
    /// The first setting that the model cannot represent, with the accepted values.
    pub fn new(name: &str, settings: &DiskSettings) -> Result<Self, DiskError> {
        // Also those that are shared out: each arm may have few enough of too many.
        check_surfaces(settings.surfaces)?;
        let count = settings.actuators;
        if count == 0 || count > settings.surfaces || !settings.surfaces.is_multiple_of(count) {
            let expected = "1, or a number by which the surfaces can be shared out evenly";
            return Err(DiskError::OutOfRange { key: "actuators", expected, found: count.to_string() });
        }
        if settings.power.is_some_and(|power| power.spin_down_after.is_some()) {
            let (key, expected) = ("power.spin_down_after", "none for a disk with several actuators");
            return Err(DiskError::OutOfRange { key, expected, found: "a time".to_string() });
        }
        let mut one = DiskSettings { actuators: 1, surfaces: settings.surfaces / count, ..settings.clone() };
        let holds = Mechanics::new(&one)?.geometry().sectors();
        let wanted = settings.capacity.map_or(u64::MAX, |capacity| capacity.0 / Bytes::SECTOR.0);
        if settings.capacity.is_some() && wanted > holds * u64::from(count) {
            let holds = Bytes(holds * u64::from(count) * Bytes::SECTOR.0);
            return Err(DiskError::Capacity { capacity: settings.capacity.unwrap_or(holds), holds });
        }
        // Shares are whole pages of 4 KiB, unless they are smaller than a page.
        let share = holds.min(wanted / u64::from(count));
        let share = if share < 8 { share } else { share / 8 * 8 };
        one.capacity = Some(Bytes(share * Bytes::SECTOR.0));
        if let Some(cache) = &mut one.cache {
            cache.segments = (cache.segments / count).max(1);
            cache.write_back = Bytes(cache.write_back.0 / u64::from(count));
        }
        if let Some(power) = &mut one.power {
            power.share_out(count);
        }
        let arms: Result<Vec<Disk>, DiskError> = (0..count).map(|_| Disk::new(name, &one)).collect();
        Ok(Self {
            name: name.to_string(),
            capacity: Bytes(share * u64::from(count) * Bytes::SECTOR.0),
            queue_depth: settings.queue_depth,
            share,
            arms: Children::new(arms?.into_iter().map(Box::new).collect()),
            requests: SplitRequests::default(),
            ended: Vec::new(),
        })
    }

    /// Hands each arm from `first` to `last` the part of `request` that lies on its share.
    fn submit_parts(&mut self, now: Nanos, tag: Tag, request: &Request, first: u64, last: u64) {
        let key = self.requests.begin(tag, (last - first + 1) as usize);
        let bytes = |sector: u64| sector * Bytes::SECTOR.0;
        for arm in first..=last {
            let from = request.start.0.max(arm * self.share);
            let end = (bytes(request.start.0) + request.length.0).min(bytes((arm + 1) * self.share));
            let length = Bytes(end.saturating_sub(bytes(from)));
            let part = Request { start: Lba(from - arm * self.share), length, ..*request };
            self.arms.submit(now, arm as usize, key, part);
        }
    }
}

impl Device for MultiActuatorDisk {
    fn capacity(&self) -> Bytes {
        self.capacity
    }

    fn free_slots(&self) -> usize {
        self.queue_depth as usize - self.requests.len()
    }

    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        assert!(self.free_slots() > 0, "a request more than {} holds", self.name);
        assert!(now <= self.next_event(), "an event of {} was skipped at {now}", self.name);
        let count = self.capacity.0 / Bytes::SECTOR.0 / self.share;
        if request.kind == RequestKind::Flush {
            let key = self.requests.begin(tag, count as usize);
            (0..count as usize).for_each(|arm| self.arms.submit(now, arm, key, request));
            return;
        }
        match sectors_of(&request, self.capacity) {
            Ok(sectors) => {
                // An empty request at the very end belongs to the last arm.
                let arm = |sector: u64| (sector / self.share).min(count - 1);
                let (first, last) = (arm(request.start.0), arm(request.start.0 + sectors.max(1) - 1));
                self.submit_parts(now, tag, &request, first, last);
            }
            Err(error) => self.requests.refuse(now, tag, error),
        }
    }

    fn next_event(&self) -> Nanos {
        self.arms.next_event().min(self.requests.next_event())
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.requests.end_refused(now, done);
        while self.arms.next_event() == now {
            self.arms.advance(now, &mut self.ended);
        }
        for (key, part) in self.ended.drain(..) {
            self.requests.part_ended(key, &part, done);
        }
    }

    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        if command == Control::StartMeasuring {
            self.requests.ended = 0;
        }
        self.arms.control(now, command)
    }

    fn telemetry(&self) -> Telemetry {
        Telemetry { queued: self.requests.len(), ..self.arms.telemetry() }
    }
}

impl Reporting for MultiActuatorDisk {
    fn report(&self, into: &mut Report) {
        let arms: Vec<&Disk> = self.arms.iter().map(|(arm, _)| arm).collect();
        let report = report_of(self.capacity, self.requests.ended, &arms, into);
        into.add(&self.name, report);
    }
}
