//! `esker trace record`: what programs ask of the block devices of this machine, recorded by blktrace.

use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use esker_trace::{FilterSettings, ReadOptions};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::rewrite::{Rewriting, rewrite};
use crate::args::{Common, RecordArguments};
use crate::cancel;
use crate::failure::Failure;
use crate::output::{Outputs, remark};
use crate::trace_ending::{check_terminal, format_of};

/// What ends a recording.
enum Ends {
    /// blktrace ended by itself.
    ByItself,
    /// The user asked for the end.
    Asked,
}

/// Records until the time is up or the user asks for the end. Then writes the trace.
pub(super) fn run(arguments: &RecordArguments, common: &Common) -> Result<ExitCode, Failure> {
    arguments.devices.iter().try_for_each(|device| check_is_block_device(device))?;
    let format = format_of(&arguments.write)?;
    check_terminal(&arguments.write, format)?;
    let output = Outputs::new(arguments.write.force, &[])?.trace(&arguments.write)?;
    let folder = folder_of(&arguments.write.output)?;
    let recorded = record(arguments, &folder, common).and_then(|()| {
        let traces = recordings(&folder)?;
        cancel::leaves("the recording is read by `esker trace convert OUTPUT.recording/*`");
        let rewriting = Rewriting {
            traces: &traces,
            read: ReadOptions::default(),
            settings: FilterSettings::default(),
            anonymises: arguments.anonymise,
            // The first Ctrl-C has ended the recording; a second one ends the program.
            stops: || false,
        };
        rewrite(rewriting, output, format, common)
    });
    if recorded.is_ok() || recordings(&folder).is_err() {
        // It is in the trace, or there is nothing.
        let _ = std::fs::remove_dir_all(&folder);
    } else {
        remark(&format!("what was recorded is in {}: esker trace convert reads it", folder.display()));
    }
    recorded
}

fn check_is_block_device(device: &Path) -> Result<(), Failure> {
    let shown = device.display();
    let metadata = std::fs::metadata(device).map_err(|error| Failure::input(format!("{shown}: {error}")))?;
    if metadata.file_type().is_block_device() {
        return Ok(());
    }
    Err(Failure::input(format!("{shown} is no block device")).with_hint(
        "`lsblk` lists them; a volume is recorded by `esker volume serve --record`, an emulated device by \
         `esker emulate --record`",
    ))
}

/// Makes the folder in which blktrace writes.
fn folder_of(output: &Path) -> Result<PathBuf, Failure> {
    let name = if output.as_os_str() == "-" { Path::new("esker") } else { output };
    let mut folder = name.as_os_str().to_os_string();
    folder.push(".recording");
    let folder = PathBuf::from(folder);
    std::fs::create_dir(&folder).map_err(|error| {
        let failure = Failure::input(format!("{}: cannot be made: {error}", folder.display()));
        match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                failure.with_hint("an earlier recording was ended there: convert what it holds, and remove the folder")
            }
            _ => failure,
        }
    })?;
    Ok(folder)
}

/// The files that blktrace has written, if they hold anything.
fn recordings(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = std::fs::read_dir(folder).map_err(Failure::work)?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.metadata().is_ok_and(|metadata| metadata.len() > 0))
        .map(|entry| entry.path())
        .collect();
    files.sort();
    match files.is_empty() {
        true => Err(Failure::work("no request was recorded")
            .with_hint("nothing asked for anything of these devices; record for longer, while they work")),
        false => Ok(files),
    }
}

/// Runs blktrace until the recording ends.
fn record(arguments: &RecordArguments, folder: &Path, common: &Common) -> Result<(), Failure> {
    let mut blktrace = start(&arguments.devices, folder)?;
    let process = Pid::from_raw(blktrace.id().cast_signed());
    if !common.quiet {
        let until = arguments.time.map_or(String::new(), |time| format!(" for {time}"));
        remark(&format!("recording{until}; Ctrl-C ends it and writes the trace"));
    }
    let (ends, ended) = mpsc::channel();
    let asked = ends.clone();
    cancel::leaves("the recording is in OUTPUT.recording");
    // Nobody may wait any more.
    cancel::ends_by_itself(move || _ = asked.send(Ends::Asked));
    let (stdout, stderr) = (blktrace.stdout.take(), blktrace.stderr.take());
    let errors = std::thread::spawn(move || stderr.map_or(String::new(), text_of));
    let output = std::thread::spawn(move || {
        let text = stdout.map_or(String::new(), text_of);
        let _ = ends.send(Ends::ByItself);
        text
    });
    let limit = arguments.time.map_or(Duration::MAX, |time| Duration::from_nanos(time.0));
    let ended = if limit == Duration::MAX { ended.recv().ok() } else { ended.recv_timeout(limit).ok() };
    if !matches!(ended, Some(Ends::ByItself)) {
        // It writes what it has and ends. A terminal's Ctrl-C may have reached it already.
        let _ = kill(process, Signal::SIGINT);
    }
    let status = blktrace.wait().map_err(Failure::work)?;
    let (said, errors) = (output.join().unwrap_or_default(), errors.join().unwrap_or_default());
    if !status.success() || recordings(folder).is_err() && !errors.trim().is_empty() {
        return Err(refused(&errors, &arguments.devices));
    }
    remove_empty(folder);
    if let Some(lost) = lost(&said) {
        remark(&format!("note: {lost} events were lost: blktrace could not write them in time"));
    }
    Ok(())
}

/// Removes the files of processors on which nothing happened: an empty file is no trace.
fn remove_empty(folder: &Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.metadata().is_ok_and(|metadata| metadata.len() == 0)) {
        // The trace is written without it anyway.
        let _ = std::fs::remove_file(entry.path());
    }
}

/// Starts blktrace, which writes a file for each device and processor.
fn start(devices: &[PathBuf], folder: &Path) -> Result<Child, Failure> {
    let mut command = Command::new("blktrace");
    devices.iter().for_each(|device| _ = command.arg("-d").arg(device));
    ["queue", "issue", "complete"].iter().for_each(|action| _ = command.args(["-a", action]));
    let started = command.arg("-D").arg(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    cancel::as_found(started).spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::work("blktrace is not installed")
            .with_hint("install it: apt-get install blktrace, dnf install blktrace or zypper install blktrace"),
        _ => Failure::work(format!("blktrace: {error}")),
    })
}

fn text_of(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    // What was read until an error says more than nothing.
    let _ = pipe.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The error for a recording that blktrace refused.
fn refused(errors: &str, devices: &[PathBuf]) -> Failure {
    let first = errors.lines().find(|line| !line.trim().is_empty()).unwrap_or("it does not say why").trim();
    let failure = Failure::work(format!("blktrace: {first}"));
    if !rustix::process::geteuid().is_root() {
        return failure.with_hint("only root may record what others ask of a device: try it with sudo");
    }
    if !Path::new("/sys/kernel/debug/block").exists() {
        return failure.with_hint(
            "blktrace needs debugfs, and a kernel that can trace: mount -t debugfs debugfs /sys/kernel/debug",
        );
    }
    match errors.contains("not permitted") || errors.contains("denied") {
        true => failure.with_hint(
            "the kernel forbids it here: it is locked down (/sys/kernel/security/lockdown), or this is a container",
        ),
        false => {
            let device = devices.first().map_or(String::new(), |device| device.display().to_string());
            failure.with_hint(format!("a recording that was killed may hold the device: blktrace -d {device} -k"))
        }
    }
}

/// The number of events that blktrace says were dropped, unless none were.
fn lost(said: &str) -> Option<u64> {
    let total = said.lines().find(|line| line.contains("Total:"))?;
    let lost = total.split("dropped").nth(1)?.trim().split(')').next()?.trim().parse().ok()?;
    (lost > 0).then_some(lost)
}

#[cfg(test)]
mod tests {
    use super::lost;

    #[test]
    fn lost_events_are_read_from_what_blktrace_says() {
        let said = |dropped| {
            format!(
                "=== sda ===\n  CPU  0:  12 events,  1 KiB data\n  Total:  12 events (dropped {dropped}),  1 KiB data\n"
            )
        };
        assert_eq!(lost(&said(0)), None);
        assert_eq!(lost(&said(37)), Some(37));
        assert_eq!(lost("blktrace said nothing"), None);
    }
}
