//! What the tests of policies that go by costs have in common.

use esker_core::{Bytes, DeviceState, Lba, Nanos, Request, RequestKind};

use super::{Completed, DeviceView, Event, PLACEMENTS, Placement, PlacementError, PolicySettings, Wishes};
use crate::extent::{DeviceIndex, LogicalExtent};

pub(super) const BLOCK: Bytes = Bytes(4096);
pub(super) const EXTENT: u64 = 64 << 10;

/// Two devices of ten extents.
pub(super) fn views(free: [u32; 2], under_way: [u32; 2]) -> [DeviceView; 2] {
    [0, 1].map(|device| DeviceView {
        extents: 10,
        free_extents: free[device],
        state: DeviceState::Online,
        drained: false,
        is_held: false,
        under_way: under_way[device],
    })
}

/// Lets each device answer reads, or writes, one at a time, in its time.
pub(super) fn learn(policy: &mut dyn Placement, kind: RequestKind, begin: Nanos, micros: [u64; 2]) {
    learn_of(policy, true, kind, begin, micros);
}

/// The same for requests of the host, or for parts of copies.
pub(super) fn learn_of(policy: &mut dyn Placement, for_host: bool, kind: RequestKind, begin: Nanos, micros: [u64; 2]) {
    for index in 0..200 {
        for (device, takes) in micros.into_iter().enumerate() {
            let sent = begin + Nanos::from_millis(10 * index);
            let done = Completed {
                device: DeviceIndex(device as u16),
                first: LogicalExtent(0),
                extents: 1,
                kind,
                length: BLOCK,
                sent,
                at: sent + Nanos::from_micros(takes),
                for_host,
                ok: true,
            };
            policy.observe(done.at, &Event::Completed(done), &views([5, 5], [0, 0]), &mut Wishes::default());
        }
    }
}

pub(super) fn place(policy: &mut dyn Placement, extent: u32, device: u16) {
    policy.placed(LogicalExtent(extent), Bytes(u64::from(extent) * EXTENT), Some(DeviceIndex(device)));
}

/// Sends a read of an extent, and returns what the policy wants to move.
pub(super) fn read(policy: &mut dyn Placement, extent: u32, views: &[DeviceView]) -> Vec<(u32, u16)> {
    let request = Request::read(Lba(0), BLOCK);
    let mut wishes = Wishes::default();
    let event = Event::Request { request: &request, first: LogicalExtent(extent), extents: 1 };
    policy.observe(Nanos::from_secs(10), &event, views, &mut wishes);
    wishes.moves.iter().map(|wished| (wished.extent.0, wished.to.0)).collect()
}

/// Builds a policy with one setting, for two devices.
pub(super) fn built(kind: &str, key: &str, value: serde_json::Value) -> Result<Box<dyn Placement>, PlacementError> {
    PolicySettings::new(kind, [(key.to_string(), value)].into_iter().collect()).build(PLACEMENTS, 2)
}
