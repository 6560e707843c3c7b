//! Rules that every policy keeps.

use esker_core::{Lba, Request, registry};

use super::*;

#[test]
fn the_registry_is_sound() {
    assert_eq!(registry::check(PLACEMENTS), Vec::<String>::new());
}

#[test]
fn mistakes_are_named() {
    let policy = |text: &str| {
        serde_json::from_str::<PolicySettings>(text).unwrap().build(PLACEMENTS, 2).unwrap_err().to_string()
    };
    assert_eq!(policy(r#"{"kind":"static-slit"}"#), "kind: `static-slit` is no policy; did you mean `static-split`?");
    let found = policy(r#"{"kind":"static-split","wieghts":[1]}"#);
    assert_eq!(found, "wieghts: unknown key; did you mean `weights`?");
}

/// Returns the devices that the policy of this table chooses for consecutive extents of 1 MiB, for the case at the end
/// of each policy's file. `room` has the number of free extents of each device at first; each extent is created by a
/// write with its size in `sizes`.
pub(super) fn chosen(table: &str, room: &[u32], sizes: &[u64]) -> Vec<u16> {
    let settings: PolicySettings = serde_json::from_str(table).unwrap();
    let mut policy = settings.build(PLACEMENTS, room.len()).unwrap();
    let online = |&free_extents: &u32| DeviceView {
        extents: 9,
        free_extents,
        state: DeviceState::Online,
        drained: false,
        is_held: false,
        under_way: 0,
    };
    let mut views: Vec<DeviceView> = room.iter().map(online).collect();
    let mut place = |(number, &size): (u32, &u64)| {
        let write = Request::write(Lba(0), Bytes(size));
        let start = Bytes::mib(u64::from(number));
        let device = policy.place(&NewExtent { extent: LogicalExtent(number), start, write: Some(&write) }, &views);
        views[device.0 as usize].free_extents = views[device.0 as usize].free_extents.saturating_sub(1);
        device.0
    };
    (0..).zip(sizes).map(&mut place).collect()
}

#[test]
fn policies_with_shares_say_which() {
    let targets =
        |text: &str| serde_json::from_str::<PolicySettings>(text).unwrap().build(PLACEMENTS, 2).unwrap().targets();
    for kind in ["static-split", "wardrop", "throughput"] {
        assert_eq!(targets(&format!(r#"{{"kind":"{kind}","weights":[3,1]}}"#)), Some(vec![0.75, 0.25]), "{kind}");
    }
    for kind in ["fast-first", "migration", "pinned"] {
        assert_eq!(targets(&format!(r#"{{"kind":"{kind}"}}"#)), None, "{kind}");
    }
}

#[test]
fn devices_that_are_not_there_are_named() {
    let error = |text: &str| {
        serde_json::from_str::<PolicySettings>(text).unwrap().build(PLACEMENTS, 2).unwrap_err().to_string()
    };
    assert_eq!(error(r#"{"kind":"size-threshold","large":2}"#), "large: there is no device 2; 2 devices count from 0");
    assert_eq!(error(r#"{"kind":"fast-first","order":[1,1]}"#), "order: device 1 is there twice");
    let ranges = r#"{"kind":"pinned","ranges":[{"length":"1MiB","device":3}]}"#;
    assert_eq!(error(ranges), "ranges[0].device: there is no device 3; 2 devices count from 0");
    let rest = r#"{"kind":"pinned","rest":{"kind":"static-split","weights":[0,0]}}"#;
    assert_eq!(error(rest), "rest.weights: `weights` are all zero");
}
