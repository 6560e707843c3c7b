//! Rules that every policy keeps, and single cases.

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

/// Returns the devices that the policy of this table chooses for consecutive extents of 1 MiB. `room` has the number of
/// free extents of each device at first; each extent is created by a write with its size in `sizes`.
fn chosen(table: &str, room: &[u32], sizes: &[u64]) -> Vec<u16> {
    let settings: PolicySettings = serde_json::from_str(table).unwrap();
    let mut policy = settings.build(PLACEMENTS, room.len()).unwrap();
    let online = |&free_extents: &u32| DeviceView {
        extents: 9,
        free_extents,
        state: DeviceState::Online,
        drained: false,
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
fn fast_first_fills_one_device_after_the_other() {
    assert_eq!(chosen(r#"{"kind":"fast-first"}"#, &[2, 1, 9], &[1; 5]), [0, 0, 1, 2, 2]);
    assert_eq!(chosen(r#"{"kind":"fast-first","order":[2]}"#, &[2, 1, 1], &[1; 4]), [2, 0, 0, 1]);
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
fn the_size_of_the_first_write_decides() {
    let sizes = [4096, 4097, 512, 1 << 20];
    assert_eq!(chosen(r#"{"kind":"size-threshold"}"#, &[9, 9], &sizes), [0, 1, 0, 1]);
    let settings = r#"{"kind":"size-threshold","threshold":"512B","small":1,"large":0}"#;
    assert_eq!(chosen(settings, &[9, 9], &sizes), [0, 0, 1, 0]);
}

#[test]
fn pinned_ranges_stay_where_they_belong_and_the_rest_is_placed_by_its_policy() {
    let rest = r#""rest":{"kind":"fast-first","order":[1]}"#;
    let table = format!(r#"{{"kind":"pinned","ranges":[{{"start":"1MiB","length":"2MiB","device":0}}],{rest}}}"#);
    assert_eq!(chosen(&table, &[9, 9], &[1; 5]), [1, 0, 0, 1, 1]);
    // An extent that begins in the range is pinned, even if only half of it lies there.
    let table = format!(r#"{{"kind":"pinned","ranges":[{{"length":"1537KiB","device":0}}],{rest}}}"#);
    assert_eq!(chosen(&table, &[9, 9], &[1; 4]), [0, 0, 1, 1]);
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

/// The policy of a reopened volume learns where its extents are: pinned extents stay, whatever the other policy wants.
#[test]
fn extents_stay_pinned_when_a_volume_is_opened() {
    let table =
        r#"{"kind":"pinned","ranges":[{"length":"1MiB","device":0}],"rest":{"kind":"wardrop","weights":[0,1]}}"#;
    let mut policy = serde_json::from_str::<PolicySettings>(table).unwrap().build(PLACEMENTS, 2).unwrap();
    (0..2).for_each(|extent| {
        policy.placed(LogicalExtent(extent), Bytes::mib(extent.into()), Some(DeviceIndex(0)));
    });
    let view = DeviceView { extents: 9, free_extents: 9, state: DeviceState::Online, drained: false, under_way: 0 };
    let mut wishes = Wishes::default();
    for extent in 0..2 {
        let done = Completed {
            device: DeviceIndex(0),
            first: LogicalExtent(extent),
            extents: 1,
            kind: RequestKind::Read,
            length: Bytes(512),
            sent: Nanos::ZERO,
            at: Nanos::from_secs(u64::from(extent)),
            for_host: true,
            ok: true,
        };
        policy.observe(done.at, &Event::Completed(done), &[view; 2], &mut wishes);
    }
    assert_eq!(wishes.moves, [WishedMove::among_requests(LogicalExtent(1), DeviceIndex(1))]);
}
