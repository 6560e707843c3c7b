//! `ceph device ls`: which OSDs use a device.

use crate::advice::json::{Fault, Node};

/// A device and its daemons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::advice) struct DeviceUse {
    /// Vendor, model and serial number, joined by "_".
    pub(in crate::advice) id: String,
    pub(in crate::advice) osds: Vec<u64>,
}

pub(in crate::advice) fn read_devices(node: &Node<'_>) -> Result<Vec<DeviceUse>, Fault> {
    let mut devices = Vec::new();
    for device in node.items()? {
        let mut osds = Vec::new();
        for daemon in device.field("daemons")?.items()? {
            // Monitors have devices, too.
            osds.extend(daemon.text()?.strip_prefix("osd.").and_then(|number| number.parse::<u64>().ok()));
        }
        devices.push(DeviceUse { id: device.field("devid")?.text()?.to_string(), osds });
    }
    Ok(devices)
}
