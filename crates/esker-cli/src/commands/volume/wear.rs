//! How much of their endurance the devices of a volume have used, as they say themselves (SMART).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

/// Devices are asked this often. They count in hours of use.
const EVERY: Duration = Duration::from_secs(3600);

/// Asks the devices of a volume now and then, in a thread of its own, as long as it exists.
pub(super) struct Wear {
    /// Percent that are used, by the name of the device.
    percent: Arc<Mutex<BTreeMap<String, u64>>>,
    /// Has the thread ask at once; without it, the thread ends.
    asks: Sender<()>,
}

impl Wear {
    /// Asks the block devices among those that `devices` returns, with the program `smartctl`.
    pub(super) fn watch(devices: impl Fn() -> Vec<(String, PathBuf)> + Send + 'static) -> Self {
        let percent = Arc::new(Mutex::new(BTreeMap::new()));
        let (asks, asked) = channel();
        let found = Arc::clone(&percent);
        let watch = move || {
            loop {
                let worn = devices().into_iter().filter_map(|(name, path)| Some((name, ask("smartctl", &path)?)));
                let worn = worn.collect();
                *found.lock().unwrap_or_else(PoisonError::into_inner) = worn;
                match asked.recv_timeout(EVERY) {
                    Ok(()) | Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        // Without a thread, nothing is known of wear.
        let _ = std::thread::Builder::new().name("wear".to_string()).spawn(watch);
        Self { percent, asks }
    }

    /// Percent of its endurance that a device has used, if that is known. May be more than 100.
    pub(super) fn percent(&self, name: &str) -> Option<u64> {
        self.percent.lock().unwrap_or_else(PoisonError::into_inner).get(name).copied()
    }

    /// Has all devices asked again: there are others now.
    pub(super) fn ask_again(&self) {
        // There may be no thread.
        let _ = self.asks.send(());
    }
}

/// Asks the device at `path`. `None` if it is no block device, has no such figure, or may not be asked.
fn ask(program: &str, path: &Path) -> Option<u64> {
    let disk = whole_disk(path)?;
    let mut command = Command::new(program);
    command.args(["--json", "-x"]).arg(disk).stdin(Stdio::null()).stderr(Stdio::null());
    // It also warns by its exit status, and prints what it knows all the same.
    used_percent(&serde_json::from_slice(&command.output().ok()?.stdout).ok()?)
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

/// What `smartctl --json -x` says of used endurance: of NVMe, SCSI and ATA drives, the last by their statistics or, if
/// they have none, by the attributes of their makers that count down from 100.
fn used_percent(said: &Value) -> Option<u64> {
    const OF_ALL_KINDS: [&str; 3] = [
        "/endurance_used/current_percent",
        "/nvme_smart_health_information_log/percentage_used",
        "/scsi_percentage_used_endurance_indicator",
    ];
    const COUNTING_DOWN: [&str; 4] =
        ["Wear_Leveling_Count", "Media_Wearout_Indicator", "SSD_Life_Left", "Percent_Lifetime_Remain"];
    let attributes = said.pointer("/ata_smart_attributes/table").and_then(Value::as_array);
    let counts_down = |attribute: &&Value| COUNTING_DOWN.iter().any(|name| attribute["name"] == *name);
    let left = attributes.and_then(|table| table.iter().find(counts_down)).and_then(|found| found["value"].as_u64());
    let direct = OF_ALL_KINDS.iter().find_map(|place| said.pointer(place).and_then(Value::as_u64));
    direct.or(left.map(|left| 100u64.saturating_sub(left)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn drives_say_in_four_ways_how_worn_they_are() {
        for (said, percent) in [
            (json!({ "nvme_smart_health_information_log": { "percentage_used": 7, "media_errors": 0 } }), Some(7)),
            (json!({ "endurance_used": { "current_percent": 112 } }), Some(112)),
            (json!({ "scsi_percentage_used_endurance_indicator": 3 }), Some(3)),
            (
                json!({ "ata_smart_attributes": { "table": [
                    { "id": 9, "name": "Power_On_Hours", "value": 99 },
                    { "id": 177, "name": "Wear_Leveling_Count", "value": 81, "raw": { "value": 400 } },
                ] } }),
                Some(19),
            ),
            (json!({ "ata_smart_attributes": { "table": [{ "name": "Power_On_Hours", "value": 99 }] } }), None),
            (json!({ "smartctl": { "exit_status": 2 } }), None),
        ] {
            assert_eq!(used_percent(&said), percent, "{said}");
        }
    }

    #[test]
    fn files_are_not_asked() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(ask("echo", file.path()), None);
        assert_eq!(ask("echo", Path::new("/nowhere")), None);
    }
}
