//! Timed reads of a block device, past the caches of the operating system.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use esker_core::{Bytes, Nanos};
use esker_disk::measure::{ProbeRead, ReadTimes};
use rustix::fs::{OFlags, ioctl_blksszget, major, minor};

use crate::failure::Failure;

/// Memory and offsets of direct reads start at multiples of this, whatever the disk.
const ALIGNMENT: usize = 4096;
/// The last part of a wait is spent spinning, because the system might oversleep.
const SPIN: Duration = Duration::from_micros(200);

/// A disk that is open for reading.
pub(super) struct BlockDevice {
    path: PathBuf,
    file: File,
    /// Size of the disk.
    pub(super) capacity: Bytes,
    /// The least that can be read.
    pub(super) block: Bytes,
    buffer: Vec<u8>,
    begin: Instant,
}

impl BlockDevice {
    /// Opens the disk at `path`, for reading only. It may be mounted.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let metadata = fs::metadata(path).map_err(|fault| cannot("open", path, &fault))?;
        if !metadata.file_type().is_block_device() {
            let what = match () {
                () if metadata.is_file() => "a file, not a disk",
                () if metadata.is_dir() => "a folder, not a disk",
                () => "not a block device, as disks are",
            };
            return Err(Failure::input(format!("{shown} is {what}")).with_hint(
                "name a whole disk, such as /dev/sdb (`lsblk -d` lists them), or a preset with --simulated",
            ));
        }
        let about = format!("/sys/dev/block/{}:{}", major(metadata.rdev()), minor(metadata.rdev()));
        if Path::new(&about).join("partition").exists() {
            return Err(Failure::input(format!("{shown} is a part of a disk"))
                .with_hint("name the whole disk, such as /dev/sdb: it is only read, also where parts are mounted"));
        }
        // Without an answer it is tried: reads show it, too.
        if fs::read_to_string(format!("{about}/queue/rotational")).is_ok_and(|text| text.trim() == "0") {
            return Err(Failure::input(format!("{shown} does not rotate, says the system: a flash drive, or memory"))
                .with_hint("only disks with turning platters can be measured"));
        }
        let flags = OFlags::DIRECT.bits().cast_signed();
        let opened = esker_files::open_with(path, OpenOptions::new().read(true).custom_flags(flags));
        let mut file = opened.map_err(|fault| cannot("open", path, &fault))?;
        let size = file.seek(SeekFrom::End(0)).map_err(|fault| cannot("find the size of", path, &fault))?;
        if size == 0 {
            return Err(Failure::input(format!("{shown} is empty: no medium is in it")));
        }
        let block = ioctl_blksszget(&file).map_err(|fault| cannot("find the blocks of", path, &fault.into()))?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            capacity: Bytes(size),
            block: Bytes(u64::from(block)),
            buffer: Vec::new(),
            begin: now(),
        })
    }

    /// Performs a read. Fails on a defect of the disk, or when it is taken away.
    pub(super) fn read(&mut self, read: ProbeRead) -> Result<ReadTimes, Failure> {
        let length = read.length.0 as usize;
        self.buffer.resize(self.buffer.len().max(length + ALIGNMENT), 0);
        let start = self.buffer.as_ptr().align_offset(ALIGNMENT);
        let to = &mut self.buffer[start..start + length];
        let offset = read.start.0 * Bytes::SECTOR.0;
        wait(Duration::from_nanos(read.pause.0));
        let began = now();
        let result = self.file.read_exact_at(to, offset);
        let ended = now();
        result.map_err(|fault| {
            Failure::work(format!("cannot read {} at byte {offset}: {fault}", self.path.display()))
                .with_hint("a disk with defects cannot be measured; nothing was written")
        })?;
        let since = |time: Instant| Nanos(time.duration_since(self.begin).as_nanos() as u64);
        Ok(ReadTimes { began: since(began), ended: since(ended) })
    }
}

#[expect(clippy::disallowed_methods, reason = "response times of a real disk")]
fn now() -> Instant {
    Instant::now()
}

/// Waits, as exactly as the clock tells.
fn wait(time: Duration) {
    if time.is_zero() {
        return;
    }
    let end = now() + time;
    if time > SPIN {
        std::thread::sleep(time - SPIN);
    }
    while now() < end {
        std::hint::spin_loop();
    }
}

fn cannot(verb: &str, path: &Path, fault: &io::Error) -> Failure {
    let failure = Failure::input(format!("cannot {verb} {}: {fault}", path.display()));
    match fault.kind() {
        ErrorKind::PermissionDenied => failure.with_hint("reading a disk as a whole takes root: try `sudo`"),
        ErrorKind::NotFound => failure.with_hint("`lsblk -d` lists the disks"),
        ErrorKind::InvalidInput => failure.with_hint("it takes no direct reads, past the caches of the system"),
        _ => failure,
    }
}
