//! Compares the engine with an array of sectors, with effects performed in random order and with crashes; and single
//! cases.

mod background;
mod cached;
mod cases;
mod controls;
mod errors;
mod limits;
mod merges;
mod mirrors;
mod moves;
mod pinned;
mod properties;
mod redirects;
mod restless;
mod snapshots;
mod under_test;
mod world;

use esker_core::{Bytes, Lba, Nanos, RequestKind};

use super::*;
use crate::engine::{BufferId, Checkpoint, DataRef, IoId, MoveLimits, RecordNumber};
use crate::extent::ExtentPlace;

/// Number of sectors in an extent: two blocks.
const EXTENT: u64 = 16;

/// Number of sectors in a block.
const SECTORS: usize = 8;

/// A fault that tests introduce into an engine, and that the properties have to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A first write does not fill its blocks up with zeroes.
    DoesNotPad,
    /// Writes do not wait for the first write to their blocks, or for a redirected write.
    OverlooksFirstWrites,
    /// A durable write counts as if it also made durable what was written to its blocks earlier.
    TrustsDurableWrites,
    /// A flush does not wait for redirected writes that have replaced the data that it flushes.
    ForgetsRedirected,
    /// The record of a redirected write is issued before its data are durable.
    RecordsRedirectsEarly,
    /// A device counts as drained before the records that its extents have left it are durable.
    DrainsEarly,
    /// Of several runs of durable blocks, the last one is not recorded.
    ForgetsLastRun,
    /// A write that was widened to its extent goes to the extent's old place when another device has refused it.
    ResendsWidened,
    /// What an extent holds behind a redirected write is lost.
    OverlooksRestBehind,
    /// Data that were not durable when their device failed are read and moved.
    TrustsFailedDevices,
    /// What the host has written since is read from the second copy.
    OverlooksStaleMirrors,
    /// An extent that moves keeps its second copy.
    KeepsOldMirrors,
    /// The place of a second copy is reused while it is read.
    ForgetsMirrorReads,
    /// The place that an extent has left for its second copy is reused before the record of that is durable.
    ReusesChangedPlaces,
    /// Takes what an extent leaves behind when it changes places for durable.
    TrustsLeftPlaces,
    /// Blocks that were never written are read as whatever the host's memory holds.
    LeavesUnwritten,
}

/// Settings for devices of these sizes in sectors.
fn settings(devices: &[u64], weights: &str) -> PlacementSettings {
    settings_of(EXTENT, devices, weights)
}

/// Settings with extents of `extent` sectors.
fn settings_of(extent: u64, devices: &[u64], weights: &str) -> PlacementSettings {
    let options = format!(r#"{{"kind":"static-split","weights":{weights}}}"#);
    let policy: PolicySettings = serde_json::from_str(&options).unwrap();
    PlacementSettings {
        extent: Bytes(extent * 512),
        devices: devices.iter().map(|&d| Bytes(d * 512)).collect(),
        policy,
        policies: PLACEMENTS,
        free_on_trim: true,
    }
}

/// Restores an engine from a checkpoint in memory and a journal.
fn restore(
    settings: &PlacementSettings,
    checkpoint: &Checkpoint,
    journal: &mut dyn Iterator<Item = Record>,
) -> Result<PlacementEngine, RestoreError> {
    let records = &mut checkpoint.records.iter().copied();
    PlacementEngine::restore(settings, checkpoint.through, records, journal)
}

fn engine() -> PlacementEngine {
    PlacementEngine::new(&settings(&[64, 64], "[1, 1]")).unwrap()
}

fn on(engine: &mut PlacementEngine, input: Input) -> Vec<Effect> {
    let mut effects = Vec::new();
    engine.on(Nanos::ZERO, input, &mut effects);
    effects
}

fn host(slot: u32, request: Request) -> Input {
    Input::Host { tag: Tag::new(slot, 0), request }
}

fn ios(effects: &[Effect]) -> Vec<(IoId, DeviceIndex, Request)> {
    effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Io { io, device, request, .. } => Some((*io, *device, *request)),
            _ => None,
        })
        .collect()
}

const FLUSH: Request = Request::new(RequestKind::Flush, Lba(0), Bytes::ZERO);
