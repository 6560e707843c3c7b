//! Other servers, where they are installed.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use esker_volume::{Clock, SystemClock};

use crate::{Cost, Job, client};

pub(crate) fn nbdkit(folder: &Path, job: Job) -> Option<Cost> {
    let socket = folder.join("nbdkit.sock");
    let file = folder.join("raw");
    let mut server = Command::new("nbdkit");
    server.arg("--foreground").arg("--unix").arg(&socket).arg("-e").arg("volume").arg("file").arg(file);
    run(server, &socket, job)
}

pub(crate) fn qemu_nbd(folder: &Path, job: Job) -> Option<Cost> {
    let socket = folder.join("qemu.sock");
    let mut server = Command::new("qemu-nbd");
    server.args(["--format=raw", "--persistent", "--cache=writeback", "--export-name=volume", "--socket"]);
    server.arg(&socket).arg(folder.join("raw"));
    run(server, &socket, job)
}

/// Lets a server serve one client. `None` if it is not installed.
fn run(mut server: Command, socket: &Path, job: Job) -> Option<Cost> {
    let mut server = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    // The socket is there before the server listens.
    while UnixStream::connect(socket).is_err() {
        if server.try_wait().expect("it is a child").is_some() {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let (wall, processor) = (SystemClock::start(), processor_time(&server));
    let status = client::start(socket, job).wait().expect("it ends");
    let cost = Cost { processor: processor_time(&server) - processor, wall: wall.now() };
    assert!(status.success(), "the client failed");
    server.kill().expect("it runs");
    server.wait().expect("it ends");
    let _ = std::fs::remove_file(socket);
    Some(cost)
}

/// Processor time that a process has used, with threads that have ended, in whole hundredths of a second.
fn processor_time(process: &Child) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).expect("it runs");
    // The name of the program, in parentheses, may have spaces.
    let fields: Vec<&str> = stat.rsplit(')').next().expect("there is one").split_whitespace().collect();
    let ticks: u64 = [fields[11], fields[12]].iter().map(|field| field.parse::<u64>().expect("a number")).sum();
    Duration::from_millis(ticks * 10)
}
