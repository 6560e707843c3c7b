//! Remarks that a reader of results needs to judge them.

use std::collections::BTreeMap;

use esker_core::words;

use crate::{CacheAllocation, CacheRoomLeft, CacheShrink, ChildState, DeviceReport, FlashCacheReport, FlashReport};

/// A remark is made if more than this share of the pages that were read had no data.
const UNWRITTEN_READS_MAX: f64 = 0.01;

/// A remark is made if moves found no room more often than this, per request.
const NO_ROOM_MAX: f64 = 0.01;

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
    let without_room = devices.iter().filter_map(|(name, device)| {
        let times = device.placement?.moves_without_room;
        let is_notable = times as f64 > NO_ROOM_MAX * device.requests.max(1) as f64;
        is_notable.then(|| {
            format!(
                "{name}: {} times an extent should have moved to another device and stayed, because that one had no \
                 free extent. The devices are not used as the policy wants. A smaller `capacity`, or a larger \
                 `reserve`, leaves room.",
                words::count(times)
            )
        })
    });
    let windows = devices.iter().filter_map(|(name, device)| allocation(name, device.flash_cache.as_ref()?));
    let worn = devices.iter().filter_map(|(name, device)| worn(name, device.flash_cache.as_ref()?));
    let empty = devices.iter().filter_map(|(name, device)| unfilled(name, device.flash_cache.as_ref()?));
    unwritten
        .chain(displaced)
        .chain(without_room)
        .chain(empty)
        .chain(windows)
        .chain(worn)
        .chain(devices.values().flat_map(states))
        .collect()
}

/// A cache gets a remark if it holds less than this share of the lines that it has room for. Policies keep a
/// thirty-second in reserve.
const FILLED_MIN: f64 = 0.95;

/// A cache that never evicted anything tells nothing about its policy, nor about a longer run.
fn unfilled(name: &str, cache: &FlashCacheReport) -> Option<String> {
    let is_full = cache.held_lines as f64 >= FILLED_MIN * cache.slots as f64;
    let was_used = cache.hits + cache.misses > 0;
    (was_used && !is_full && cache.evictions == 0).then(|| {
        format!(
            "{name}: the cache has not filled: at the end it holds {} of the {} lines that it has room for, and none \
             has had to leave. Its policy made no difference, and on a longer run it may hit more or less. More \
             requests, a `warm_up`, or less flash show the cache at work.",
            words::count(cache.held_lines),
            words::count(cache.slots)
        )
    })
}

/// What keeps a cache from choosing its size well.
fn allocation(name: &str, cache: &FlashCacheReport) -> Option<String> {
    let CacheAllocation { window_bytes, open_window_bytes, erases_per_day_max } = cache.allocation?;
    let [window, open] = [window_bytes, open_window_bytes].map(|bytes| words::bytes(bytes as f64));
    let Some(last) = cache.windows.last() else {
        return Some(format!(
            "{name}: no window of `allocation` has ended: a window is {window} of writes, of which {open} came. The \
             cache kept the size that it began with. A shorter `allocation.window` or more requests let it choose."
        ));
    };
    let (allowed, least) = (erases_per_day_max?, last.least_erases()?);
    (least.erases_per_day > allowed).then(|| {
        format!(
            "{name}: no size of the cache keeps `allocation.lifetime`, which allows {} erases a day: with {} left to \
             cleaning there would be {}, and with other sizes more. It takes fewer `years`, flash of more `cycles`, \
             or a larger flash.",
            words::count(allowed as u64),
            words::percent(least.left_to_cleaning),
            words::count(least.erases_per_day as u64)
        )
    })
}

/// When there was less and less room on flash that the cache owns: first, for half of the lines, and for none.
fn worn(name: &str, cache: &FlashCacheReport) -> Option<String> {
    let CacheRoomLeft { slots_at_first, shrank } = cache.room.as_ref()?;
    let half = shrank.iter().position(|shrank| 2 * shrank.slots <= *slots_at_first);
    let mut shown = vec![0, half.unwrap_or(0), shrank.len() - 1];
    shown.dedup();
    let moment = |index: usize| {
        let CacheShrink { at_s, slots } = shrank.get(index)?;
        let slots = if *slots == 0 { "none".to_string() } else { words::count(*slots) };
        Some(format!("{slots} after {}", words::duration(*at_s)))
    };
    let moments: Vec<String> = shown.into_iter().filter_map(moment).collect();
    let refused = match cache.refused_writes {
        0 => String::new(),
        refused => format!(" {} writes found no room there, and went to the backing device.", words::count(refused)),
    };
    Some(format!(
        "{name}: its flash wears out. Of {} lines it had room for {}.{refused}",
        words::count(*slots_at_first),
        moments.join(", ")
    ))
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
    use crate::{CacheWindow, CacheWindowCost, ChildReport, PlacementReport};

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
    fn caches_that_cannot_choose_or_keep_their_lifetime_are_remarked() {
        let told = |cache: &FlashCacheReport| {
            let device = DeviceReport { flash_cache: Some(cache.clone()), ..DeviceReport::default() };
            remarks(&BTreeMap::from([("volume".to_string(), device)]))
        };
        assert!(told(&FlashCacheReport::default()).is_empty());
        let allocation = |erases_per_day_max| {
            Some(CacheAllocation { window_bytes: 1 << 30, open_window_bytes: 1 << 20, erases_per_day_max })
        };
        let mut cache = FlashCacheReport { allocation: allocation(None), ..FlashCacheReport::default() };
        let [short] = told(&cache).try_into().unwrap();
        assert!(short.contains("a window is 1 GiB of writes, of which 1 MiB came"), "{short}");
        let cost = |left_to_cleaning, erases_per_day| CacheWindowCost {
            left_to_cleaning,
            erases_per_day,
            ..CacheWindowCost::default()
        };
        let expected = vec![cost(0.85, 1_000.0), cost(0.15, 9_000.0)];
        cache.windows.push(CacheWindow { chosen: cost(0.8, 1_100.0), expected, ..CacheWindow::default() });
        assert!(told(&cache).is_empty());
        cache.allocation = allocation(Some(1_000.0));
        assert!(told(&cache).is_empty());
        cache.allocation = allocation(Some(900.0));
        let [worn] = told(&cache).try_into().unwrap();
        let expected = "volume: no size of the cache keeps `allocation.lifetime`, which allows 900 erases a day: with \
                        85 % left to cleaning there would be 1 000";
        assert!(worn.replace('\u{a0}', " ").starts_with(expected), "{worn}");
    }

    #[test]
    fn caches_that_have_not_filled_are_remarked() {
        let told = |hits, held_lines, evictions| {
            let cache = FlashCacheReport { hits, held_lines, evictions, slots: 1000, ..FlashCacheReport::default() };
            let device = DeviceReport { flash_cache: Some(cache), ..DeviceReport::default() };
            remarks(&BTreeMap::from([("volume".to_string(), device)]))
        };
        let [remark] = told(5, 400, 0).try_into().unwrap();
        let expected = "volume: the cache has not filled: at the end it holds 400 of the 1 000 lines";
        assert!(remark.replace('\u{a0}', " ").starts_with(expected), "{remark}");
        // No remark is made on a cache that is full, has evicted lines, or was not used.
        assert!(told(5, 969, 0).is_empty() && told(5, 400, 1).is_empty() && told(0, 0, 0).is_empty());
    }

    #[test]
    fn flash_that_wears_out_is_remarked_with_its_moments() {
        let told = |moments: &[(f64, u64)], refused_writes| {
            let shrank = moments.iter().map(|&(at_s, slots)| CacheShrink { at_s, slots }).collect();
            let room = Some(CacheRoomLeft { slots_at_first: 1000, shrank });
            let flash_cache = Some(FlashCacheReport { room, refused_writes, ..FlashCacheReport::default() });
            let device = DeviceReport { flash_cache, ..DeviceReport::default() };
            let [remark] = remarks(&BTreeMap::from([("volume".to_string(), device)])).try_into().unwrap();
            remark.replace('\u{a0}', " ")
        };
        let moments = [(60.0, 990), (90.0, 880), (120.0, 480), (150.0, 90), (180.0, 0)];
        let expected = "volume: its flash wears out. Of 1 000 lines it had room for 990 after 60 seconds, 480 after 2 \
                        minutes, none after 3 minutes. 7 writes found no room there, and went to the backing device.";
        assert_eq!(told(&moments, 7), expected);
        assert!(told(&moments[..2], 0).contains("for 990 after 60 seconds, 880 after "));
        assert!(told(&moments[..1], 0).ends_with("for 990 after 60 seconds."));
    }

    #[test]
    fn moves_that_found_no_room_are_remarked_above_one_percent() {
        let told = |requests, moves_without_room| {
            let placement = Some(PlacementReport { moves_without_room, ..PlacementReport::default() });
            let volume = DeviceReport { placement, requests, ..DeviceReport::default() };
            remarks(&BTreeMap::from([("volume".to_string(), volume)]))
        };
        assert!(told(0, 0).is_empty() && told(1000, 10).is_empty());
        let [remark] = told(1000, 11).try_into().unwrap();
        assert!(remark.starts_with("volume: 11 times an extent should have moved"), "{remark}");
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
