//! What drives tell of themselves: the output of `smartctl --json`, as of smartmontools 7 and later.

mod ata;
mod nvme;
mod scsi;

use esker_core::{Bytes, DriveWear};
use serde_json::Value;

use super::json::{Fault, Node};
use super::time;

/// What a drive said at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DriveSample {
    pub(super) model: String,
    pub(super) serial: String,
    /// What the system called it: "/dev/nvme0".
    pub(super) device: String,
    pub(super) unix_s: i64,
    pub(super) capacity_bytes: Option<u64>,
    /// What the host has written since the drive was new.
    pub(super) written_bytes: Option<u64>,
    /// Why `written_bytes` is not known.
    pub(super) not_counted: Option<String>,
    pub(super) power_on_hours: Option<u64>,
    /// The share of its life that the drive says is used. It may exceed 100.
    pub(super) used_percent: Option<u64>,
    pub(super) warnings: Vec<String>,
}

/// Whether an object is the output of `smartctl --json`.
pub(super) fn is_sample(value: &Value) -> bool {
    value.get("smartctl").is_some_and(Value::is_object) && value.get("json_format_version").is_some()
}

/// Reads what a drive says of its wear in the output of `smartctl --json -x`. `None` if it says nothing of it, as a
/// disk does, or if the output has a mistake.
pub fn drive_wear(said: &Value) -> Option<DriveWear> {
    let node = Node::top(said);
    let mut sample = DriveSample::default();
    let protocol = node.get("device").and_then(|device| device.get("protocol"))?;
    counters(&node, protocol.text().ok()?, &mut sample).ok()?;
    let used_percent = sample.used_percent?;
    let written = sample.written_bytes.map(Bytes);
    Some(DriveWear { used_percent, written, capacity: capacity(&node).ok()?.map(Bytes) })
}

/// Reads a sample. `None` if it is of a disk, which writes do not wear. `key_s` is its time if it has none itself.
pub(super) fn read(node: &Node<'_>, key_s: Option<i64>) -> Result<Option<DriveSample>, Fault> {
    let Some(model) = first_text(node, &["model_name", "scsi_model_name", "product"])? else {
        return Err(unanswered(node));
    };
    let Some(serial) = first_text(node, &["serial_number"])? else {
        return Err(node.fault("no `serial_number`: drives cannot be told apart"));
    };
    if node.get("rotation_rate").is_some_and(|rate| rate.whole().is_ok_and(|rate| rate > 0)) {
        return Ok(None);
    }
    let device = node.get("device");
    let text_of = |name: &str| device.as_ref().and_then(|device| device.get(name)).map(|text| text.text()).transpose();
    let mut sample = DriveSample {
        model,
        serial,
        device: text_of("name")?.unwrap_or_default().to_string(),
        unix_s: time_of(node, key_s)?,
        capacity_bytes: capacity(node)?,
        power_on_hours: whole_in(node, "power_on_time", "hours")?,
        ..DriveSample::default()
    };
    counters(node, text_of("protocol")?.unwrap_or_default(), &mut sample)?;
    if node.get("smart_status").and_then(|status| status.get("passed")).is_some_and(|passed| passed.value == false) {
        sample.warnings.push("the drive says that it is failing".to_string());
    }
    Ok(Some(sample))
}

/// Reads what a drive of this protocol counts.
fn counters(node: &Node<'_>, protocol: &str, sample: &mut DriveSample) -> Result<(), Fault> {
    match protocol {
        "NVMe" => nvme::read(node, sample)?,
        "ATA" => ata::read(node, sample)?,
        "SCSI" => scsi::read(node, sample)?,
        other => sample.not_counted = Some(format!("nothing is known of counters of the protocol {other:?}")),
    }
    // Of drives of all protocols, since version 7.5 of smartmontools.
    let of_all = whole_in(node, "endurance_used", "current_percent")?;
    sample.used_percent = sample.used_percent.or(of_all);
    Ok(())
}

/// The first of these fields that is there and not empty.
fn first_text(node: &Node<'_>, names: &[&str]) -> Result<Option<String>, Fault> {
    for name in names {
        if let Some(text) = node.get(name) {
            let text = text.text()?.trim();
            if !text.is_empty() {
                return Ok(Some(text.to_string()));
            }
        }
    }
    Ok(None)
}

/// What `smartctl` said instead of an answer of a drive.
fn unanswered(node: &Node<'_>) -> Fault {
    let said = node.get("smartctl").and_then(|smartctl| smartctl.get("messages"));
    let messages = said.into_iter().filter_map(|said| said.items().ok()).flatten();
    let texts: Vec<String> =
        messages.filter_map(|message| Some(message.get("string")?.text().ok()?.chars().take(200).collect())).collect();
    let said = if texts.is_empty() { String::new() } else { format!("; smartctl says: {}", texts.join("; ")) };
    node.fault(format!("no `model_name`: no drive has answered{said}"))
        .with_hint("smartctl needs root: sudo smartctl --json -x /dev/nvme0")
}

fn time_of(node: &Node<'_>, key_s: Option<i64>) -> Result<i64, Fault> {
    let own = node.get("local_time").and_then(|local| local.get("time_t"));
    let Some(own) = own else {
        return key_s.ok_or_else(|| {
            node.fault("the field `local_time.time_t` is missing: it cannot be said when this was")
                .with_hint("smartmontools write it since version 7.0")
        });
    };
    let unix_s = own.signed()?;
    if !time::is_plausible(unix_s) {
        return Err(own.fault(format!("{unix_s} is no time of this century: was the clock set?")));
    }
    Ok(unix_s)
}

fn capacity(node: &Node<'_>) -> Result<Option<u64>, Fault> {
    match node.get("nvme_total_capacity") {
        Some(capacity) => capacity.whole().map(Some),
        None => whole_in(node, "user_capacity", "bytes"),
    }
}

/// A whole number within a field, if both are there.
fn whole_in(node: &Node<'_>, field: &str, inner: &str) -> Result<Option<u64>, Fault> {
    node.get(field).and_then(|field| field.get(inner)).map(|inner| inner.whole()).transpose()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn drives_say_how_worn_they_are() {
        let log = json!({ "percentage_used": 7, "media_errors": 0, "data_units_written": 2_000_000 });
        let mut said = json!({ "device": { "protocol": "NVMe" }, "nvme_total_capacity": 1_000_204_886_016u64 });
        assert_eq!(drive_wear(&said), None);
        said["nvme_smart_health_information_log"] = log;
        let (written, capacity) = (Some(Bytes(1_024_000_000_000)), Some(Bytes(1_000_204_886_016)));
        assert_eq!(drive_wear(&said), Some(DriveWear { used_percent: 7, written, capacity }));
        let of_all = json!({ "device": { "protocol": "ATA" }, "endurance_used": { "current_percent": 112 } });
        assert_eq!(drive_wear(&of_all), Some(DriveWear { used_percent: 112, written: None, capacity: None }));
    }
}
