//! Compares the cache with an array of sectors, with effects performed in random order and with crashes; and single
//! cases.

mod cases;
mod controllers;
mod errors;
mod log;
mod owned_flash;
mod properties;
mod routing;
mod slot_counts;
mod wear;
mod world;

use std::sync::Arc;

use esker_cache::ReplacementCapability;
use esker_core::registry::{Choice, ParameterValue};
use esker_core::{Bytes, Lba, Ratio, Request, RequestKind};

use super::*;
use crate::engine::Checkpoint;
use controllers::RandomController;

/// Number of sectors in a line.
const LINE: u64 = 4;

const FLUSH: Request = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);

/// Restores an engine from a checkpoint in memory and a journal.
fn restore(
    settings: &FlashCacheSettings,
    checkpoint: &Checkpoint,
    journal: &mut dyn Iterator<Item = Record>,
) -> Result<FlashCacheEngine, FlashCacheError> {
    let records = &mut checkpoint.records.iter().copied();
    FlashCacheEngine::restore(settings, checkpoint.through, records, journal)
}

/// Settings of a cache of `slots` lines in front of a volume of `lines` lines.
fn settings(slots: u64, lines: u64, role: CacheRole, write: WriteHandling) -> FlashCacheSettings {
    let line = Bytes(LINE * 512);
    FlashCacheSettings {
        line,
        role,
        write,
        dirty_low: Ratio::percent(30),
        dirty_high: Ratio::percent(60),
        ..FlashCacheSettings::new(Bytes(slots * line.0), Bytes(lines * line.0))
    }
}

/// All roles and handlings of writes that go together.
const MODES: [(CacheRole, WriteHandling); 6] = [
    (CacheRole::Unified, WriteHandling::WriteBack),
    (CacheRole::Write, WriteHandling::WriteBack),
    (CacheRole::Unified, WriteHandling::WriteThrough),
    (CacheRole::Write, WriteHandling::WriteThrough),
    (CacheRole::Read, WriteHandling::WriteThrough),
    (CacheRole::Read, WriteHandling::WriteAround),
];

/// Orthus with windows so short that it begins to route, gives up and begins anew within few requests.
fn hasty_routing() -> Choice {
    let mut routing = Choice::named("orthus");
    let shares = [("step", "50%"), ("period", "20%"), ("steady", "100%"), ("misses_max", "100%"), ("change", "50%")];
    let shares = shares.map(|(name, share)| (name.to_string(), ParameterValue::Text(share.to_string())));
    routing.parameters.extend(shares);
    routing.parameters.insert("window".to_string(), ParameterValue::Integer(2));
    routing
}

/// Settings of one of [`MODES`], with one of the policies that need not know the future and one of the admission
/// policies. Every fourth one is a log; half of the logs are append-only, except with write-through. The windows of
/// admission policies are long, so that some lines enter, and their budgets are ten lines or so. Half of the caches
/// trim slots, and some of these choose their own size. Of the others, half are divided into parts, and a third own
/// their flash. Of all of them, every other one routes hits.
fn drawn(slots: u64, mode: usize, policy: usize) -> FlashCacheSettings {
    let log = policy % 4 == 3;
    let can_run = |entry: &&esker_cache::ReplacementEntry| {
        !entry.can(ReplacementCapability::Future) && (!log || entry.can(ReplacementCapability::Log))
    };
    let policies: Vec<_> = esker_cache::REPLACEMENTS.iter().filter(can_run).collect();
    let (role, write) = MODES[mode % MODES.len()];
    let kind = policy / 4;
    let entry = &esker_cache::ADMISSIONS[kind / policies.len() % esker_cache::ADMISSIONS.len()];
    let mut admission = Choice::named(entry.name);
    for parameter in entry.parameters.listed() {
        let value = match parameter.name {
            "window" => ParameterValue::Text("500%".to_string()),
            "bytes_per_day" => ParameterValue::Text("400kB".to_string()),
            _ => continue,
        };
        admission.parameters.insert(parameter.name.to_string(), value);
    }
    let trim_freed = (kind + mode).is_multiple_of(2);
    let policy = Choice::named(policies[kind % policies.len()].name);
    let appends = kind.is_multiple_of(2) && write != WriteHandling::WriteThrough;
    let slot_order = match log {
        true if appends => SlotOrder::AppendOnly,
        true => SlotOrder::Log,
        false => SlotOrder::Any,
    };
    let chooses_size = trim_freed && !log && role != CacheRole::Read && kind % 5 < 2;
    let control = match kind % 4 {
        _ if chooses_size => Some(RandomController::Size),
        0 | 1 if !log && mode == 0 => Some(RandomController::Accesses),
        0 | 1 if !log => Some(RandomController::Volumes),
        _ => None,
    };
    let is_divided = control.is_some() && !chooses_size;
    let policy = if is_divided { Choice::named("lru") } else { policy };
    let controller = control.map(|control| Arc::new(control) as Arc<dyn BuildController>);
    let line = Bytes(LINE * 512);
    let settings = settings(slots, 16, role, write);
    // A third of those that may own their flash do.
    let owned = (!log && !chooses_size && kind.is_multiple_of(3)).then(|| {
        let user = (slots * 2 / 3).max(2);
        let hot = Bytes(kind as u64 % 2 * (user / 2) * line.0);
        OwnedFlash { user: Bytes(user * line.0), suspects: Bytes((slots - user) * line.0), hot }
    });
    let routing = if (kind / 3 + mode).is_multiple_of(2) { hasty_routing() } else { no_routing() };
    FlashCacheSettings { policy, admission, routing, trim_freed, slots: slot_order, controller, owned, ..settings }
}
