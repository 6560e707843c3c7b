//! Remarks that a reader of results needs to judge them.

use std::collections::BTreeMap;

use esker_core::words;

use crate::{ChildState, DeviceReport, FlashReport};

/// A remark is made if more than this share of the pages that were read had no data.
const UNWRITTEN_READS_MAX: f64 = 0.01;

impl FlashReport {
    /// Share of the pages read by the host that had no data; `None` if it is at most 1 %.
    pub fn notable_unwritten_reads(&self) -> Option<f64> {
        let share = self.unwritten_page_reads as f64 / self.host_page_reads.max(1) as f64;
        (share > UNWRITTEN_READS_MAX).then_some(share)
    }
}

/// Remarks on the response times of `devices`; usually none.
pub fn remarks(devices: &BTreeMap<String, DeviceReport>) -> Vec<String> {
    let unwritten = devices.iter().filter_map(|(name, device)| {
        let share = device.flash.as_ref()?.notable_unwritten_reads()?;
        Some(format!(
            "{name}: {} of the pages that were read had no data, as they were never written, or trimmed. Reading \
             them takes no flash operation, and counts in all means and percentiles of reads. `precondition = \
             \"filled\"` or `\"steady\"` gives every page data at the start.",
            words::percent(share)
        ))
    });
    let displaced = devices.iter().filter_map(|(name, device)| {
        let displaced = device.placement.filter(|placement| placement.displaced_extents > 0)?.displaced_extents;
        Some(format!(
            "{name}: {} new extents went to another device than the policy chose, because that one was full, drained, \
             or took no writes.",
            words::count(displaced)
        ))
    });
    unwritten.chain(displaced).chain(devices.values().flat_map(states)).collect()
}

/// Which children of a device do not serve all requests any more.
fn states(device: &DeviceReport) -> impl Iterator<Item = String> {
    device.children.iter().filter_map(|(name, child)| {
        let left = match child.state? {
            ChildState::ReadOnly => "takes no more writes",
            ChildState::Failed => {
                "has failed: data that it had acknowledged may be lost, writes to what it holds fail, and so do flushes"
            }
        };
        Some(format!("{name} {left}."))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChildReport, PlacementReport};

    #[test]
    fn reads_without_data_are_remarked_above_one_percent() {
        let device = |reads, unwritten| {
            let flash =
                FlashReport { host_page_reads: reads, unwritten_page_reads: unwritten, ..FlashReport::default() };
            DeviceReport { flash: Some(flash), ..DeviceReport::default() }
        };
        let told = |reads, unwritten| remarks(&BTreeMap::from([("ssd".to_string(), device(reads, unwritten))]));
        assert!(told(0, 0).is_empty() && told(1000, 10).is_empty());
        let [remark] = told(1000, 11).try_into().unwrap();
        assert!(remark.starts_with("ssd: 1.1 % of the pages that were read had no data"), "{remark}");
        assert!(remarks(&BTreeMap::from([("disk".to_string(), DeviceReport::default())])).is_empty());
    }

    #[test]
    fn children_that_failed_and_extents_without_room_are_remarked() {
        let child = |state| ChildReport { state, ..ChildReport::default() };
        let mut volume = DeviceReport::default();
        volume.children.insert("disk".to_string(), child(None));
        volume.placement = Some(PlacementReport::default());
        let told = |volume: &DeviceReport| remarks(&BTreeMap::from([("volume".to_string(), volume.clone())]));
        assert_eq!(told(&volume), Vec::<String>::new());
        volume.children.insert("flash".to_string(), child(Some(ChildState::ReadOnly)));
        volume.children.insert("other".to_string(), child(Some(ChildState::Failed)));
        volume.placement.as_mut().unwrap().displaced_extents = 3;
        let [displaced, worn, failed] = told(&volume).try_into().unwrap();
        assert!(displaced.starts_with("volume: 3 new extents went to another device"), "{displaced}");
        assert_eq!(worn, "flash takes no more writes.");
        assert!(failed.starts_with("other has failed: "), "{failed}");
    }
}
