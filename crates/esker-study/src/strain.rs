//! Finds how much more load a design carries: it plays the busiest stretches again, faster and faster, on the device as
//! the measured run left it.

use std::cell::Cell;

use esker_core::{Arrival, Control, LatencyHistogram, Nanos, Replay, ReplayEnd, words};
use esker_results::study::{BusyResults, Headroom};
use esker_results::{LatencySummary, Reporting};
use esker_sim::{Ceiling, RunMeasurements, Simulation, resource_name};

use crate::busy::{Busy, BusyTimes, Stretch};
use crate::{Hooks, StudyError};

/// Loads to try besides the load that has to be carried, as multiples of the trace's load.
const LOADS: [f64; 9] = [1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0];
/// A play ends once the 99th percentile is sure to be this many times the budget: the design has lost by far.
pub(crate) const FAR: f64 = 2.0;
/// Time between two stretches. In the trace, they are further apart.
const GAP: Nanos = Nanos::from_secs(1);

/// What a design has to keep under load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) p99_us: f64,
    pub(crate) utilisation: f64,
    /// The load that has to be carried, as a multiple of the trace's load.
    pub(crate) load: f64,
    /// The load at the end of the budgeted years, likewise.
    pub(crate) grown: f64,
}

/// The results of a design in the busy stretches under one load.
#[derive(Clone, Debug)]
pub(crate) struct Strain {
    /// The results in the busiest stretch by requests; absent if the design cannot keep up.
    pub(crate) busy: Option<BusyResults>,
    /// The results in the busiest stretch by bytes; absent also if that is the same stretch.
    pub(crate) busy_by_bytes: Option<BusyResults>,
    /// A lower bound of the 99th percentile in the busiest hour.
    pub(crate) hour_p99_us: Option<f64>,
    /// If the play ended early ([`Stretches::until`]): the 99th percentile in microseconds that was sure to be
    /// exceeded, and the share of requests that were left.
    pub(crate) ended: Option<(f64, f64)>,
}

/// The results of the busiest stretches alone, on a design that has not served the trace.
#[derive(Clone)]
pub(crate) struct StressResults {
    /// Under the load of the trace.
    pub(crate) first: Strain,
    /// Under larger loads.
    pub(crate) headroom: Headroom,
}

impl StressResults {
    /// Returns the largest miss of a budget, as the logarithm of value over budget.
    pub(crate) fn missed(&self, limits: &Limits) -> f64 {
        let carried = match (self.headroom.is_lower_bound, self.headroom.p99_us) {
            (true, _) => 0.0,
            (false, Some(p99)) => over(p99, limits.p99_us),
            (false, None) => f64::MAX,
        };
        let hour = over(self.first.hour_p99_us.unwrap_or(0.0), limits.p99_us);
        self.first.missed(limits, 1.0).max(hour).max(carried)
    }
}

/// Returns by how much a design misses a budget, as a logarithm, if its 99th percentile is sure to be `times` the
/// budget while the share `left` of the requests has not been played. The later that is sure, the smaller the miss.
pub(crate) fn lost(times: f64, left: f64) -> f64 {
    times.ln() + left.max(f64::EPSILON)
}

/// Returns the logarithm of how many times `is` exceeds `limit`, at least zero.
fn over(is: f64, limit: f64) -> f64 {
    (is / limit.max(1e-9)).max(1.0).ln()
}

/// The requests of the busiest stretches, as a design of one capacity gets them.
pub(crate) struct Stretches {
    /// For each stretch, its requests, with times from its beginning on, as far apart as in the trace.
    requests: Vec<Vec<Arrival>>,
    /// When each stretch begins in the trace.
    from: Vec<Nanos>,
    lengths: Vec<Nanos>,
    /// Indices of the stretch with the most requests and, if it is another one, of the stretch with the most bytes.
    /// Budgets hold in them.
    judged: usize,
    by_bytes: Option<usize>,
    /// Whether each stretch lies in the busiest hour, and the number of requests of that hour.
    of_hour: Vec<bool>,
    hour_requests: u64,
    /// Plays end as soon as the 99th percentile is sure to be above this, in microseconds.
    until_p99_us: Option<f64>,
}

impl Stretches {
    /// Collects the requests for the target of a simulation.
    pub(crate) fn of(busy: &Busy, simulation: &Simulation) -> Result<Self, StudyError> {
        let left_out = Cell::default();
        let BusyTimes { stretch: judged, by_bytes, busiest } = &busy.times;
        let mut requests: Vec<Vec<Arrival>> = busiest.iter().map(|_| Vec::new()).collect();
        for arrival in simulation.arrivals(&busy.requests, &left_out).map_err(StudyError::design)? {
            // Two stretches may overlap: the one with the most requests and the one with the most bytes.
            for (stretch, requests) in busiest.iter().zip(&mut requests) {
                if stretch.contains(arrival.at) {
                    requests.push(Arrival { at: arrival.at - stretch.from, ..arrival });
                }
            }
        }
        let place = |one: &Stretch| busiest.iter().position(|stretch| stretch == one).expect("it is one of them");
        let (judged, by_bytes) = (place(judged), by_bytes.as_ref().map(place));
        let of_hour =
            |stretch: &Stretch| busy.hour.is_some_and(|hour| hour.from <= stretch.from && stretch.to <= hour.to);
        Ok(Self {
            requests,
            from: busiest.iter().map(|stretch| stretch.from).collect(),
            lengths: busiest.iter().map(Stretch::length).collect(),
            judged,
            by_bytes,
            of_hour: busiest.iter().map(of_hour).collect(),
            hour_requests: busy.hour.map_or(0, |hour| hour.requests),
            until_p99_us: None,
        })
    }

    /// Keeps only the stretches in which budgets hold.
    pub(crate) fn judged_alone(self) -> Self {
        let Self { mut requests, from, lengths, judged, by_bytes, hour_requests, until_p99_us, .. } = self;
        let kept: Vec<usize> = [Some(judged), by_bytes].into_iter().flatten().collect();
        Self {
            requests: kept.iter().map(|&place| std::mem::take(&mut requests[place])).collect(),
            from: kept.iter().map(|&place| from[place]).collect(),
            lengths: kept.iter().map(|&place| lengths[place]).collect(),
            judged: 0,
            by_bytes: by_bytes.map(|_| 1),
            of_hour: vec![false; kept.len()],
            hour_requests,
            until_p99_us,
        }
    }

    /// Ends plays as soon as the 99th percentile of a stretch is sure to be above `p99_us`.
    pub(crate) fn until(self, p99_us: f64) -> Self {
        Self { until_p99_us: Some(p99_us), ..self }
    }

    /// Returns the requests of one stretch alone, which is one of the busiest.
    pub(crate) fn alone(busy: &Busy, stretch: &Stretch, simulation: &Simulation) -> Result<Self, StudyError> {
        let Self { mut requests, lengths, hour_requests, .. } = Self::of(busy, simulation)?;
        let place = busy.times.busiest.iter().position(|one| one == stretch).expect("it is one of them");
        // One stretch is too little of the hour to tell anything about it.
        let (requests, lengths) = (vec![requests.swap_remove(place)], vec![lengths[place]]);
        Ok(Self {
            requests,
            from: vec![stretch.from],
            lengths,
            judged: 0,
            by_bytes: None,
            of_hour: vec![false],
            hour_requests,
            until_p99_us: None,
        })
    }

    /// The requests of all stretches, each stretch soon after the one before it.
    pub(crate) fn in_a_row(&self) -> impl Iterator<Item = Arrival> {
        self.requests.iter().zip(self.begins()).flat_map(|(requests, begin)| {
            requests.iter().map(move |arrival| Arrival { at: begin + arrival.at, ..*arrival })
        })
    }

    /// Returns when each stretch begins if they are played in a row.
    fn begins(&self) -> impl Iterator<Item = Nanos> {
        self.lengths.iter().scan(Nanos::ZERO, |next, length| {
            let begin = *next + GAP;
            *next = begin + *length;
            Some(begin)
        })
    }

    /// Converts a time of the stretches in a row to a time of the trace.
    pub(crate) fn in_trace(&self, at: Nanos) -> Nanos {
        let found = self.begins().zip(&self.from).take_while(|(begin, _)| *begin <= at).last();
        found.map_or(at, |(begin, from)| *from + (at - begin))
    }

    /// Returns the lowest 99th percentile that the busiest hour can have if these response times occur in it: all
    /// others may be short.
    fn hour_p99_us(&self, some: &LatencyHistogram) -> Option<f64> {
        let longer = self.hour_requests as f64 / 100.0;
        let count = some.count() as f64;
        (count > longer).then(|| some.quantile(1.0 - longer / count).as_micros_f64())
    }

    /// Number of requests.
    pub(crate) fn len(&self) -> u64 {
        self.requests.iter().map(|requests| requests.len() as u64).sum()
    }
}

/// Plays the stretches at `load` times the trace's speed, each a little later than what was played before.
pub(crate) fn strain(
    stretches: &Stretches,
    simulation: &mut Simulation,
    load: f64,
    hooks: &Hooks<'_>,
) -> Result<Strain, StudyError> {
    let (mut busy, mut busy_by_bytes, mut of_hour) = (None, None, LatencyHistogram::default());
    let mut before = 0;
    for (index, (requests, length)) in stretches.requests.iter().zip(&stretches.lengths).enumerate() {
        let scaled = |at: Nanos| Nanos((at.0 as f64 / load) as u64);
        let count = requests.len() as u64;
        let ceiling = stretches.until_p99_us.map(|p99_us| Ceiling::p99_above(p99_us, count));
        let mut measured = RunMeasurements::new().with_ceiling(ceiling);
        simulation.rest(GAP);
        simulation.control(Control::StartMeasuring).map_err(StudyError::design)?;
        let start = simulation.now();
        let faster = requests.iter().map(|arrival| Arrival { at: scaled(arrival.at), ..*arrival });
        let played = simulation.play(faster, &mut measured, &mut hooks.go_on());
        let Replay { end, .. } = played.map_err(StudyError::design)?;
        if let (ReplayEnd::Stopped, Some(p99_us)) = (end, stretches.until_p99_us) {
            let all = before + measured.statistics().response().count();
            let left = 1.0 - all as f64 / stretches.len() as f64;
            return Ok(Strain { ended: Some((p99_us, left)), ..Strain::TOO_MUCH });
        }
        if end != ReplayEnd::Complete {
            return Ok(Strain::TOO_MUCH);
        }
        simulation.wait_until(start + scaled(*length));
        before += count;
        if stretches.of_hour[index] {
            of_hour.merge(&measured.statistics().response());
        }
        if index == stretches.judged || stretches.by_bytes == Some(index) {
            let response = measured.statistics().response();
            let (resource, utilisation) = busiest_resource(simulation.device(), simulation.now() - start);
            let results = BusyResults {
                response_time: LatencySummary::of(&response),
                p99_us_of_other_seed: None,
                saturates_with_other_seed: false,
                resource,
                utilisation,
            };
            *(if index == stretches.judged { &mut busy } else { &mut busy_by_bytes }) = Some(results);
        }
    }
    Ok(Strain { busy, busy_by_bytes, hour_p99_us: stretches.hour_p99_us(&of_hour), ended: None })
}

/// Returns the busiest single resource of a device tree, and the share of the time `whole` in which it was busy since
/// measuring began.
fn busiest_resource(device: &dyn Reporting, whole: Nanos) -> (Option<String>, Option<f64>) {
    let busy = device.telemetry().busy;
    match busy.iter().max_by_key(|busy| busy.busiest) {
        Some(busy) => {
            let share = busy.busiest.0 as f64 / whole.0.max(1) as f64;
            (Some(resource_name(busy.kind).to_string()), Some(share.min(1.0)))
        }
        None => (None, None),
    }
}

impl Strain {
    /// The result of a design that cannot keep up.
    pub(crate) const TOO_MUCH: Self = Self { busy: None, busy_by_bytes: None, hour_p99_us: None, ended: None };

    /// Adds the busiest stretch by bytes, which was played alone. A design that cannot keep up with it cannot keep up.
    pub(crate) fn add_by_bytes(&mut self, by_bytes: Self) {
        match by_bytes.busy {
            Some(busy) => self.busy_by_bytes = Some(busy),
            None => *self = Self::TOO_MUCH,
        }
    }

    /// The results of the stretches in which budgets hold.
    fn judged(&self) -> impl Iterator<Item = &BusyResults> {
        self.busy.iter().chain(&self.busy_by_bytes)
    }

    /// Returns by how much a budget is missed under `load` times the trace's load, as a logarithm. The budget for
    /// utilisation holds for the load of the trace.
    pub(crate) fn missed(&self, limits: &Limits, load: f64) -> f64 {
        if let Some((p99_us, left)) = self.ended {
            return lost(p99_us / limits.p99_us.max(1e-9), left);
        }
        if self.busy.is_none() {
            return f64::MAX;
        }
        let missed = self.judged().map(|busy| {
            over(busy.response_time.p99_us, limits.p99_us)
                .max(over(busy.utilisation.unwrap_or(0.0) / load, limits.utilisation))
        });
        missed.fold(0.0, f64::max)
    }

    /// Returns the larger 99th percentile of both stretches; `None` if the design cannot keep up.
    pub(crate) fn p99_us(&self) -> Option<f64> {
        self.busy.as_ref()?;
        self.judged().map(|busy| busy.response_time.p99_us).reduce(f64::max)
    }

    /// Returns what breaks, as a sentence, or `None`. The budget for utilisation holds only for the load of the trace:
    /// it exists to leave room for more.
    pub(crate) fn broken(&self, limits: &Limits, load: f64) -> Option<String> {
        if let Some((p99, _)) = self.ended {
            let (p99, limit) = (words::time(p99), words::time_limit(limits.p99_us));
            return Some(format!("1 % of requests take more than {p99}, the budget of 99 % is {limit}"));
        }
        let Some(p99) = self.p99_us() else { return Some("it cannot keep up".into()) };
        if p99 > limits.p99_us {
            let (p99, limit) = (words::time(p99), words::time_limit(limits.p99_us));
            return Some(format!("99 % of requests take up to {p99}, the budget is {limit}"));
        }
        let most = self.judged().filter_map(|busy| Some((busy.resource.as_deref()?, busy.utilisation?)));
        let (resource, utilisation) = most.reduce(|one, other| if other.1 > one.1 { other } else { one })?;
        (load <= 1.0 && utilisation > limits.utilisation).then(|| {
            let name = words::resource(resource);
            format!(
                "its {name} is {} busy, the budget is {}",
                words::percent(utilisation),
                words::percent_limit(limits.utilisation)
            )
        })
    }
}

/// Which loads are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LoadSearch {
    /// The load that has to be carried.
    Asked,
    /// That and larger loads.
    Further,
}

/// Returns the loads to try after that of the trace, in rising order.
pub(crate) fn loads(search: LoadSearch, limits: &Limits) -> Vec<f64> {
    let further = LOADS.into_iter().filter(|_| search == LoadSearch::Further);
    let mut loads: Vec<f64> = further.chain([limits.load]).filter(|&load| load > 1.0).collect();
    loads.sort_by(f64::total_cmp);
    loads.dedup();
    loads
}

/// Finds the largest of `loads`, which are in rising order, under which no budget breaks. It tries the largest first
/// and then halves the range, because what breaks under a load breaks under larger ones. `first` has the results under
/// the load of the trace; `play` plays the stretches under another load.
pub(crate) fn headroom(
    first: &Strain,
    limits: &Limits,
    loads: &[f64],
    mut play: impl FnMut(f64) -> Result<Strain, StudyError>,
) -> Result<Headroom, StudyError> {
    let breaking = |load: f64, strain: &Strain, limited_by: String| Headroom {
        factor: 0.0,
        is_lower_bound: false,
        limited_by: Some(limited_by),
        breaks_at: Some(load),
        p99_us: strain.p99_us(),
    };
    if let Some(broken) = first.broken(limits, 1.0) {
        return Ok(breaking(1.0, first, broken));
    }
    // Loads before index `carried` are carried; `found` says what breaks under the load at index `broken`.
    let (mut carried, mut broken, mut found) = (0, loads.len(), None);
    let mut next = loads.len().checked_sub(1);
    while let Some(tried) = next {
        let strain = play(loads[tried])?;
        match strain.broken(limits, loads[tried]) {
            Some(limited_by) => (broken, found) = (tried, Some(breaking(loads[tried], &strain, limited_by))),
            None => carried = tried + 1,
        }
        next = (carried < broken).then(|| carried.midpoint(broken));
    }
    let factor = if carried == 0 { 1.0 } else { loads[carried - 1] };
    let none = Headroom { factor, is_lower_bound: true, limited_by: None, breaks_at: None, p99_us: None };
    Ok(found.map_or(none, |found| Headroom { factor, ..found }))
}
