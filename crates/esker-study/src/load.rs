//! Traces in: each is read once, characterised on the way, and kept in compact form for the simulations.

use std::path::PathBuf;
use std::sync::mpsc;

use esker_core::{Nanos, unlikely_rate, words};
use esker_results::profile::Profile;
use esker_sim::{Place, Together, places, volume_names};
use esker_trace::{
    Characteriser, CharacteriserSettings, DenseMap, Operation, ReadNotes, ReadOptions, Record, Spool, SpoolWriter,
    TouchedAreas, TraceReader,
};

use crate::{Hooks, StudyError};
use esker_results::study::InputSummary;

/// One trace, read.
pub(crate) struct Input {
    pub(crate) summary: InputSummary,
    /// Names of its files as an experiment beside them would have them.
    files: Vec<String>,
    spool: Spool,
    has_times: bool,
    first: Nanos,
}

/// One or several traces as one stream of requests, with what is known of them.
pub(crate) struct Workload {
    pub(crate) name: String,
    pub(crate) inputs: Vec<InputSummary>,
    /// All files, as `trace` in an experiment beside them names them.
    pub(crate) files: Vec<String>,
    pub(crate) profile: Profile,
    pub(crate) volumes: Vec<String>,
    pub(crate) has_times: bool,
    pub(crate) map: DenseMap,
    parts: Vec<Part>,
}

struct Part {
    spool: Spool,
    place: Place,
}

/// Reads one trace: parsing on its own thread, characterisation and spooling on this one.
fn read(paths: &[PathBuf], options: &ReadOptions, hooks: &Hooks<'_>) -> Result<(Input, Characteriser), StudyError> {
    let mut reader = TraceReader::open(paths, options)?;
    let file_name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let files = paths.iter().map(|path| file_name(path).unwrap_or_else(|| "-".into())).collect();
    let name = file_name(&paths[0]).unwrap_or_else(|| "standard input".into());
    let name = if name == "-" { "standard input".to_string() } else { name };
    let mut characteriser = Characteriser::new(CharacteriserSettings::default());
    let mut spool = SpoolWriter::default();
    let (mut first, mut last) = (None, Nanos::ZERO);
    let (mut bytes, mut empty) = (0u64, 0u64);
    let (batches, received) = mpsc::sync_channel::<Vec<Record>>(8);
    let (empties, reuse) = mpsc::channel::<Vec<Record>>();
    let reader = std::thread::scope(|scope| -> Result<TraceReader, StudyError> {
        let parser = scope.spawn(move || -> Result<TraceReader, StudyError> {
            loop {
                let mut batch = reuse.try_recv().unwrap_or_default();
                if !reader.next_batch(&mut batch)? || hooks.cancelled() {
                    return Ok(reader);
                }
                hooks.tell(&format!("reading {}", short(&reader)), reader.bytes_read(), reader.bytes_total());
                if batches.send(batch).is_err() {
                    return Ok(reader);
                }
            }
        });
        for batch in received {
            first = first.or(batch.first().map(|record| record.at));
            characteriser.push_all(&batch);
            for record in &batch {
                match record.operation {
                    Operation::Read | Operation::Write => bytes += u64::from(record.length),
                    Operation::Trim | Operation::Flush => {}
                }
                empty += u64::from(record.length == 0 && record.operation != Operation::Flush);
                spool.push(record)?;
            }
            last = batch.last().map_or(last, |record| record.at);
            let _ = empties.send(batch);
        }
        parser.join().expect("the parser does not panic")
    })?;
    hooks.check()?;
    let (first, has_times) = (first.unwrap_or_default(), reader.notes().has_times);
    let duration = last.saturating_sub(first);
    if has_times && duration > Nanos::LAST {
        return Err(StudyError::TooLong { name, years: duration.0 / Nanos::from_secs(365 * 86_400).0 });
    }
    let mut notes = remarks(reader.notes());
    if has_times {
        let (requests, volumes) = (reader.notes().records, reader.volumes().len() as u64);
        notes.extend(unlikely_rate(requests, bytes, duration.as_secs_f64(), volumes));
    }
    if empty > 0 {
        notes.push(format!("Requests of no bytes, which no device can serve, were left out: {}.", words::count(empty)));
    }
    let summary = InputSummary {
        name,
        format: reader.format().name.to_string(),
        volumes: reader.volumes().to_vec(),
        requests: reader.notes().records,
        notes,
    };
    let spool = spool.finish(reader.volumes().to_vec())?;
    // Times that are all the same say as little as none: all requests would come at once.
    let has_times = has_times && spool.times().is_some_and(|(first, last)| first < last);
    Ok((Input { summary, files, spool, has_times, first }, characteriser))
}

fn short(reader: &TraceReader) -> &'static str {
    reader.format().name
}

/// What the reader noticed, as sentences for the report.
pub fn remarks(notes: &ReadNotes) -> Vec<String> {
    let mut remarks = notes.remarks.clone();
    if notes.reordered > 0 {
        remarks.push(format!(
            "{} records came later than one with a later time and were put into their place (at most {} back).",
            notes.reordered, notes.largest_step_back
        ));
    }
    if notes.bad_lines > 0 {
        remarks.push(format!(
            "{} broken lines were skipped; the first: {}.",
            notes.bad_lines,
            notes.bad_line_messages.first().map_or("", String::as_str)
        ));
    }
    if !notes.ignored.is_empty() {
        let kinds: Vec<String> = notes.ignored.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
        remarks.push(format!("Lines that are no requests were passed over: {}.", kinds.join(", ")));
    }
    remarks
}

/// Reads one trace as a workload of its own.
pub(crate) fn single(paths: &[PathBuf], options: &ReadOptions, hooks: &Hooks<'_>) -> Result<Workload, StudyError> {
    let (input, characteriser) = read(paths, options, hooks)?;
    let volumes = input.summary.volumes.clone();
    let (profile, touched) = characteriser.finish_with_areas(&volumes);
    let name = input.summary.name.clone();
    finish(name, vec![input], profile, &touched, volumes)
}

/// Reads several traces as one workload. Where every trace has absolute times that overlap, they keep their relation;
/// else all begin together.
pub(crate) fn together(
    groups: &[Vec<PathBuf>],
    options: &ReadOptions,
    hooks: &Hooks<'_>,
) -> Result<Workload, StudyError> {
    let mut inputs = Vec::new();
    for paths in groups {
        inputs.push(read(paths, options, hooks)?.0);
    }
    let volumes = match inputs.as_slice() {
        [only] => only.summary.volumes.clone(),
        several => {
            volume_names(several.iter().map(|input| (input.summary.name.as_str(), input.summary.volumes.as_slice())))
        }
    };
    let places = places_of(&inputs);
    let mut characteriser = Characteriser::new(CharacteriserSettings::default());
    for record in Together::new(inputs.iter().map(|input| &input.spool).zip(places)) {
        characteriser.push(&record);
    }
    let (profile, touched) = characteriser.finish_with_areas(&volumes);
    finish("all traces together".into(), inputs, profile, &touched, volumes)
}

fn places_of(inputs: &[Input]) -> Vec<Place> {
    places(inputs.iter().map(|input| (input.first, input.summary.volumes.len())))
}

fn finish(
    name: String,
    inputs: Vec<Input>,
    profile: Profile,
    touched: &TouchedAreas,
    volumes: Vec<String>,
) -> Result<Workload, StudyError> {
    if profile.read_requests + profile.write_requests == 0 {
        return Err(StudyError::NothingToDo { name });
    }
    let places = places_of(&inputs);
    let has_times = inputs.iter().all(|input| input.has_times);
    let (mut summaries, mut files, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for (input, place) in inputs.into_iter().zip(places) {
        summaries.push(input.summary);
        files.extend(input.files);
        parts.push(Part { spool: input.spool, place });
    }
    let map = DenseMap::new(touched);
    Ok(Workload { name, inputs: summaries, files, profile, volumes, has_times, map, parts })
}

impl Workload {
    /// All requests in order of time, the first one near time zero.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record> + '_ {
        Together::new(self.parts.iter().map(|part| (&part.spool, part.place)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use super::*;

    /// A trace that a format with times holds may have none all the same, such as one converted from a format without.
    #[test]
    fn times_that_are_all_the_same_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let has_times = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            let (cancel, simulated) = (AtomicBool::new(false), AtomicU64::new(0));
            let hooks = Hooks { progress: &|_, _, _| {}, cancel: &cancel, simulated: &simulated };
            single(&[path], &ReadOptions::default(), &hooks).unwrap().has_times
        };
        assert!(has_times("timed.spc", "0,8,4096,R,0.5\n0,16,4096,W,0.5\n0,24,4096,R,0.6\n"));
        assert!(!has_times("flat.spc", "0,8,4096,R,0.5\n0,16,4096,W,0.5\n0,24,4096,R,0.5\n"));
        assert!(!has_times("none.lis", "8 8 0 0\n16 8 0 1\n"));
    }
}
