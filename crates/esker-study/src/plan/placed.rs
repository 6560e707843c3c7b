//! Where a plan puts the data, for an experiment and for volumes.

use std::collections::BTreeMap;

use esker_core::Bytes;
use esker_plan::Plan;
use esker_tier::{PinnedRange, RangeMap};

use super::mix::volume_name;
use super::planner::Planner;

/// Where a plan puts the data.
#[derive(Clone, Debug)]
pub struct PlacedData {
    /// The devices.
    pub parts: Vec<PlacedPart>,
    /// The volumes of the traces.
    pub volumes: Vec<PlacedVolume>,
}

/// Devices of one product, which are one device for the data.
#[derive(Clone, Debug)]
pub struct PlacedPart {
    /// The name in maps.
    pub name: String,
    /// The product and its size.
    pub title: String,
    /// Number of devices, striped if there are several.
    pub count: u32,
    /// Whether they are flash.
    pub is_flash: bool,
}

/// A volume of the traces.
#[derive(Clone, Debug)]
pub struct PlacedVolume {
    /// Its name, as the traces have it.
    pub name: String,
    /// The device of each range that is asked for, by addresses of the traces.
    pub map: RangeMap,
    /// Bytes of its ranges on each device, in the order of the parts.
    pub bytes_on: Vec<Bytes>,
    /// The byte behind the last range.
    pub end: Bytes,
}

impl PlacedData {
    pub(super) fn of(planner: &Planner<'_>, plan: &Plan) -> Self {
        let (parts, ranges) = planner.places(plan);
        let part = |(number, part)| PlacedPart {
            name: volume_name(number, part),
            title: part.title(),
            count: part.count,
            is_flash: part.product.kind == "ssd",
        };
        let parts: Vec<PlacedPart> = parts.iter().enumerate().map(part).collect();
        let mut of_volumes: BTreeMap<u32, Vec<PinnedRange>> = BTreeMap::new();
        for range in &ranges {
            for (volume, start, length) in planner.workload.map().sparse(range.start, range.length) {
                let range = PinnedRange { start: Bytes(start), length: Bytes(length), device: range.part as u16 };
                of_volumes.entry(volume.0).or_default().push(range);
            }
        }
        let names = planner.workload.traces().volumes();
        let volume = |(number, ranges): (u32, Vec<PinnedRange>)| PlacedVolume {
            name: names.get(number as usize).cloned().unwrap_or_else(|| number.to_string()),
            bytes_on: (0..parts.len()).map(|part| bytes_on(&ranges, part)).collect(),
            end: ranges.last().map_or(Bytes::ZERO, |last| Bytes(last.start.0 + last.length.0)),
            map: RangeMap::new(ranges, parts.iter().map(|part| part.name.as_str())),
        };
        Self { volumes: of_volumes.into_iter().map(volume).collect(), parts }
    }
}

fn bytes_on(ranges: &[PinnedRange], part: usize) -> Bytes {
    Bytes(ranges.iter().filter(|range| usize::from(range.device) == part).map(|range| range.length.0).sum())
}

/// Takes the ranges out of the experiment of a plan, whose hybrid then follows the file `map` instead. `None` if the
/// experiment has no such ranges: one device holds all touched data.
pub fn ranges_of_experiment(config: &mut serde_json::Value, map: &str) -> Option<RangeMap> {
    let target = config["run"]["target"].as_str()?.to_string();
    let hybrid = config["device"].get_mut(&target)?;
    let names: Vec<String> = serde_json::from_value(hybrid.get("children")?.clone()).ok()?;
    let policy = hybrid.get_mut("policy")?.as_object_mut()?;
    let ranges: Vec<PinnedRange> = serde_json::from_value(policy.remove("ranges")?).ok()?;
    policy.insert("map".to_string(), map.into());
    Some(RangeMap::new(ranges, names))
}
