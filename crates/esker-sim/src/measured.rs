//! Measurements during a replay.

use std::collections::BTreeMap;

use esker_core::{
    Bytes, Completion, Device, DeviceError, LatencyHistogram, Nanos, Observer, Replay, Request, RequestKind,
    ResourceKind, Verdict,
};
use esker_results::{
    ChildResponses, Counters, PlacedExtents, PlacementMap, PlacementReport, Reporting, RequestResults,
    RequestStatistics, SeriesChild, SeriesPoint, Throughput, WorkloadResults,
};

use crate::map_frames::MapFrames;
use crate::stopping::Ceiling;

/// Observes a replay: response times by class, counts of requests, rates, a series over time, and response times in a
/// window.
#[derive(Default)]
pub struct RunMeasurements {
    statistics: RequestStatistics,
    workload: WorkloadResults,
    /// Bytes of successful reads and writes.
    bytes_moved: u64,
    errors: BTreeMap<&'static str, u64>,
    last_completion: Nanos,
    slowest: Option<Slowest>,
    /// With the number of requests that may still take longer.
    ceiling: Option<Ceiling>,
    windows: Vec<Window>,
    series: Option<Series>,
}

/// The request with the longest response time, without failed ones; among equals the first to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slowest {
    /// When it arrived.
    pub arrival: Nanos,
    /// When it ended.
    pub end: Nanos,
}

struct Window {
    from: Nanos,
    to: Nanos,
    statistics: RequestStatistics,
}

struct Series {
    begin: Nanos,
    requests: u64,
    bytes: u64,
    response: LatencyHistogram,
    busy_before: Vec<(ResourceKind, Nanos)>,
    /// Names of the device's children, and what they had done before the interval.
    children: Vec<(String, ChildResponses)>,
    /// What a device that places extents had moved before the interval.
    moved_before: Option<PlacementReport>,
    map: Option<MapFrames>,
    points: Vec<SeriesPoint>,
    /// Whether there were more than [`SERIES_POINTS_MAX`] points.
    too_long: bool,
}

/// More points would fill the memory, and nobody looks at that many.
pub(crate) const SERIES_POINTS_MAX: usize = 1_000_000;

impl RunMeasurements {
    /// An observer without series, windows and ceiling.
    pub fn new() -> Self {
        Self::default()
    }

    /// Also records a point per sample ([`esker_core::ReplaySettings::sample_every`]) from `begin` on, with what each
    /// child of the device did, and where the extents are that the device places. `device` is that of the replay, and
    /// `children` are the names of its children, in their order.
    pub(crate) fn with_series(mut self, begin: Nanos, children: Vec<String>, device: &dyn Reporting) -> Self {
        self.series = Some(Series {
            begin,
            requests: 0,
            bytes: 0,
            response: LatencyHistogram::default(),
            busy_before: busy(device).into_iter().map(|(kind, _, busy)| (kind, busy)).collect(),
            moved_before: placed(device).map(|placed| placed.moved),
            map: MapFrames::new(children.clone(), begin, device),
            children: children.into_iter().map(|name| (name, ChildResponses::default())).collect(),
            points: Vec::new(),
            too_long: false,
        });
        self
    }

    /// Also records response times of requests that arrive in `[from, to)`, such as the busiest hour. Returns the
    /// number of this window, for [`RunMeasurements::window`].
    pub fn add_window(&mut self, from: Nanos, to: Nanos) -> usize {
        self.windows.push(Window { from, to, statistics: RequestStatistics::default() });
        self.windows.len() - 1
    }

    /// Also ends the replay at a ceiling.
    pub fn with_ceiling(mut self, ceiling: Option<Ceiling>) -> Self {
        self.ceiling = ceiling;
        self
    }

    /// Returns true if the series exceeded a million points, which stops the replay.
    pub(crate) fn series_too_long(&self) -> bool {
        self.series.as_ref().is_some_and(|series| series.too_long)
    }

    /// Returns statistics of all requests.
    pub fn statistics(&self) -> &RequestStatistics {
        &self.statistics
    }

    /// Returns the slowest request so far.
    pub fn slowest(&self) -> Option<Slowest> {
        self.slowest
    }

    /// Returns statistics of the requests that arrived in window `number` of [`RunMeasurements::add_window`].
    pub fn window(&self, number: usize) -> Option<&RequestStatistics> {
        self.windows.get(number).map(|window| &window.statistics)
    }

    /// Returns the number of failed requests by cause.
    pub fn errors(&self) -> &BTreeMap<&'static str, u64> {
        &self.errors
    }

    /// Returns response times by class, for results.
    pub fn requests(&self) -> RequestResults {
        self.statistics.results()
    }

    /// Returns the measured workload, for results.
    pub fn workload(&self, replay: &Replay) -> WorkloadResults {
        let duration = replay.last_arrival.saturating_sub(replay.first_arrival);
        WorkloadResults { duration_s: duration.as_secs_f64(), ..self.workload.clone() }
    }

    /// Returns rates from the first arrival to the last completion, of requests that did not fail.
    pub fn throughput(&self, replay: &Replay) -> Throughput {
        let elapsed = self.last_completion.saturating_sub(replay.first_arrival).as_secs_f64();
        if elapsed == 0.0 {
            return Throughput::default();
        }
        let served = self.workload.requests - self.statistics.errors();
        Throughput { requests_per_s: served as f64 / elapsed, bytes_per_s: self.bytes_moved as f64 / elapsed }
    }

    /// Returns the series, including the unfinished interval at its end.
    pub fn series<D: Reporting + ?Sized>(&mut self, replay: &Replay, device: &D) -> Vec<SeriesPoint> {
        let Some(series) = &mut self.series else { return Vec::new() };
        if series.requests > 0 {
            let waiting = match replay.end {
                esker_core::ReplayEnd::Saturated { backlog, .. } => backlog,
                _ => 0,
            };
            series.close(replay.last_event, waiting, device);
        }
        if let Some(map) = &mut series.map {
            map.close(series.begin, device);
        }
        std::mem::take(&mut series.points)
    }

    /// Returns the map of the device's extents over time, after [`RunMeasurements::series`], which ends it.
    pub fn placement_map(&mut self) -> Option<PlacementMap> {
        Some(self.series.as_mut()?.map.take()?.into_results())
    }
}

impl<D: Reporting + ?Sized> Observer<D> for RunMeasurements {
    #[inline]
    fn completed(&mut self, arrival: Nanos, request: &Request, completion: &Completion) -> Verdict {
        self.statistics.record(arrival, request.kind, completion);
        self.workload.requests += 1;
        match request.kind {
            RequestKind::Read => {
                self.workload.read_requests += 1;
                self.workload.read_bytes += request.length.0;
            }
            RequestKind::Write { .. } | RequestKind::WriteZeroes { .. } => {
                self.workload.write_requests += 1;
                self.workload.write_bytes += request.length.0;
            }
            RequestKind::Trim | RequestKind::Flush => {}
        }
        let moved = if request.kind.has_data() { request.length } else { Bytes::ZERO };
        match &completion.result {
            Ok(()) => {
                self.bytes_moved += moved.0;
                if self.slowest.is_none_or(|slowest| completion.at - arrival > slowest.end - slowest.arrival) {
                    self.slowest = Some(Slowest { arrival, end: completion.at });
                }
            }
            Err(error) => *self.errors.entry(error_name(error)).or_default() += 1,
        }
        for window in &mut self.windows {
            if (window.from..window.to).contains(&arrival) {
                window.statistics.record(arrival, request.kind, completion);
            }
        }
        if let Some(series) = &mut self.series {
            series.requests += 1;
            if let Some(map) = &mut series.map {
                map.count(request);
            }
            if completion.result.is_ok() {
                series.bytes += moved.0;
                series.response.record(completion.at - arrival);
            }
        }
        self.last_completion = completion.at;
        if let Some(ceiling) = &mut self.ceiling
            && completion.at - arrival > ceiling.longer_than
        {
            let Some(left) = ceiling.most.checked_sub(1) else { return Verdict::Stop };
            ceiling.most = left;
        }
        Verdict::Continue
    }

    fn sample(&mut self, now: Nanos, backlog: usize, device: &D) -> Verdict {
        let Some(series) = &mut self.series else { return Verdict::Continue };
        if now > series.begin && !series.too_long {
            series.too_long = series.points.len() >= SERIES_POINTS_MAX;
            series.close(now, backlog, device);
        }
        if series.too_long { Verdict::Stop } else { Verdict::Continue }
    }
}

impl Series {
    /// Ends the interval at `now`.
    fn close<D: Reporting + ?Sized>(&mut self, now: Nanos, backlog: usize, device: &D) {
        let elapsed = now.saturating_sub(self.begin);
        let busy = busy(device);
        let mut utilisation = BTreeMap::new();
        for &(kind, count, busy) in &busy {
            let before = self.busy_before(kind);
            let whole = elapsed.0 as f64 * f64::from(count.max(1));
            if whole > 0.0 {
                utilisation.insert(resource_name(kind).to_string(), busy.saturating_sub(before).0 as f64 / whole);
            }
        }
        let placed = placed(device);
        let children = self.children(device, placed.as_ref());
        let now_moved = placed.map(|placed| placed.moved);
        let moved = now_moved.zip(self.moved_before).map(|(now, before)| now.since(&before));
        self.moved_before = now_moved;
        if let Some(map) = &mut self.map {
            map.interval_ended(now, device);
        }
        self.points.push(SeriesPoint {
            start_s: self.begin.as_secs_f64(),
            requests: self.requests,
            bytes: self.bytes,
            mean_us: self.response.mean() / 1e3,
            p99_us: self.response.quantile(0.99).as_micros_f64(),
            backlog_requests: backlog as u64,
            utilisation,
            children,
            placement: moved,
        });
        self.begin = now;
        (self.requests, self.bytes) = (0, 0);
        self.response = LatencyHistogram::default();
        // Work that is suspended is taken back, and counts again when it resumes: by then it has counted already.
        let counted = |(kind, _, busy): (ResourceKind, u32, Nanos)| (kind, busy.max(self.busy_before(kind)));
        self.busy_before = busy.into_iter().map(counted).collect();
    }

    /// Busy time of all resources of a kind that earlier intervals have counted.
    fn busy_before(&self, kind: ResourceKind) -> Nanos {
        self.busy_before.iter().find(|(earlier, _)| *earlier == kind).map_or(Nanos::ZERO, |&(_, busy)| busy)
    }
}

impl Series {
    /// What the children did in the interval that ends.
    fn children<D: Reporting + ?Sized>(
        &mut self,
        device: &D,
        placed: Option<&PlacedExtents>,
    ) -> BTreeMap<String, SeriesChild> {
        let responses = device.composite().map_or_else(Vec::new, |composite| composite.child_responses());
        let since = |(now, (_, before)): (&ChildResponses, &(String, ChildResponses))| now.requests - before.requests;
        let all: u64 = responses.iter().zip(&self.children).map(since).sum();
        let mut children = BTreeMap::new();
        for (index, (now, (name, before))) in responses.into_iter().zip(&mut self.children).enumerate() {
            let requests = now.requests - before.requests;
            let mean_us = (now.nanoseconds - before.nanoseconds) as f64 / 1e3 / requests.max(1) as f64;
            let share = requests as f64 / all.max(1) as f64;
            // Children that have not joined yet hold nothing.
            let held = placed.map(|placed| placed.devices.get(index).copied().unwrap_or_default());
            let held_bytes = placed.zip(held).map(|(placed, held)| held.extents * placed.extent.0);
            let child = SeriesChild {
                requests,
                share,
                mean_us,
                target_share: held.and_then(|held| held.target_share),
                held_extents: held.map(|held| held.extents),
                held_bytes,
            };
            children.insert(name.clone(), child);
            *before = now;
        }
        children
    }
}

/// Returns how the extents of a device that places extents are spread.
fn placed<D: Reporting + ?Sized>(device: &D) -> Option<PlacedExtents> {
    Some(device.composite()?.extent_places()?.placed())
}

fn busy<D: Device + ?Sized>(device: &D) -> Vec<(ResourceKind, u32, Nanos)> {
    device.telemetry().busy.into_iter().map(|busy| (busy.kind, busy.count, busy.busy)).collect()
}

/// Returns the name of a resource in results.
pub fn resource_name(kind: ResourceKind) -> &'static str {
    match kind {
        ResourceKind::Bus => "bus",
        ResourceKind::Die => "die",
        ResourceKind::Arm => "arm",
        ResourceKind::Link => "link",
        ResourceKind::Server => "server",
        ResourceKind::Operations => "operations",
        ResourceKind::Throughput => "throughput",
    }
}

fn error_name(error: &DeviceError) -> &'static str {
    match error {
        DeviceError::OutOfRange { .. } => "out-of-range",
        DeviceError::ReadOnly => "read-only",
        DeviceError::NoSpace => "no-space",
        DeviceError::Medium { .. } => "medium",
        DeviceError::Failed => "failed",
        DeviceError::Interrupted => "interrupted",
        DeviceError::Unsupported => "unsupported",
    }
}
