//! Compares the response times of a simulated device with measured ones.

use esker_config::ConfigError;
use esker_core::{Bytes, Lba, Nanos, Problem, Request, ResourceKind, TagSlab};
use esker_results::Reporting;
use esker_results::validation::{ValidationClass, ValidationQuantile};
use esker_trace::{Operation, Record, TraceReader};

use crate::run_error::RunError;

/// A request, how long the measured device took for it, and how long the host waited before the next one.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredRequest {
    /// What was asked.
    pub request: Request,
    /// Measured response time.
    pub response: Nanos,
    /// From the end of this request to the next one; zero if that came before.
    pub pause: Nanos,
}

/// Requests within this many sectors of the end of the request before them count as near.
const NEAR_SECTORS: u64 = 2_000;
/// Steps of the distributions that are kept.
const STEPS: u32 = 200;

/// Reads all requests with a response time.
///
/// # Errors
/// The trace cannot be read, has no response times, or goes to several volumes.
pub fn read_measured(reader: &mut TraceReader) -> Result<Vec<MeasuredRequest>, RunError> {
    let mut records: Vec<Record> = Vec::new();
    let mut batch = Vec::new();
    while reader.next_batch(&mut batch)? {
        let usable = |record: &&Record| {
            matches!(record.operation, Operation::Read | Operation::Write)
                && record.response.is_some()
                && record.length > 0
        };
        records.extend(batch.iter().filter(usable));
    }
    let wrong = |message: String, hint: &str| {
        let error = ConfigError::new("", Problem::with_hint(message, hint));
        RunError::Config(ConfigError { origin: reader.name().to_string(), ..error })
    };
    if records.is_empty() {
        let hint = "a trace of the formats msr, systor or blkparse has them, and DiskSim's validation files";
        return Err(wrong("it has no requests with response times".to_string(), hint));
    }
    let mut volumes: Vec<_> = records.iter().map(|record| record.volume.0).collect();
    volumes.sort_unstable();
    volumes.dedup();
    if volumes.len() > 1 {
        let message = format!("its requests go to {} volumes, and one device is simulated", volumes.len());
        return Err(wrong(message, "keep one of them with `esker trace filter --volume NAME`"));
    }
    let next = records.iter().skip(1).map(|record| Some(record.at)).chain([None]);
    Ok(records.iter().zip(next).map(|(record, next)| measured(record, next)).collect())
}

fn measured(record: &Record, next: Option<Nanos>) -> MeasuredRequest {
    let response = record.response.unwrap_or_default();
    let start = Lba(record.offset / Bytes::SECTOR.0);
    let length = Bytes((record.end().div_ceil(Bytes::SECTOR.0) - start.0) * Bytes::SECTOR.0);
    let write = record.operation == Operation::Write;
    let end = Nanos(record.at.0.saturating_add(response.0));
    MeasuredRequest {
        request: if write { Request::write(start, length) } else { Request::read(start, length) },
        response,
        pause: next.map_or(Nanos::ZERO, |next| next.saturating_sub(end)),
    }
}

/// A simulated response time, and whether an arm moved for it.
#[derive(Clone, Copy, Debug)]
struct Simulated {
    response: Nanos,
    moved: bool,
}

/// Serves `requests` one after another, with the host's pauses in between, and compares the response times: of all
/// requests, and of each class that has any.
///
/// # Errors
/// A request lies beyond the device, or the device stops.
pub fn validate(device: &mut dyn Reporting, requests: &[MeasuredRequest]) -> Result<Vec<ValidationClass>, RunError> {
    let has_arm = arm_busy(device).is_some();
    let simulated = replay(device, requests)?;
    let write = |index: usize| requests[index].request.kind.is_write();
    let all: &dyn Fn(usize) -> bool = &|_| true;
    let mut classes = vec![compare("all", requests, &simulated, all)];
    for (name, writes) in [("reads", false), ("writes", true)] {
        classes.push(compare(name, requests, &simulated, &|index| write(index) == writes));
        for place in [Place::Sequential, Place::Near, Place::Far] {
            let name = format!("{name}, {}", place.name());
            classes.push(compare(&name, requests, &simulated, &|index| {
                write(index) == writes && Place::of(requests, index) == place
            }));
        }
    }
    for (name, moved) in [("reads, hits in the model", false), ("reads, misses in the model", true)] {
        if has_arm {
            classes
                .push(compare(name, requests, &simulated, &|index| !write(index) && simulated[index].moved == moved));
        }
    }
    Ok(classes.into_iter().flatten().collect())
}

/// Time that the arms under `device` have been busy; `None` if it has none.
fn arm_busy(device: &dyn Reporting) -> Option<u64> {
    let arms = device.telemetry().busy.into_iter().filter(|busy| busy.kind == ResourceKind::Arm);
    arms.map(|busy| busy.busy.0).reduce(|a, b| a + b)
}

fn replay(device: &mut dyn Reporting, requests: &[MeasuredRequest]) -> Result<Vec<Simulated>, RunError> {
    let (mut tags, mut done, mut times) = (TagSlab::default(), Vec::new(), Vec::with_capacity(requests.len()));
    let mut now = Nanos::ZERO;
    for (index, measured) in requests.iter().enumerate() {
        while device.next_event() <= now {
            device.advance(device.next_event(), &mut done);
        }
        let before = arm_busy(device);
        device.submit(now, tags.insert(()), measured.request);
        while done.is_empty() {
            let next = device.next_event();
            if next == Nanos::NEVER {
                return Err(RunError::Stalled { at: now, in_flight: 1 });
            }
            device.advance(next, &mut done);
        }
        let completion = done.pop().expect("one request is under way");
        tags.remove(completion.tag);
        if let Err(error) = completion.result {
            let message = format!("request {} failed on the simulated device: {error}", index + 1);
            let hint = "simulate the device that was measured, or one of at least its capacity";
            return Err(ConfigError::new("", Problem::with_hint(message, hint)).into());
        }
        times.push(Simulated { response: completion.at - now, moved: arm_busy(device) != before });
        let next = completion.at.0.checked_add(measured.pause.0).filter(|&next| next < Nanos::NEVER.0);
        now = Nanos(next.ok_or_else(|| {
            let message = format!("the pauses up to request {} are longer than 584 years", index + 1);
            ConfigError::new("", Problem::new(message))
        })?);
    }
    Ok(times)
}

/// How a request lies to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Sequential,
    Near,
    Far,
}

impl Place {
    fn of(requests: &[MeasuredRequest], index: usize) -> Self {
        let Some(before) = index.checked_sub(1) else { return Self::Far };
        let end = requests[before].request.end_byte() / Bytes::SECTOR.0;
        match requests[index].request.start.0.abs_diff(end) {
            0 => Self::Sequential,
            1..=NEAR_SECTORS => Self::Near,
            _ => Self::Far,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Near => "near",
            Self::Far => "far",
        }
    }
}

/// The class of the requests that `which` chooses by index; `None` if there are none.
fn compare(
    name: &str,
    requests: &[MeasuredRequest],
    simulated: &[Simulated],
    which: &dyn Fn(usize) -> bool,
) -> Option<ValidationClass> {
    let chosen: Vec<usize> = (0..requests.len()).filter(|&index| which(index)).collect();
    let sorted = |time: &dyn Fn(usize) -> Nanos| {
        let mut times: Vec<Nanos> = chosen.iter().map(|&index| time(index)).collect();
        times.sort_unstable();
        times
    };
    let (real, model) = (sorted(&|index| requests[index].response), sorted(&|index| simulated[index].response));
    let last = real.len().checked_sub(1)?;
    let count = real.len() as f64;
    let mean = |times: &[Nanos]| times.iter().map(|time| millis(*time)).sum::<f64>() / count;
    let squares: f64 = real.iter().zip(&model).map(|(a, b)| (millis(*a) - millis(*b)).powi(2)).sum();
    let (measured_mean_ms, demerit_ms) = (mean(&real), (squares / count).sqrt());
    let quantile = |step: u32| {
        let share = f64::from(step) / f64::from(STEPS);
        let place = (share * last as f64).round() as usize;
        ValidationQuantile { share, measured_ms: millis(real[place]), simulated_ms: millis(model[place]) }
    };
    Some(ValidationClass {
        name: name.to_string(),
        requests: real.len() as u64,
        measured_mean_ms,
        simulated_mean_ms: mean(&model),
        demerit_ms,
        demerit_relative: (measured_mean_ms > 0.0).then(|| demerit_ms / measured_mean_ms),
        distribution: (0..=STEPS).map(quantile).collect(),
    })
}

fn millis(time: Nanos) -> f64 {
    time.0 as f64 / 1e6
}
