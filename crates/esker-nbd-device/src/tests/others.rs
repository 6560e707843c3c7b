//! Servers of others: nbdkit and qemu-nbd.
#![expect(clippy::print_stderr, reason = "what is skipped is said")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::{ExportDevice, ExportError, NbdUri};
use esker_core::Rng;
use esker_volume::{DeviceIo, DeviceLimits, IoChoice};

use super::driver::{Driven, WAYS};

/// A server in a process.
struct Other {
    child: Child,
    uri: NbdUri,
}

impl Other {
    /// Starts a server that listens at `socket`. `None` if the program is not installed.
    fn start(program: &str, arguments: &[&str], socket: &Path, export: &str) -> Option<Self> {
        let child = Command::new(program).args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).spawn();
        let Ok(child) = child else {
            eprintln!("skipped: {program} is not installed");
            return None;
        };
        let uri = format!("nbd+unix:///{export}?socket={}", socket.display()).parse().unwrap();
        for _ in 0..3000 {
            if socket.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(Self { child, uri })
    }

    fn nbdkit(folder: &Path, name: &str, plugin: &[&str]) -> Option<Self> {
        let socket = folder.join(name);
        let begin = ["--foreground", "--unix", socket.to_str().unwrap()];
        Self::start("nbdkit", &[&begin[..], plugin].concat(), &socket, "")
    }

    fn qemu(folder: &Path, name: &str, image: &str) -> Option<Self> {
        let socket = folder.join(name);
        let arguments = ["--socket", socket.to_str().unwrap(), "--format", "raw", "--persistent", "-x", "disk", image];
        Self::start("qemu-nbd", &arguments, &socket, "disk")
    }

    fn file(folder: &Path, name: &str) -> String {
        let path = folder.join(name);
        std::fs::File::create(&path).unwrap().set_len(32 << 20).unwrap();
        path.to_str().unwrap().to_string()
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes, reads, and reads again after it was opened again.
fn check(servers: [Other; 2]) {
    let uris = servers.each_ref().map(|server| server.uri.clone());
    Driven::create(&uris);
    let mut model = Vec::new();
    for (seed, choice) in (1..).zip(WAYS) {
        let mut driven = Driven::open(&uris, choice);
        model.resize(driven.volume.capacity().0 as usize, 0);
        let mut rng = Rng::new(seed);
        for round in 0..100 {
            let length = 512 * (1 + rng.below(400));
            let offset = 512 * rng.below((model.len() as u64 - length) / 512);
            let range = offset as usize..(offset + length) as usize;
            if rng.chance(2, 3) {
                let data: Vec<u8> = (0..length).map(|_| rng.next_u64() as u8).collect();
                driven.write(offset, &data, round % 5 == 0).unwrap();
                model[range.clone()].copy_from_slice(&data);
            }
            assert!(driven.read(offset, length).unwrap() == model[range]);
        }
        driven.flush().unwrap();
        drop(driven);
        let mut driven = Driven::open(&uris, choice);
        assert!(driven.read(0, model.len() as u64 / 2).unwrap() == model[..model.len() / 2]);
    }
}

#[test]
fn exports_of_nbdkit_are_devices() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let image = format!("file={}", Other::file(path, "image"));
    let memory = Other::nbdkit(path, "memory.sock", &["memory", "32M"]);
    let file = Other::nbdkit(path, "file.sock", &["file", &image]);
    if let (Some(memory), Some(file)) = (memory, file) {
        check([memory, file]);
    }
}

#[test]
fn an_export_with_large_blocks_and_one_without_flush() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let policy =
        ["--filter=blocksize-policy", "memory", "32M", "blocksize-minimum=4096", "blocksize-error-policy=error"];
    let blocks = Other::nbdkit(path, "blocks.sock", &policy);
    let other = Other::nbdkit(path, "other.sock", &["memory", "32M"]);
    if let (Some(blocks), Some(other)) = (blocks, other) {
        check([blocks, other]);
    }
    let io = DeviceIo::start(IoChoice::Threads).unwrap();
    let open = |other: &Other| ExportDevice::open("far", &other.uri, &io, DeviceLimits::default()).err();
    if let Some(read_only) = Other::nbdkit(path, "read.sock", &["--readonly", "memory", "32M"]) {
        let error = open(&read_only);
        assert!(matches!(error, Some(ExportError::ReadOnly)), "{error:?}");
    }
}

#[test]
fn exports_of_qemu_are_devices() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let (first, second) = (Other::file(path, "first"), Other::file(path, "second"));
    let first = Other::qemu(path, "first.sock", &first);
    let second = Other::qemu(path, "second.sock", &second);
    if let (Some(first), Some(second)) = (first, second) {
        let wrong: NbdUri = first.uri.to_string().replace("disk", "tape").parse().unwrap();
        let io = DeviceIo::start(IoChoice::Threads).unwrap();
        let error = ExportDevice::open("far", &wrong, &io, DeviceLimits::default()).err().unwrap();
        assert!(!error.is_missing() && error.to_string().contains("refused"), "{error}");
        check([first, second]);
    }
}
