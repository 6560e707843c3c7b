//! SAS drives: the error counter log of writes, and the "Percentage used endurance indicator" (SBC-4, log page 11h).

use super::DriveSample;
use crate::advice::json::{Fault, Node};

pub(super) fn read(node: &Node<'_>, sample: &mut DriveSample) -> Result<(), Fault> {
    let used = node.get("scsi_percentage_used_endurance_indicator");
    sample.used_percent = used.map(|used| used.whole()).transpose()?;
    let written = node.get("scsi_error_counter_log").and_then(|log| log.get("write"));
    let Some(gigabytes) = written.and_then(|written| written.get("gigabytes_processed")) else {
        sample.not_counted = Some("its log of errors has no `write.gigabytes_processed`".to_string());
        return Ok(());
    };
    // Smartmontools writes thousandths of 10^9 bytes as text.
    let text = gigabytes.text()?;
    let number = text.trim().parse::<f64>().ok().filter(|number| (0.0..1.8e10).contains(number));
    let number = number.ok_or_else(|| gigabytes.fault(format!("{text:?} is no number of gigabytes")))?;
    sample.written_bytes = Some((number * 1e9).round() as u64);
    Ok(())
}
