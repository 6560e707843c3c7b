//! NVMe drives: the log page "SMART / Health Information" (NVM Express Base Specification 2.0, 5.16.1.3).

use super::DriveSample;
use crate::advice::json::{Fault, Node};

/// "Data Units Written" counts thousands of units of 512 bytes.
const DATA_UNIT_BYTES: u64 = 512_000;

pub(super) fn read(node: &Node<'_>, sample: &mut DriveSample) -> Result<(), Fault> {
    let Some(log) = node.get("nvme_smart_health_information_log") else {
        sample.not_counted = Some("its health log was not read (smartctl -x or -a does)".to_string());
        return Ok(());
    };
    let whole = |name: &str| log.get(name).map(|value| value.whole()).transpose();
    match log.get("data_units_written") {
        Some(units) => {
            let bytes = units.whole()?.checked_mul(DATA_UNIT_BYTES);
            sample.written_bytes = Some(bytes.ok_or_else(|| units.fault("more than any drive can have been written"))?);
        }
        None => sample.not_counted = Some("its health log has no `data_units_written`".to_string()),
    }
    sample.used_percent = whole("percentage_used")?;
    sample.power_on_hours = whole("power_on_hours")?.or(sample.power_on_hours);
    if let (Some(spare), Some(least)) = (whole("available_spare")?, whole("available_spare_threshold")?)
        && spare <= least
    {
        sample.warnings.push(format!("spare blocks are at {spare} %, its threshold is {least} %: replace it"));
    }
    if whole("critical_warning")?.is_some_and(|bits| bits & 0b1100 != 0) {
        sample.warnings.push("it warns that it is unreliable or read-only: replace it".to_string());
    }
    Ok(())
}
