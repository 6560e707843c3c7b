//! SATA drives: statistics of ACS-3 ("Logical Sectors Written", "Percentage Used Endurance Indicator"), else attributes
//! by the names that the drive database of smartmontools gives them, since makers use the same number for different
//! things.

use super::DriveSample;
use crate::advice::json::{Fault, Node};

/// Attributes of bytes written, with their units; `None` for logical blocks (drivedb.h of smartmontools).
const WRITTEN: &[(&str, Option<u64>)] = &[
    ("Total_LBAs_Written", None),
    ("Total_Host_Sector_Write", None),
    ("Host_Writes_MiB", Some(1 << 20)),
    ("Host_Writes_32MiB", Some(32 << 20)),
    ("Total_Writes_32MiB", Some(32 << 20)),
    ("Host_Writes_GiB", Some(1 << 30)),
    ("Lifetime_Writes_GiB", Some(1 << 30)),
    ("Total_Writes_GiB", Some(1 << 30)),
];

/// Attributes whose normalised value falls from 100 to 0 as life is used.
const LEFT: &[&str] = &[
    "Percent_Lifetime_Remain",
    "SSD_Life_Left",
    "Media_Wearout_Indicator",
    "Wear_Leveling_Count",
    "Remaining_Lifetime_Perc",
];

pub(super) fn read(node: &Node<'_>, sample: &mut DriveSample) -> Result<(), Fault> {
    let block = node.get("logical_block_size").map_or(Ok(512), |size| size.whole())?;
    statistics(node, block, sample)?;
    attributes(node, block, sample)?;
    if sample.written_bytes.is_none() {
        sample.not_counted = Some("it has no counter of bytes written whose unit is known".to_string());
    }
    Ok(())
}

fn statistics(node: &Node<'_>, block: u64, sample: &mut DriveSample) -> Result<(), Fault> {
    let Some(pages) = node.get("ata_device_statistics").and_then(|all| all.get("pages")) else { return Ok(()) };
    for page in pages.items()? {
        let Some(table) = page.get("table") else { continue };
        for line in table.items()? {
            let (Some(name), Some(value)) = (line.get("name"), line.get("value")) else { continue };
            let is_valid = line.get("flags").and_then(|flags| flags.get("valid")).is_none_or(|flag| flag.value == true);
            match name.text()? {
                "Logical Sectors Written" if is_valid => sample.written_bytes = Some(times(&value, block)?),
                "Percentage Used Endurance Indicator" if is_valid => sample.used_percent = Some(value.whole()?),
                _ => {}
            }
        }
    }
    Ok(())
}

fn attributes(node: &Node<'_>, block: u64, sample: &mut DriveSample) -> Result<(), Fault> {
    let Some(table) = node.get("ata_smart_attributes").and_then(|all| all.get("table")) else { return Ok(()) };
    for line in table.items()? {
        let Some(name) = line.get("name") else { continue };
        let name = name.text()?;
        if sample.written_bytes.is_none()
            && let Some((_, unit)) = WRITTEN.iter().find(|(known, _)| *known == name)
        {
            sample.written_bytes = Some(times(&line.field("raw")?.field("value")?, unit.unwrap_or(block))?);
        }
        if sample.used_percent.is_none() && LEFT.contains(&name) {
            sample.used_percent = Some(100u64.saturating_sub(line.field("value")?.whole()?));
        }
    }
    Ok(())
}

fn times(count: &Node<'_>, unit: u64) -> Result<u64, Fault> {
    let bytes = count.whole()?.checked_mul(unit);
    bytes.ok_or_else(|| count.fault("more than any drive can have been written"))
}
