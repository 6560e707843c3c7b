use esker_core::{Bytes, Lba};
use proptest::prelude::*;

use super::*;
use crate::device::{Child, Constant, ConstantSettings, DeviceSettings, HybridSettings, Instance};
use esker_results::Reporting;

/// A hybrid of two devices of 1 MiB. A quarter is kept free; extents of 4 KiB take turns on the devices.
fn hybrid() -> Box<dyn Reporting> {
    let settings = "children = [\"c0\", \"c1\"]\nextent = \"4KiB\"\nreserve = \"25%\"\n\
                    policy = { kind = \"static-split\", weights = [3, 1] }\nallocate = \"on-write\"";
    let settings: HybridSettings = toml::from_str(settings).unwrap();
    let constant: ConstantSettings = toml::from_str("service_time = \"1ms\"\ncapacity = \"1MiB\"").unwrap();
    let child = |name: &str| Child { name: name.to_string(), device: Box::new(Constant::new(name, &constant)) };
    let children = ["c0", "c1"].map(child).into();
    settings.build(Instance::new("volume", children)).unwrap()
}

fn frames(device: &dyn Reporting) -> MapFrames {
    MapFrames::new(vec!["c0".to_string(), "c1".to_string()], Nanos::ZERO, device).unwrap()
}

#[test]
fn ranges_are_equal_but_for_the_last_and_hold_all_extents() {
    let device = hybrid();
    let map = frames(&*device).into_results();
    // 384 extents in pairs.
    assert_eq!((map.extent_bytes, map.range_bytes, map.range_extents.len()), (4096, 8192, 192));
    assert_eq!(map.range_extents.iter().map(|&extents| u64::from(extents) * 4096).sum::<u64>(), device.capacity().0);
    // Nothing is written yet: the first frame has no length, no requests, and no extent has a place.
    assert_eq!((map.frames.len(), map.frames[0].start_s, map.frames[0].end_s), (1, 0.0, 0.0));
    assert_eq!((map.frames[0].requests.iter().sum::<u64>(), &map.frames[0].extents[0]), (0, &vec![0; 192]));
}

#[test]
fn many_children_have_fewer_ranges() {
    let names = (0..100).map(|child| format!("c{child}")).collect();
    let map = MapFrames::new(names, Nanos::ZERO, &*hybrid()).unwrap().into_results();
    assert_eq!((map.range_extents.len(), map.range_extents[0], map.range_extents[38]), (39, 10, 4));
}

#[test]
fn a_device_that_places_nothing_has_no_map() {
    let constant: ConstantSettings = toml::from_str("service_time = \"1ms\"\ncapacity = \"1MiB\"").unwrap();
    assert!(MapFrames::new(Vec::new(), Nanos::ZERO, &Constant::new("c", &constant)).is_none());
}

#[test]
fn a_request_counts_where_it_begins_and_a_flush_nowhere() {
    let device = hybrid();
    let mut frames = frames(&*device);
    frames.count(&Request::read(Lba(15), Bytes::kib(8)));
    frames.count(&Request::write(Lba(16), Bytes::kib(4)));
    frames.count(&Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO));
    frames.count(&Request::read(Lba(1 << 20), Bytes::kib(4)));
    frames.interval_ended(Nanos(7), &*device);
    assert_eq!(frames.into_results().frames[1].requests[..3], [1, 1, 0]);
}

proptest! {
    /// However many intervals there are, the frames are few, follow each other, and hold all requests.
    #[test]
    fn frames_are_few_and_hold_all(intervals in 1u64..2000) {
        let device = hybrid();
        let mut frames = frames(&*device);
        for interval in 0..intervals {
            for _ in 0..interval % 3 {
                frames.count(&Request::read(Lba(interval % 3000), Bytes::kib(4)));
            }
            frames.interval_ended(Nanos::from_secs(interval + 1), &*device);
        }
        frames.close(Nanos::from_secs(intervals), &*device);
        let map = frames.into_results();
        let rest = &map.frames[1..];
        prop_assert!(rest.len() <= FRAMES_MAX && (intervals < 2 || rest.len() as u64 >= intervals.min(100)));
        let mut end_s = 0.0;
        for frame in rest {
            prop_assert_eq!(frame.start_s, end_s);
            end_s = frame.end_s;
        }
        prop_assert_eq!(end_s, intervals as f64);
        // All are equally long but for the last.
        let lengths: Vec<f64> = rest.iter().map(|frame| frame.end_s - frame.start_s).collect();
        prop_assert!(lengths[..lengths.len() - 1].iter().all(|length| *length == lengths[0]));
        prop_assert!(*lengths.last().unwrap() <= lengths[0]);
        let requests: u64 = rest.iter().flat_map(|frame| &frame.requests).sum();
        prop_assert_eq!(requests, (0..intervals).map(|interval| interval % 3).sum::<u64>());
    }
}
