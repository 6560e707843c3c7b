//! Recordings: the requests of clients as a trace, written by a thread of its own while they are served. Clients never
//! wait for it: a recording that falls behind ends, and says so.

mod recorder;
mod writer;

use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use esker_core::Nanos;
use esker_serve::Observer;
use esker_trace::{Anonymiser, Record, TraceWriter, VolumeNames};
use esker_volume::{Clock, SystemClock};

use crate::args::{ServingArguments, WriteArguments};
use crate::failure::Failure;
use crate::output::{Output, Outputs, compression_of, remark};
use crate::trace_ending::{check_terminal, format_by};
use recorder::{Recorder, Zero};
use writer::Outcome;

/// A recording that is to begin: its file, and the format.
pub(crate) struct Plan {
    output: Output,
    format: &'static esker_trace::FormatEntry,
    /// Whether the date and the names of exports are left out.
    anonymises: bool,
}

/// A recording that is under way.
pub(crate) struct Recording(JoinHandle<Outcome>);

/// Batches of records between the thread that serves and the one that writes: some seconds of a fast device.
const QUEUE: usize = 256;

/// After this time at most, a request that has ended, and that none before it holds up, is in the file: for half of it
/// at most it waits for others that are handed on with it, and for the other half for being written.
const LATEST: Nanos = Nanos::from_secs(1);

/// What the thread that writes is sent.
enum Message {
    Records(Vec<Record>),
    /// Everything was sent.
    End(Simplified),
}

/// Requests that a trace shows as others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Simplified {
    /// Writes, trims and zeroes that were to be durable at once.
    durable: u64,
    /// Zeroes, shown as trims, or as writes where the bytes had to stay allocated.
    zeroes: u64,
    /// Requests of kinds that the format does not know, left out.
    left_out: u64,
}

impl Plan {
    /// The recording that a command was asked for, if any, of so many exports. Checks that it can be written.
    pub(crate) fn of(serving: &ServingArguments, exports: usize) -> Result<Option<Self>, Failure> {
        let Some(path) = serving.record.as_deref() else { return Ok(None) };
        let plan = Self::new(path, serving.record_as.as_deref(), serving.force)?;
        let format = plan.format;
        if exports > 1 && format.build.holds.volumes == VolumeNames::One {
            let message = format!("a trace in the format `{}` has one volume, and {exports} are served", format.name);
            return Err(Failure::input(message).with_hint("record with `--record-as esker`, or serve one volume"));
        }
        Ok(Some(Self { anonymises: serving.anonymise, ..plan }))
    }

    /// A recording at `path`, in the format called `format`, or in that of the path's ending.
    fn new(path: &Path, format: Option<&str>, force: bool) -> Result<Self, Failure> {
        let arguments = WriteArguments { output: path.to_path_buf(), to: format.map(str::to_string), force };
        let format = format_by(&arguments, "--record-as")?;
        check_terminal(&arguments, format)?;
        if compression_of(path).is_some() {
            return Err(Failure::input(format!("{}: a recording is not compressed", path.display())).with_hint(
                "a compressed file without its end cannot be read; compress it later: esker trace convert",
            ));
        }
        let output = Outputs::new(force, &[])?.claim("--record", path, crate::output::Content::Trace)?;
        Ok(Self { output, format, anonymises: false })
    }

    /// Begins the recording of requests to the exports of these names, each of which is a volume of the trace. Times
    /// are those of `clock`. Its file is there from now on.
    #[expect(clippy::disallowed_methods, reason = "times of a trace count from 1970")]
    pub(crate) fn begin(
        mut self,
        exports: &[&str],
        clock: SystemClock,
    ) -> Result<(Box<dyn Observer>, Recording), Failure> {
        let path = self.output.path().display().to_string();
        let file = self.output.file()?;
        self.output.finish()?;
        let mut names: Vec<String> = exports.iter().map(ToString::to_string).collect();
        if self.anonymises {
            names = Anonymiser::names(&names);
        }
        let mut writer = TraceWriter::create(self.format.name, Box::new(file), &names)?;
        writer.write_waiting()?;
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let since_1970 = Nanos(u64::try_from(since_1970.as_nanos()).unwrap_or_default());
        let zero = match self.anonymises {
            true => Zero::FirstRequest(None),
            false => Zero::ClockAt(since_1970.saturating_sub(clock.now())),
        };
        let (sender, receiver) = mpsc::sync_channel(QUEUE);
        let recorder = Recorder::new(sender, self.format.build.holds.operations, zero);
        let write = move || writer::write(&receiver, writer, clock, &path);
        let thread = std::thread::Builder::new().name("recording".to_string()).spawn(write).map_err(Failure::work)?;
        Ok((Box::new(recorder), Recording(thread)))
    }
}

impl Recording {
    /// Waits until all is written, and says what the trace does not hold. The observer must have been dropped.
    pub(crate) fn finish(self, quiet: bool) -> Result<(), Failure> {
        let outcome = self.0.join().map_err(|_| Failure::work("the recording was lost"))?;
        if !quiet {
            outcome.lines().iter().for_each(|line| remark(line));
        }
        outcome.failure.map_or(Ok(()), |failure| Err(Failure::work(failure)))
    }
}
