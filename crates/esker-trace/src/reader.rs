//! Reads traces as streams of records.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use esker_core::Nanos;

use crate::Record;
use crate::error::TraceError;
use crate::format::{self, FormatEntry, Open, RecordSource, Sample, disksim_validate};
use crate::input::Input;
use crate::notes::ReadNotes;
use crate::pairing::COMPLETION;
use crate::sink::Sink;

/// Options for reading a trace.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The name of the format; `None` to detect it.
    pub format: Option<String>,
    /// How many bad lines are skipped and counted; one more is an error. `None` and zero tolerate none.
    pub lenient: Option<u64>,
    /// The longest step back in time after which a record is still sorted into its place.
    pub reorder_time: Nanos,
    /// The largest number of records over which it is sorted.
    pub reorder_records: usize,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { format: None, lenient: None, reorder_time: Nanos::from_secs(1), reorder_records: 65_536 }
    }
}

/// Reads one trace of any format in constant memory, in order of time.
///
/// ```no_run
/// # use esker_trace::{ReadOptions, TraceReader};
/// let mut reader = TraceReader::open(&["prxy_0.csv.gz".into()], &ReadOptions::default())?;
/// let mut batch = Vec::new();
/// let mut bytes = 0;
/// while reader.next_batch(&mut batch)? {
///     bytes += batch.iter().map(|record| u64::from(record.length)).sum::<u64>();
/// }
/// # Ok::<(), esker_trace::TraceError>(())
/// ```
pub struct TraceReader {
    format: &'static FormatEntry,
    source: Box<dyn RecordSource>,
    sink: Sink,
    ended: bool,
    consumed: Vec<Arc<AtomicU64>>,
    total: Option<u64>,
}

impl std::fmt::Debug for TraceReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TraceReader")
            .field("input", &self.sink.name)
            .field("format", &self.format.name)
            .finish_non_exhaustive()
    }
}

impl TraceReader {
    /// Opens one trace: a file (gzip, zstd and xz are decompressed), `-` for standard input, or the files per CPU of
    /// one blktrace recording, which are merged by time.
    pub fn open(paths: &[PathBuf], options: &ReadOptions) -> Result<Self, TraceError> {
        assert!(!paths.is_empty(), "a trace has at least one file");
        let inputs = paths.iter().map(|path| Input::open(path)).collect::<Result<Vec<_>, _>>()?;
        Self::new(inputs, options)
    }

    /// Reads `input`, which messages call `name`.
    pub fn from_reader(name: &str, input: Box<dyn Read + Send>, options: &ReadOptions) -> Result<Self, TraceError> {
        Self::new(vec![Input::new(name, input, None, None)?], options)
    }

    /// Opens a file of measured response times: a trace like [`TraceReader::open`], or one of DiskSim's validation
    /// files, whose requests came one after another.
    pub fn open_measured(path: &Path, options: &ReadOptions) -> Result<Self, TraceError> {
        let mut input = Input::open(path)?;
        let is_validation = options.format.is_none() && format::is_disksim_validation(input.sample()?.0);
        if is_validation {
            Self::of(vec![input], &disksim_validate::ENTRY, options)
        } else {
            Self::new(vec![input], options)
        }
    }

    fn new(mut inputs: Vec<Input>, options: &ReadOptions) -> Result<Self, TraceError> {
        let format = match &options.format {
            Some(name) => format::entry(name)?,
            None => {
                let first = &mut inputs[0];
                let name = first.name().to_string();
                let (bytes, whole) = first.sample()?;
                format::recognise(&name, &Sample { bytes, whole })?
            }
        };
        Self::of(inputs, format, options)
    }

    fn of(mut inputs: Vec<Input>, format: &'static FormatEntry, options: &ReadOptions) -> Result<Self, TraceError> {
        if !format.build.binary {
            inputs.iter_mut().try_for_each(Input::skip_mark)?;
        }
        let consumed = inputs.iter().map(Input::consumed).collect();
        let total = inputs.iter().map(Input::total).sum();
        let sink = Sink::new(inputs[0].name(), format.build.binary, format.build.has_times(), options);
        let source = match format.build.open {
            Open::One(open) => {
                if let Some(second) = inputs.get(1) {
                    let name = second.name().to_string();
                    return Err(TraceError::NotMergeable { name, format: format.name });
                }
                open(inputs.remove(0), options)?
            }
            Open::Several(open) => open(inputs, options)?,
        };
        Ok(Self { format, source, sink, ended: false, consumed, total })
    }

    /// Clears `batch` and fills it with the next few thousand records; false at the end of the trace.
    pub fn next_batch(&mut self, batch: &mut Vec<Record>) -> Result<bool, TraceError> {
        batch.clear();
        loop {
            if self.sink.take_chunk(batch) {
                return Ok(true);
            }
            if self.ended {
                let completions = self.sink.notes.ignored(COMPLETION);
                if self.sink.notes.records == 0 && completions > 0 {
                    return Err(TraceError::OnlyCompletions { name: self.sink.name.clone(), completions });
                }
                return Ok(false);
            }
            let more = self.source.fill(&mut self.sink)?;
            self.sink.settle()?;
            self.sink.notes.input_bytes = self.bytes_read();
            if !more {
                self.sink.finish();
                self.ended = true;
            }
        }
    }

    /// The name of the trace in messages: its file, or the first one of several.
    pub fn name(&self) -> &str {
        &self.sink.name
    }

    /// The format of the trace.
    pub fn format(&self) -> &'static FormatEntry {
        self.format
    }

    /// Names of the volumes seen so far, in order of appearance. A record's [`crate::VolumeIndex`] is an index into
    /// them.
    pub fn volumes(&self) -> &[String] {
        self.sink.volumes.names()
    }

    /// What the reader has noticed so far.
    pub fn notes(&self) -> &ReadNotes {
        &self.sink.notes
    }

    /// Bytes of the input that have been read, before decompression.
    pub fn bytes_read(&self) -> u64 {
        self.consumed.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Bytes of the whole input, before decompression, if that is known.
    pub fn bytes_total(&self) -> Option<u64> {
        self.total
    }
}

/// Groups the files of one blktrace recording (`NAME.blktrace.0`, `NAME.blktrace.1`, ... also with `.gz`, `.zst` or
/// `.xz`), in the place of the first of them. Every other path is a trace of its own.
pub fn group_inputs(paths: &[PathBuf]) -> Vec<Vec<PathBuf>> {
    let mut groups: Vec<(Option<PathBuf>, Vec<PathBuf>)> = Vec::new();
    for path in paths {
        let recording = blktrace_recording(path);
        match groups.iter_mut().find(|(known, _)| recording.is_some() && *known == recording) {
            Some((_, group)) => group.push(path.clone()),
            None => groups.push((recording, vec![path.clone()])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// `NAME.blktrace` from `NAME.blktrace.CPU`.
fn blktrace_recording(path: &Path) -> Option<PathBuf> {
    let packed = path.extension().is_some_and(|extension| matches!(extension.to_str(), Some("gz" | "zst" | "xz")));
    let path = if packed { path.with_extension("") } else { path.to_path_buf() };
    let cpu = path.extension()?.to_str()?;
    let recording = path.with_extension("");
    let is_recording = recording.extension().is_some_and(|extension| extension == "blktrace");
    (is_recording && !cpu.is_empty() && cpu.bytes().all(|byte| byte.is_ascii_digit())).then_some(recording)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_one_recording_are_grouped() {
        let paths: Vec<PathBuf> =
            ["a.blktrace.0", "b.csv", "a.blktrace.10.zst", "c/a.blktrace.0", "a.blktrace.x", "a.blktrace.1"]
                .map(PathBuf::from)
                .into();
        let names: Vec<Vec<&str>> = vec![
            vec!["a.blktrace.0", "a.blktrace.10.zst", "a.blktrace.1"],
            vec!["b.csv"],
            vec!["c/a.blktrace.0"],
            vec!["a.blktrace.x"],
        ];
        let groups = group_inputs(&paths);
        let found: Vec<Vec<&str>> =
            groups.iter().map(|group| group.iter().map(|path| path.to_str().unwrap()).collect()).collect();
        assert_eq!(found, names);
    }
}
