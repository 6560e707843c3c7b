//! Pins ranges of addresses to devices.

mod ranges;
mod strays;

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Nanos};
use esker_results::TokenReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    DeviceView, Event, NewExtent, NewPolicy, Placement, PlacementEntry, PlacementError, PolicySettings, Rewrite,
    Wishes, check_device, schema_of,
};
use crate::engine::LifeSpent;
use crate::extent::{DeviceIndex, LogicalExtent};
use crate::range_map::PinnedRange;
use ranges::{RangesApart, apart};
use strays::Strays;

/// The entry of [`super::PLACEMENTS`].
pub(super) const ENTRY: PlacementEntry = PlacementEntry {
    name: "pinned",
    summary: "Ranges of addresses stay on one device (a file system's metadata); another policy places the rest",
    source: "Wu 2011, section II.D.4: metadata on flash",
    parameters: ParameterSource::Schema(schema_of::<PinnedSettings>),
    capabilities: &[],
    build,
};

/// Settings of the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PinnedSettings {
    /// The ranges. An extent that begins in one of them belongs to the first such range.
    #[serde(default)]
    ranges: Vec<PinnedRange>,
    /// A file with the ranges instead, relative to the experiment's folder: the line `start_bytes,length_bytes,device`,
    /// and below it one for each range, with the name of its device. `esker plan` writes such files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    map: Option<String>,
    /// The policy for all other extents, as a table of its own. (Default: static-split, in turns.)
    #[serde(default = "in_turns")]
    rest: PolicySettings,
}

fn in_turns() -> PolicySettings {
    PolicySettings::named("static-split")
}

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let PinnedSettings { ranges, map, rest } = policy.options()?;
    if map.is_some() && !ranges.is_empty() {
        return Err(PlacementError::new("map", "`ranges` and `map` both say what is pinned; give one of them"));
    }
    for (index, range) in ranges.iter().enumerate() {
        let key = format!("ranges[{index}]");
        check_device(&format!("{key}.device"), range.device, policy.devices)?;
        if range.length == Bytes::ZERO {
            return Err(PlacementError::new(&format!("{key}.length"), "the range is empty"));
        }
    }
    let mapped = policy.mapped().unwrap_or_default();
    if let Some(last) = mapped.iter().map(|range| range.device).max() {
        check_device("map", last, policy.devices)?;
    }
    if rest.kind == ENTRY.name {
        return Err(PlacementError::new("rest.kind", "ranges of ranges: give all of them in one list"));
    }
    let rest = policy.other("rest", &rest)?;
    let ranges = if map.is_some() { apart(mapped) } else { apart(&ranges) };
    Ok(Box::new(Pinned { ranges, rest, pinned: Vec::new(), strays: Strays::default() }))
}

/// The ranges of addresses that stay on a device, and the policy for all others. What lies elsewhere, because it was
/// there before or the device was full, moves to its device in the background.
#[derive(Debug)]
struct Pinned {
    ranges: RangesApart,
    rest: Box<dyn Placement>,
    /// Whether each extent is pinned, by number, for the extents that have been placed.
    pinned: Vec<bool>,
    strays: Strays,
}

impl Pinned {
    fn pin(&mut self, extent: LogicalExtent) {
        let extent = extent.0 as usize;
        if self.pinned.len() <= extent {
            self.pinned.resize(extent + 1, false);
        }
        self.pinned[extent] = true;
    }
}

fn is_set(pinned: &[bool], extent: LogicalExtent) -> bool {
    pinned.get(extent.0 as usize).copied().unwrap_or(false)
}

impl Placement for Pinned {
    fn place(&mut self, new: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        let Some(device) = self.ranges.device(new.start) else { return self.rest.place(new, devices) };
        self.pin(new.extent);
        device
    }

    fn placed(&mut self, extent: LogicalExtent, start: Bytes, device: Option<DeviceIndex>) {
        let belongs_on = self.ranges.device(start);
        self.strays.placed(extent, device, belongs_on);
        match belongs_on {
            Some(_) => self.pin(extent),
            None => self.rest.placed(extent, start, device),
        }
    }

    /// The pinned extents, and the shares of the other policy without those extents.
    fn shares(&self, extents: u32, extent: Bytes, devices: usize) -> Option<Vec<u32>> {
        let rest = |end: u32| self.rest.shares(end, extent, devices);
        let mut shares = vec![0; devices];
        for (first, end, device) in self.ranges.runs(extents, extent) {
            match device {
                Some(device) => shares[usize::from(device.0)] += end - first,
                None => {
                    let between = rest(end).into_iter().flatten().zip(rest(first).into_iter().flatten());
                    shares.iter_mut().zip(between).for_each(|(share, (end, first))| *share += end - first);
                }
            }
        }
        Some(shares)
    }

    fn is_pinned(&self, start: Bytes) -> bool {
        self.ranges.device(start).is_some()
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        let Self { rest, pinned, strays, .. } = self;
        let goes_on = strays.hear_of(event);
        if goes_on.is_none() {
            let asked = std::mem::take(&mut wishes.moves);
            rest.observe(now, event, devices, wishes);
            wishes.moves.retain(|wished| !is_set(pinned, wished.extent));
            wishes.moves.splice(..0, asked);
        }
        if goes_on != Some(false) {
            strays.go_on(now, devices, |extent| is_set(pinned, extent), wishes);
        }
    }

    fn observes(&self) -> bool {
        self.rest.observes() || !self.strays.are_none()
    }

    fn follows_requests(&self) -> bool {
        self.rest.follows_requests()
    }

    /// What is pinned gets the place where it stays at once.
    fn needs_free_extents(&self) -> bool {
        self.rest.needs_free_extents()
    }

    fn redirect(&mut self, write: &Rewrite<'_>, devices: &[DeviceView]) -> Option<DeviceIndex> {
        if is_set(&self.pinned, write.extent) { None } else { self.rest.redirect(write, devices) }
    }

    fn redirects(&self) -> bool {
        self.rest.redirects()
    }

    fn merges(&self) -> bool {
        self.rest.merges()
    }

    fn tokens(&self) -> Option<TokenReport> {
        self.rest.tokens()
    }

    fn devices_joined(&mut self, devices: usize) {
        self.rest.devices_joined(devices);
    }

    fn telemetry_period(&self) -> Option<Nanos> {
        self.rest.telemetry_period()
    }

    fn life_spent(&self, device: DeviceIndex) -> Option<LifeSpent> {
        self.rest.life_spent(device)
    }
}

#[cfg(test)]
mod tests {
    use esker_core::{DeviceState, RequestKind};

    use super::super::tests::chosen;
    use super::super::{Completed, DeviceView, Event, PLACEMENTS, WishedMove, Wishes};
    use super::*;

    #[test]
    fn pinned_ranges_stay_where_they_belong_and_the_rest_is_placed_by_its_policy() {
        let rest = r#""rest":{"kind":"fast-first","order":[1]}"#;
        let table = format!(r#"{{"kind":"pinned","ranges":[{{"start":"1MiB","length":"2MiB","device":0}}],{rest}}}"#);
        assert_eq!(chosen(&table, &[9, 9], &[1; 5]), [1, 0, 0, 1, 1]);
        // An extent that begins in the range is pinned, even if only half of it lies there.
        let table = format!(r#"{{"kind":"pinned","ranges":[{{"length":"1537KiB","device":0}}],{rest}}}"#);
        assert_eq!(chosen(&table, &[9, 9], &[1; 4]), [0, 0, 1, 1]);
    }

    /// The policy of a reopened volume learns where its extents are: pinned extents stay, whatever the other policy
    /// wants.
    #[test]
    fn extents_stay_pinned_when_a_volume_is_opened() {
        let table =
            r#"{"kind":"pinned","ranges":[{"length":"1MiB","device":0}],"rest":{"kind":"wardrop","weights":[0,1]}}"#;
        let mut policy = serde_json::from_str::<PolicySettings>(table).unwrap().build(PLACEMENTS, 2).unwrap();
        (0..2).for_each(|extent| {
            policy.placed(LogicalExtent(extent), Bytes::mib(extent.into()), Some(DeviceIndex(0)));
        });
        let view = DeviceView {
            extents: 9,
            free_extents: 9,
            state: DeviceState::Online,
            drained: false,
            is_held: false,
            under_way: 0,
        };
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
}
