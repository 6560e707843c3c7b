//! How much of their endurance the devices of a volume have used, as they say themselves (SMART).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use esker_core::DriveWear;
use esker_fleet::advice::drive_wear;

/// Devices are asked this often. They count in hours of use.
const EVERY: Duration = Duration::from_secs(3600);

/// Asks the devices of a volume now and then, in a thread of its own, as long as it exists.
pub(super) struct Wear {
    /// What devices say, by their names.
    said: Arc<Mutex<BTreeMap<String, DriveWear>>>,
    /// Has the thread ask at once; without it, the thread ends.
    asks: Sender<()>,
}

impl Wear {
    /// Asks the block devices among those that `devices` returns, with the program `smartctl`.
    pub(super) fn watch(devices: impl Fn() -> Vec<(String, PathBuf)> + Send + 'static) -> Self {
        let said = Arc::new(Mutex::new(BTreeMap::new()));
        let (asks, asked) = channel();
        let found = Arc::clone(&said);
        let watch = move || {
            loop {
                let devices = devices();
                let answers: Vec<_> =
                    devices.iter().filter_map(|(name, path)| Some((name.clone(), ask("smartctl", path)?))).collect();
                let mut said = found.lock().unwrap_or_else(PoisonError::into_inner);
                // One that sleeps is not woken to be asked: what it said before still holds.
                said.retain(|known, _| devices.iter().any(|(name, _)| name == known));
                said.extend(answers);
                drop(said);
                match asked.recv_timeout(EVERY) {
                    Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        // Without a thread, nothing is known of wear.
        let _ = std::thread::Builder::new().name("wear".to_string()).spawn(watch);
        Self { said, asks }
    }

    /// What a device says of its wear, if that is known.
    pub(super) fn of(&self, name: &str) -> Option<DriveWear> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }

    /// Has all devices asked again: there are others now.
    pub(super) fn ask_again(&self) {
        // There may be no thread.
        let _ = self.asks.send(());
    }
}

/// Asks the device at `path`. `None` if it is no block device, has no such figure, or may not be asked.
fn ask(program: &str, path: &Path) -> Option<DriveWear> {
    let disk = whole_disk(path)?;
    let mut command = Command::new(program);
    command.args(["--json", "--nocheck=standby", "-x"]).arg(disk).stdin(Stdio::null()).stderr(Stdio::null());
    // It also warns by its exit status, and prints what it knows all the same.
    drive_wear(&serde_json::from_slice(&command.output().ok()?.stdout).ok()?)
}

/// The disk of which the block device at `path` is a part, or that it is.
fn whole_disk(path: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::FileTypeExt;
    let path = fs::canonicalize(path).ok()?;
    if !fs::metadata(&path).ok()?.file_type().is_block_device() {
        return None;
    }
    let in_system = fs::canonicalize(Path::new("/sys/class/block").join(path.file_name()?)).ok()?;
    match in_system.join("partition").exists() {
        true => Some(Path::new("/dev").join(in_system.parent()?.file_name()?)),
        false => Some(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_not_asked() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(ask("echo", file.path()), None);
        assert_eq!(ask("echo", Path::new("/nowhere")), None);
    }
}
