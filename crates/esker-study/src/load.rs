//! Traces in: each is read once, characterised on the way, and kept in compact form for the simulations.

use std::path::PathBuf;
use std::sync::mpsc;

use esker_core::Nanos;
use esker_trace::{
    Characteriser, CharacteriserSettings, DenseMap, Profile, ReadNotes, ReadOptions, Record, Spool, SpoolWriter,
    TouchedAreas, TraceReader, VolumeIndex,
};

use crate::model::InputSummary;
use crate::{Hooks, StudyError};

/// One trace, read.
pub(crate) struct Input {
    pub(crate) summary: InputSummary,
    spool: Spool,
    has_times: bool,
    first: Nanos,
}

/// One or several traces as one stream of requests, with what is known of them.
pub(crate) struct Workload {
    pub(crate) name: String,
    pub(crate) inputs: Vec<InputSummary>,
    pub(crate) profile: Profile,
    pub(crate) volumes: Vec<String>,
    pub(crate) has_times: bool,
    pub(crate) map: DenseMap,
    parts: Vec<Part>,
}

struct Part {
    spool: Spool,
    first_volume: u32,
    /// Subtracted from every time, so that the workload begins at zero.
    zero: Nanos,
}

/// Reads one trace: parsing on its own thread, characterisation and spooling on this one.
fn read(paths: &[PathBuf], options: &ReadOptions, hooks: &Hooks<'_>) -> Result<(Input, Characteriser), StudyError> {
    let mut reader = TraceReader::open(paths, options)?;
    let name = paths[0].file_name().map_or_else(|| "standard input".into(), |name| name.to_string_lossy().into_owned());
    let name = if name == "-" { "standard input".to_string() } else { name };
    let mut characteriser = Characteriser::new(CharacteriserSettings::default());
    let mut spool = SpoolWriter::default();
    let mut first = None;
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
                spool.push(record)?;
            }
            let _ = empties.send(batch);
        }
        parser.join().expect("the parser does not panic")
    })?;
    hooks.check()?;
    let summary = InputSummary {
        name,
        format: reader.format().name.to_string(),
        volumes: reader.volumes().to_vec(),
        requests: reader.notes().records,
        notes: remarks(reader.notes()),
    };
    let spool = spool.finish(reader.volumes().to_vec())?;
    // Times that are all the same say as little as none: all requests would come at once.
    let has_times = spool.times().is_some_and(|(first, last)| first < last);
    Ok((Input { summary, spool, has_times, first: first.unwrap_or_default() }, characteriser))
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
    let several = inputs.len() > 1;
    let volumes: Vec<String> =
        inputs
            .iter()
            .flat_map(|input| {
                input.summary.volumes.iter().map(move |volume| {
                    if several { format!("{}:{volume}", input.summary.name) } else { volume.clone() }
                })
            })
            .collect();
    let parts = place(inputs.iter().map(|input| (input.first, input.summary.volumes.len())));
    let mut characteriser = Characteriser::new(CharacteriserSettings::default());
    let spools: Vec<_> = inputs.iter().zip(&parts).map(|(input, &place)| (&input.spool, place)).collect();
    for record in Merged::new(&spools) {
        characteriser.push(&record);
    }
    let (profile, touched) = characteriser.finish_with_areas(&volumes);
    finish("all traces together".into(), inputs, profile, &touched, volumes)
}

/// Times from 2000 on, in nanoseconds since 1970, are taken as absolute.
const ABSOLUTE_FROM: Nanos = Nanos::from_secs(946_684_800);

/// First volume number and time zero of each trace.
fn place(inputs: impl Iterator<Item = (Nanos, usize)>) -> Vec<(u32, Nanos)> {
    let inputs: Vec<_> = inputs.collect();
    let absolute = inputs.iter().all(|(first, _)| *first >= ABSOLUTE_FROM);
    let earliest = inputs.iter().map(|(first, _)| *first).min().unwrap_or_default();
    let mut volume = 0;
    inputs
        .into_iter()
        .map(|(first, volumes)| {
            let place = (volume, if absolute { earliest } else { first });
            volume += volumes as u32;
            place
        })
        .collect()
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
    let places = place(inputs.iter().map(|input| (input.first, input.summary.volumes.len())));
    let has_times = inputs.iter().all(|input| input.has_times);
    let mut summaries = Vec::new();
    let mut parts = Vec::new();
    for (input, (first_volume, zero)) in inputs.into_iter().zip(places) {
        summaries.push(input.summary);
        parts.push(Part { spool: input.spool, first_volume, zero });
    }
    Ok(Workload { name, inputs: summaries, profile, volumes, has_times, map: DenseMap::new(touched), parts })
}

impl Workload {
    /// All requests in order of time, the first one near time zero.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record> + '_ {
        let parts: Vec<_> = self.parts.iter().map(|part| (&part.spool, (part.first_volume, part.zero))).collect();
        Merged::new(&parts)
    }
}

/// Merges spools by time; equal times in the order of the traces.
struct Merged<I> {
    heads: Vec<(I, Option<Record>)>,
}

impl<'a> Merged<Box<dyn Iterator<Item = Record> + 'a>> {
    fn new(parts: &[(&'a Spool, (u32, Nanos))]) -> Self {
        let heads = parts
            .iter()
            .map(|&(spool, (first_volume, zero))| {
                let mut records: Box<dyn Iterator<Item = Record> + 'a> =
                    Box::new(spool.records().map(move |record| Record {
                        at: record.at.saturating_sub(zero),
                        volume: VolumeIndex(record.volume.0 + first_volume),
                        ..record
                    }));
                let head = records.next();
                (records, head)
            })
            .collect();
        Self { heads }
    }
}

impl<I: Iterator<Item = Record>> Iterator for Merged<I> {
    type Item = Record;

    #[inline]
    fn next(&mut self) -> Option<Record> {
        let (records, head) = match self.heads.as_mut_slice() {
            [only] => only,
            heads => {
                heads.iter_mut().filter(|(_, head)| head.is_some()).min_by_key(|(_, head)| head.map(|head| head.at))?
            }
        };
        std::mem::replace(head, records.next())
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
