//! States of replicas and objects, and the memory that they take.

use allocation_counter::measure;
use esker_core::Bytes;

use super::*;

const SHAPE: ClusterShape =
    ClusterShape { slices: 20_000, objects_per_slice: 16, object: Bytes::kib(256), partitions: 256, replicas: 1 };
const A: ServerId = ServerId(0);
const B: ServerId = ServerId(1);

fn map() -> SliceMap {
    SliceMap::new(SHAPE, vec![A; 256])
}

fn first(slice: u32) -> SliceReplica {
    SliceReplica { slice: SliceId(slice), replica: 0 }
}

/// Point 2: algorithm 3 has no branch for this.
#[test]
fn an_object_that_has_not_moved_is_read_at_the_source() {
    let mut map = map();
    map.begin(first(7), Some(A), Some(B));
    map.set_moved(first(7), 3);
    assert_eq!(map.reader(first(7), 2), Some(A));
    assert_eq!(map.reader(first(7), 3), Some(B));
    assert_eq!(map.writer(first(7), 2), Some((B, true)));
    assert_eq!(map.writer(first(7), 3), Some((B, false)));
}

/// Points 11 and 12: what `begin` sets in motion is complete only once all of it has moved, and then in one step.
#[test]
fn complete_makes_the_destination_the_source_in_one_step() {
    let mut map = map();
    assert_eq!(map.place(first(7)), ReplicaPlace::Complete(A));
    map.begin(first(7), Some(A), Some(B));
    assert_eq!(map.place(first(8)), ReplicaPlace::Complete(A), "an untouched slice stays as it is");
    (0..16).for_each(|index| map.set_moved(first(7), index));
    assert!(map.all_moved(first(7)));
    assert_eq!(map.place(first(7)), ReplicaPlace::Offloading { source: Some(A), destination: Some(B) });
    let before = map.epoch();
    assert_eq!(map.complete(first(7)), (Some(A), B));
    assert_eq!((map.place(first(7)), map.reader(first(7), 0)), (ReplicaPlace::Complete(B), Some(B)));
    assert!(map.epoch() > before);
    assert_eq!((map.moving_count(), map.settled_count()), (0, 1));
    map.begin(first(7), Some(B), Some(A));
    assert!(!map.has_moved(first(7), 0), "bits of the earlier motion are cleared");
    (0..16).for_each(|index| map.set_moved(first(7), index));
    map.complete(first(7));
    assert_eq!(map.settled_count(), 0, "a slice at its partition's server takes no memory");
}

/// With one replica distrusted, what the source still holds stays readable.
#[test]
fn a_failed_write_spoils_one_object_only() {
    let mut map = map();
    map.begin(first(7), Some(A), Some(B));
    map.distrust(first(7), 4);
    assert_eq!((map.reader(first(7), 4), map.reader(first(7), 5)), (None, Some(A)));
    map.turn_back(first(7), None, A);
    assert_eq!((map.reader(first(7), 4), map.reader(first(7), 5)), (None, Some(A)));
    map.distrust(first(9), 1);
    assert_eq!((map.reader(first(9), 1), map.reader(first(9), 2)), (None, Some(A)));
    assert_eq!(map.not_moved(first(9), 0).collect::<Vec<_>>(), [1]);
}

/// The bytes that the map tells are those that it allocates, and 50 KB hold what they are said to.
#[test]
fn memory_is_what_the_map_says() {
    let mut told = 0;
    let used = measure(|| {
        let mut map = map();
        for slice in 0..4000 {
            map.begin(first(slice * 3), Some(A), Some(B));
            assert!(map.bytes() <= SliceMap::bytes_at_most(&SHAPE, map.settled_count(), map.moving_count(), 0));
        }
        for slice in 0..3500 {
            (0..16).for_each(|index| map.set_moved(first(slice * 3), index));
            map.complete(first(slice * 3));
            assert!(map.bytes() <= SliceMap::bytes_at_most(&SHAPE, map.settled_count(), map.moving_count(), 0));
        }
        told = map.bytes();
        std::mem::forget(map);
    });
    assert_eq!(told as i64, used.bytes_current, "what is told, and what stays allocated");
    // 50 servers with 6,000 slices moved and 500 in motion at once.
    let without_partitions = ClusterShape { partitions: 0, ..SHAPE };
    let bytes = SliceMap::bytes_at_most(&without_partitions, 6000, 500, 0);
    assert!((50_000..60_000).contains(&bytes), "{bytes}");
}
