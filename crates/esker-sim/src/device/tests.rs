//! Tests of the device contract for every kind in the registry. In tests this includes the worked example.

use std::collections::BTreeMap;

use esker_core::registry::{self, ParameterSource};
use esker_core::{
    Bytes, Completion, Control, Device, DeviceError, Lba, Nanos, Request, RequestKind, Rng, Tag, TagSlab, Telemetry,
    Unsupported,
};
use esker_results::{DeviceReport, Report};
use proptest::prelude::*;

use super::*;
use crate::Experiment;

#[test]
fn the_registry_is_sound() {
    assert_eq!(registry::check(DEVICE_KINDS), Vec::<String>::new());
    assert!(DEVICE_KINDS.iter().any(|kind| kind.name == worked_example::KIND.name));
}

fn experiment(kind: &DeviceKind) -> Experiment {
    let text =
        format!("[workload]\nsynthetic = {{ requests = 1 }}\n\n{}\n[run]\ntarget = \"example\"\n", kind.build.example);
    Experiment::from_str(&text, kind.name).unwrap_or_else(|error| panic!("{error}"))
}

pub(super) fn device(kind: &DeviceKind) -> Box<dyn Reporting> {
    experiment(kind).assemble().unwrap_or_else(|error| panic!("{error}")).device
}

#[test]
fn every_example_is_of_its_kind_has_no_unknown_key_and_reads_back_as_it_was() {
    for kind in DEVICE_KINDS {
        let first = experiment(kind).resolved();
        let example = &first["device"]["example"];
        assert_eq!(example["kind"], kind.name);
        let again = Experiment::from_resolved(&first, kind.name).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.resolved(), first, "{}", kind.name);
        let ParameterSource::Schema(schema) = kind.parameters else { panic!("{} is read from a table", kind.name) };
        let mut settings = example.clone();
        // Keys shared by all kinds.
        for common in ["kind", "precondition", "utilisation"] {
            settings.as_object_mut().unwrap().remove(common);
        }
        let validator = jsonschema::validator_for(&schema().to_value()).unwrap();
        let problems: Vec<String> = validator.iter_errors(&settings).map(|error| error.to_string()).collect();
        assert!(problems.is_empty(), "{}: {problems:#?}", kind.name);
        let device = device(kind);
        let mut report = Report::default();
        device.report(&mut report);
        assert_eq!(report.devices["example"].kind, kind.name);
    }
}

/// Values that are out of bounds for many keys, in several units.
const EXTREMES: [&str; 6] = ["0", "100000", "\"0ns\"", "\"100000h\"", "\"0B\"", "\"0%\""];

/// The key of `example` that a device with this value refuses by name, and where the error stands.
fn refused_at(kind: &DeviceKind, key: &str, value: &str) -> Option<(String, String)> {
    let mut document = experiment(kind).resolved();
    let value: toml::Table = format!("value = {value}").parse().unwrap();
    document["device"]["example"][key] = serde_json::to_value(&value["value"]).unwrap();
    let text = toml::to_string(&document).unwrap();
    let error = Experiment::from_str(&text, kind.name).ok()?.assemble().err()?;
    error.to_string().contains(&format!("`{key}`")).then(|| (format!("device.example.{key}"), error.key))
}

#[test]
fn a_refused_setting_is_shown_where_it_stands() {
    let mut refused = Vec::new();
    for kind in DEVICE_KINDS {
        let document = experiment(kind).resolved();
        for key in document["device"]["example"].as_object().unwrap().keys() {
            for (expected, found) in EXTREMES.iter().filter_map(|value| refused_at(kind, key, value)) {
                assert_eq!(found, expected, "{}: `DeviceFault::at` names the key", kind.name);
                refused.push(kind.name);
            }
        }
    }
    assert!(refused.contains(&worked_example::KIND.name) && refused.contains(&"constant"), "{refused:?}");
}

/// A request under way.
struct UnderWay {
    submitted: Nanos,
    request: Request,
}

/// Sends random requests to a device in bursts and after pauses; a few of them reach beyond its end. Returns those that
/// ended, or as an error the first broken rule of the contract.
pub(super) fn drive(device: &mut dyn Device, requests: u64, seed: u64) -> Result<Vec<(u64, Completion)>, String> {
    let (mut rng, mut tags) = (Rng::new(seed), TagSlab::default());
    let mut under_way: BTreeMap<Tag, (u64, UnderWay)> = BTreeMap::new();
    let (mut now, mut sent, mut completions, mut done) = (Nanos::ZERO, 0, Vec::new(), Vec::new());
    let (capacity, slots, pace) = (device.capacity(), device.free_slots(), 1 + rng.below(200_000));
    if capacity < Bytes::SECTOR || slots == 0 {
        return Err(format!("it holds {capacity} and takes {slots} requests"));
    }
    let mut next_arrival = Nanos::ZERO;
    while sent < requests || !under_way.is_empty() {
        let (event, free) = (device.next_event(), device.free_slots());
        if free + under_way.len() != slots {
            return Err(format!("{free} slots are free while {} of {slots} are in use", under_way.len()));
        }
        let may_send = sent < requests && free > 0;
        if may_send && next_arrival <= event {
            now = now.max(next_arrival);
            let request = random_request(capacity, &mut rng);
            let tag = tags.insert(());
            device.submit(now, tag, request);
            under_way.insert(tag, (sent, UnderWay { submitted: now, request }));
            sent += 1;
            next_arrival = now + Nanos(if rng.chance(1, 2) { 0 } else { rng.below(pace) });
            continue;
        }
        if event == Nanos::NEVER {
            return Err("it has nothing to do while requests are under way".to_string());
        }
        if event < now {
            return Err(format!("its next event is at {event}, and it is {now}"));
        }
        now = event;
        device.advance(now, &mut done);
        for completion in done.drain(..) {
            let Some((number, UnderWay { submitted, request })) = under_way.remove(&completion.tag) else {
                return Err(format!("{completion:?} is of no request under way"));
            };
            tags.remove(completion.tag);
            judge(&completion, submitted, now, request, capacity)?;
            completions.push((number, completion));
        }
    }
    Ok(completions)
}

fn judge(
    completion: &Completion,
    submitted: Nanos,
    now: Nanos,
    request: Request,
    capacity: Bytes,
) -> Result<(), String> {
    if completion.at != now {
        return Err(format!("at {now} it tells of an end at {}", completion.at));
    }
    if completion.service_start < submitted || completion.service_start > now {
        return Err(format!("service from {submitted} to {now} began at {}", completion.service_start));
    }
    let expected = match request.kind {
        RequestKind::Flush => Ok(()),
        _ if request.end_byte() > capacity.0 => Err(DeviceError::OutOfRange { end: request.end_byte(), capacity }),
        _ => Ok(()),
    };
    if completion.result != expected {
        return Err(format!("{request:?} ended with {:?}", completion.result));
    }
    Ok(())
}

fn random_request(capacity: Bytes, rng: &mut Rng) -> Request {
    let sectors = capacity.0 / 512;
    let kind = match rng.below(10) {
        0..4 => RequestKind::Read,
        4..7 => RequestKind::Write { fua: rng.chance(1, 4) },
        7 => RequestKind::WriteZeroes { fua: false },
        8 => RequestKind::Trim,
        _ => return Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO),
    };
    // One in sixteen may reach beyond the end.
    let start = if rng.chance(1, 16) { sectors - 1 - rng.below(8.min(sectors)) } else { rng.below(sectors) };
    let length = 1 + rng.below(64);
    let length = if rng.chance(1, 16) { length } else { length.min(sectors - start) };
    Request::new(kind, Lba(start), Bytes(length * 512))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_kind_keeps_the_contract_and_does_alike_each_time(seed: u64) {
        for kind in DEVICE_KINDS {
            let run = || drive(&mut *device(kind), 300, seed);
            let first = run();
            prop_assert!(first.is_ok(), "{}: {}", kind.name, first.unwrap_err());
            let first = first.unwrap();
            prop_assert_eq!(first.len(), 300);
            prop_assert_eq!(first, run().unwrap(), "{} does otherwise the second time", kind.name);
        }
    }
}

/// A faulty device.
struct Wrong {
    device: Box<dyn Reporting>,
    flaw: Flaw,
    ended: u64,
}

#[derive(Clone, Copy, Debug)]
enum Flaw {
    LosesACompletion,
    CompletesTwice,
    KeepsASlot,
    TellsLate,
    HidesErrors,
}

impl Device for Wrong {
    fn capacity(&self) -> Bytes {
        self.device.capacity()
    }
    fn free_slots(&self) -> usize {
        let kept = matches!(self.flaw, Flaw::KeepsASlot) && self.ended > 20;
        self.device.free_slots() - usize::from(kept)
    }
    fn submit(&mut self, now: Nanos, tag: Tag, request: Request) {
        self.device.submit(now, tag, request);
    }
    fn next_event(&self) -> Nanos {
        self.device.next_event()
    }
    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        let before = done.len();
        self.device.advance(now, done);
        self.ended += (done.len() - before) as u64;
        let Some(&last) = done[before..].last() else { return };
        match self.flaw {
            Flaw::LosesACompletion if self.ended > 20 => done.truncate(before),
            Flaw::CompletesTwice if self.ended > 20 => done.push(last),
            Flaw::TellsLate => done[before..].iter_mut().for_each(|completion| completion.at = now - Nanos(1)),
            Flaw::HidesErrors => done[before..].iter_mut().for_each(|completion| completion.result = Ok(())),
            _ => {}
        }
    }
    fn control(&mut self, now: Nanos, command: Control) -> Result<(), Unsupported> {
        self.device.control(now, command)
    }
    fn telemetry(&self) -> Telemetry {
        self.device.telemetry()
    }
}

#[test]
fn devices_that_break_the_contract_are_found_out() {
    let constant = registry::find(DEVICE_KINDS, "kind of device", "constant").unwrap();
    for (flaw, says) in [
        (Flaw::LosesACompletion, "slots are free"),
        (Flaw::CompletesTwice, "no request under way"),
        (Flaw::KeepsASlot, "slots are free"),
        (Flaw::TellsLate, "tells of an end"),
        (Flaw::HidesErrors, "ended with Ok"),
    ] {
        let mut wrong = Wrong { device: device(constant), flaw, ended: 0 };
        let error = drive(&mut wrong, 300, 1).unwrap_err();
        assert!(error.contains(says), "{flaw:?}: {error}");
    }
}

/// A device that is idle from some time on has been busy for half of that share of twice the time. A cloud volume's
/// share is that of its tokens, of which it may have saved some at first.
#[test]
fn shares_of_time_are_those_of_the_whole_run() {
    for kind in DEVICE_KINDS {
        let mut device = device(kind);
        drive(&mut *device, 200, 1).unwrap_or_else(|broken| panic!("{}: {broken}", kind.name));
        let [half, whole] = [1_000, 2_000].map(|seconds| Report::until(Nanos::from_secs(seconds), &*device));
        for (name, half) in &half.devices {
            let whole = &whole.devices[name];
            let shares = |report: &DeviceReport| -> Vec<f64> {
                report.utilisation.values().chain(report.utilisation_busiest.values()).copied().collect()
            };
            for (half, whole) in shares(half).into_iter().zip(shares(whole)) {
                let is_half = (2.0 * whole - half).abs() <= 1e-9 * half;
                assert!(
                    is_half || half <= 1.0 && whole < half && kind.name == "cloud-volume",
                    "{name}: {half}, {whole}"
                );
            }
        }
    }
}
