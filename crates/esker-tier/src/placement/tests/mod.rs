//! The engine against an array of sectors, with effects performed in random order and with crashes; and single cases.

mod cases;
mod moves;
mod properties;
mod world;

use esker_core::{Bytes, Nanos};

use super::*;

const EXTENT: u64 = 4;

fn settings(devices: &[u64], weights: &str) -> PlacementSettings {
    let options = format!(r#"{{"kind":"static-split","weights":{weights}}}"#);
    let policy: PolicySettings = serde_json::from_str(&options).unwrap();
    PlacementSettings {
        extent: Bytes(EXTENT * 512),
        devices: devices.iter().map(|&d| Bytes(d * 512)).collect(),
        policy,
        free_on_trim: true,
    }
}

fn engine() -> PlacementEngine {
    PlacementEngine::new(&settings(&[16, 16], "[1, 1]")).unwrap()
}

fn on(engine: &mut PlacementEngine, input: Input) -> Vec<Effect> {
    let mut effects = Vec::new();
    engine.on(Nanos::ZERO, input, &mut effects);
    effects
}

fn host(slot: u32, request: Request) -> Input {
    Input::Host { tag: Tag { slot, generation: 0 }, request }
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
