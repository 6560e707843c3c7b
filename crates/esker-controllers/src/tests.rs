//! Tests of settings: what does not go with those of the cache is refused.

use esker_core::registry::Choice;
use esker_core::{Bytes, Hint, Ratio};
use esker_tier::{CacheRole, FlashCacheEngine, FlashCacheError, OwnedFlash, SlotOrder, WriteHandling};
use std::sync::Arc;

use super::*;

/// Settings of a small cache that trims.
fn cache() -> FlashCacheSettings {
    FlashCacheSettings {
        line: Bytes(2048),
        write: WriteHandling::WriteBack,
        trim_freed: true,
        ..FlashCacheSettings::new(Bytes(5 * 2048), Bytes(16 * 2048))
    }
}

fn usual() -> AllocationSettings {
    AllocationSettings { block: Bytes(2048), ..AllocationSettings::default() }
}

/// Returns why a cache cannot have this controller.
fn error(cache: FlashCacheSettings, controller: ControllerSettings) -> FlashCacheError {
    let settings = FlashCacheSettings { controller: Some(Arc::new(controller)), ..cache };
    FlashCacheEngine::new(&settings).unwrap_err()
}

fn allocation(settings: AllocationSettings) -> ControllerSettings {
    ControllerSettings { allocation: Some(settings), partition: None }
}

#[test]
fn impossible_allocations_say_what_is_wrong() {
    let refused = |cache: FlashCacheSettings| {
        let error = error(cache, allocation(usual()));
        (error.to_string(), error.keys(), error.hint().unwrap())
    };
    let (message, keys, hint) = refused(FlashCacheSettings { trim_freed: false, ..cache() });
    assert!(message.contains("without `trim_freed` the flash is not told which"), "{message}");
    assert_eq!((keys, hint.as_str()), (&["allocation"][..], "add `trim_freed = true`"));
    let reads = FlashCacheSettings { role: CacheRole::Read, write: WriteHandling::WriteAround, ..cache() };
    let (message, keys, _) = refused(reads);
    assert!(message.contains("`role = \"read\"` caches none"), "{message}");
    assert_eq!(keys, ["allocation", "role"]);
    let log = FlashCacheSettings { slots: SlotOrder::Log, policy: Choice::named("fifo"), ..cache() };
    assert_eq!(
        refused(log),
        (
            "`slots = \"log\"` uses all slots in turn, and `allocation` leaves some of them empty".to_string(),
            &["slots", "allocation"][..],
            "leave `slots` out".to_string()
        )
    );
    let owned = OwnedFlash { user: Bytes(3 * 2048), suspects: Bytes(2048), hot: Bytes::ZERO };
    assert_eq!(
        refused(FlashCacheSettings { owned: Some(owned), ..cache() }),
        (
            "a cache that owns its flash writes where it likes, and cannot have `allocation`".to_string(),
            &["own_flash", "allocation"][..],
            "leave `allocation` out".to_string()
        )
    );
    let sized = |settings| error(cache(), allocation(settings)).to_string();
    let short = AllocationSettings { window: Some(Bytes(2048)), ..usual() };
    assert_eq!(sized(short), "`window` is 2KiB, less than two lines of 2KiB");
    let odd = AllocationSettings { block: Bytes(3000), ..usual() };
    assert_eq!(sized(odd), "`block` is 3kB; it has to be whole lines of 2KiB, one at least");
    let first = AllocationSettings { first: Ratio::percent(90), ..usual() };
    assert_eq!(sized(first), "`first` is 90%; it can be 15% to 85%");
}

#[test]
fn impossible_partitions_say_what_is_wrong() {
    let settings =
        |allocation| ControllerSettings { allocation, partition: Some(PartitionSettings::by(PartitionBy::Access)) };
    let refused = |cache, allocation| error(cache, settings(allocation)).to_string();
    assert!(
        FlashCacheEngine::new(&FlashCacheSettings { controller: Some(Arc::new(settings(None))), ..cache() }).is_ok()
    );
    assert_eq!(
        refused(FlashCacheSettings { policy: Choice::named("fifo"), ..cache() }, None),
        "`partition` replaces the least recently used lines of each part, and `policy` is \"fifo\""
    );
    assert_eq!(
        refused(FlashCacheSettings { slots: SlotOrder::Log, ..cache() }, None),
        "`slots = \"log\"` lets lines leave in the order in which they came in, and `partition` does not"
    );
    assert_eq!(
        refused(cache(), Some(usual())),
        "`allocation` changes the size of the cache, and `partition` divides one that stays"
    );
    assert_eq!(
        refused(FlashCacheSettings { write: WriteHandling::WriteThrough, ..cache() }, None),
        "`by = \"access\"` divides the cache between clean and dirty lines, and there are not both with `role = \
         \"unified\"` and `write = \"write-through\"`"
    );
}

/// A cache that owns its flash cannot be a log, whatever its controller says about logs.
#[test]
fn the_cache_speaks_of_logs_on_owned_flash() {
    let owned = OwnedFlash { user: Bytes(3 * 2048), suspects: Bytes(2048), hot: Bytes::ZERO };
    let cache =
        FlashCacheSettings { owned: Some(owned), slots: SlotOrder::Log, policy: Choice::named("fifo"), ..cache() };
    let partition = Some(PartitionSettings::by(PartitionBy::Volume));
    assert_eq!(error(cache, ControllerSettings { allocation: None, partition }), FlashCacheError::OwnedLog);
}
