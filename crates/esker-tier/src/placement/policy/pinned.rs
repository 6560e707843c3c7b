//! Pins ranges of addresses to devices.

use std::collections::BTreeSet;

use esker_core::registry::ParameterSource;
use esker_core::{Bytes, Nanos};
use esker_results::TokenReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    DeviceView, Event, NewExtent, NewPolicy, Placement, PlacementEntry, PlacementError, PolicySettings, Rewrite,
    Wishes, check_device, schema_of,
};
use crate::extent::{DeviceIndex, LogicalExtent};

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
    /// The policy for all other extents, as a table of its own. (Default: static-split, in turns.)
    #[serde(default = "in_turns")]
    rest: PolicySettings,
}

/// A range of addresses, and the device for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PinnedRange {
    /// The first byte.
    #[serde(default)]
    start: Bytes,
    /// Bytes.
    length: Bytes,
    /// The device, by its place in `children`, from 0. Where extents are placed on their first write, and it is full by
    /// then, the next one with room is taken.
    device: u16,
}

fn in_turns() -> PolicySettings {
    PolicySettings { kind: "static-split".to_string(), options: serde_json::Map::new() }
}

fn build(policy: &NewPolicy<'_>) -> Result<Box<dyn Placement>, PlacementError> {
    let PinnedSettings { ranges, rest } = policy.options()?;
    for (index, range) in ranges.iter().enumerate() {
        let key = format!("ranges[{index}]");
        check_device(&format!("{key}.device"), range.device, policy.devices)?;
        if range.length == Bytes::ZERO {
            return Err(PlacementError::new(&format!("{key}.length"), "the range is empty"));
        }
    }
    if rest.kind == ENTRY.name {
        return Err(PlacementError::new("rest.kind", "ranges of ranges: give all of them in one list"));
    }
    let rest = policy.other("rest", &rest)?;
    Ok(Box::new(Pinned { ranges: apart(&ranges), rest, pinned: Vec::new() }))
}

/// The addresses of `ranges` as ranges apart from each other, in order of address. Where several overlap, the first
/// one counts.
fn apart(ranges: &[PinnedRange]) -> Vec<PinnedRange> {
    let end = |range: &PinnedRange| range.start.0.saturating_add(range.length.0);
    // At each address where ranges begin or end: their numbers, and whether they begin.
    let begins = ranges.iter().enumerate().map(|(number, range)| (range.start.0, number, true));
    let ends = ranges.iter().enumerate().map(|(number, range)| (end(range), number, false));
    let mut changes: Vec<(u64, usize, bool)> = begins.chain(ends).collect();
    changes.sort_unstable();
    let mut open: BTreeSet<usize> = BTreeSet::new();
    let mut found: Vec<PinnedRange> = Vec::new();
    let mut from = 0;
    for (at, number, begins) in changes {
        if let Some(&first) = open.first().filter(|_| from < at) {
            let (device, length) = (ranges[first].device, Bytes(at - from));
            match found.last_mut().filter(|last| last.device == device && end(last) == from) {
                Some(last) => last.length.0 += length.0,
                None => found.push(PinnedRange { start: Bytes(from), length, device }),
            }
        }
        from = at;
        if begins {
            open.insert(number)
        } else {
            open.remove(&number)
        };
    }
    found
}

#[derive(Debug)]
struct Pinned {
    /// Apart from each other, in order of address: there may be as many as extents.
    ranges: Vec<PinnedRange>,
    rest: Box<dyn Placement>,
    /// Whether each extent is pinned, by number, for the extents that have been placed.
    pinned: Vec<bool>,
}

impl Pinned {
    /// Returns the range to which the extent that begins at `start` belongs.
    fn range(&self, start: Bytes) -> Option<&PinnedRange> {
        let after = self.ranges.partition_point(|range| range.start <= start);
        let range = &self.ranges[after.checked_sub(1)?];
        (start.0 - range.start.0 < range.length.0).then_some(range)
    }

    fn pin(&mut self, extent: LogicalExtent) {
        let extent = extent.0 as usize;
        if self.pinned.len() <= extent {
            self.pinned.resize(extent + 1, false);
        }
        self.pinned[extent] = true;
    }
}

impl Placement for Pinned {
    fn place(&mut self, new: &NewExtent<'_>, devices: &[DeviceView]) -> DeviceIndex {
        let Some(range) = self.range(new.start) else { return self.rest.place(new, devices) };
        let device = DeviceIndex(range.device);
        self.pin(new.extent);
        device
    }

    fn placed(&mut self, extent: LogicalExtent, start: Bytes, device: Option<DeviceIndex>) {
        match self.is_pinned(start) {
            true => self.pin(extent),
            false => self.rest.placed(extent, start, device),
        }
    }

    /// The pinned extents, and the shares of the other policy without those extents.
    fn shares(&self, extents: u32, extent: Bytes, devices: usize) -> Option<Vec<u32>> {
        // Number of the first extent that begins at this byte or later.
        let at = |byte: u64| byte.div_ceil(extent.0).min(u64::from(extents)) as u32;
        let ends = |range: &PinnedRange| [at(range.start.0), at(range.start.0.saturating_add(range.length.0))];
        let mut bounds: Vec<u32> = self.ranges.iter().flat_map(ends).chain([0, extents]).collect();
        bounds.sort_unstable();
        let rest = |end: u32| self.rest.shares(end, extent, devices);
        let mut shares = vec![0; devices];
        // Between two bounds, all extents are in the same range, or in none.
        for (&first, &end) in bounds.iter().zip(&bounds[1..]).filter(|(first, end)| first < end) {
            match self.range(Bytes(u64::from(first) * extent.0)) {
                Some(range) => shares[usize::from(range.device)] += end - first,
                None => {
                    let between = rest(end).into_iter().flatten().zip(rest(first).into_iter().flatten());
                    shares.iter_mut().zip(between).for_each(|(share, (end, first))| *share += end - first);
                }
            }
        }
        Some(shares)
    }

    fn is_pinned(&self, start: Bytes) -> bool {
        self.range(start).is_some()
    }

    fn observe(&mut self, now: Nanos, event: &Event<'_>, devices: &[DeviceView], wishes: &mut Wishes) {
        self.rest.observe(now, event, devices, wishes);
        let is_pinned = |extent: LogicalExtent| self.pinned.get(extent.0 as usize).copied().unwrap_or(false);
        wishes.moves.retain(|wished| !is_pinned(wished.extent));
    }

    fn observes(&self) -> bool {
        self.rest.observes()
    }

    fn needs_free_extents(&self) -> bool {
        self.rest.needs_free_extents()
    }

    fn redirect(&mut self, write: &Rewrite<'_>, devices: &[DeviceView]) -> Option<DeviceIndex> {
        let is_pinned = self.pinned.get(write.extent.0 as usize).copied().unwrap_or(false);
        if is_pinned { None } else { self.rest.redirect(write, devices) }
    }

    fn redirects(&self) -> bool {
        self.rest.redirects()
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

    /// Ranges that overlap at random are found as one after the other finds them.
    #[test]
    fn the_first_range_with_an_address_counts() {
        let mut rng = esker_core::Rng::new(7);
        for _ in 0..200 {
            let range = |_| PinnedRange {
                start: Bytes(rng.below(40)),
                length: Bytes(1 + rng.below(12)),
                device: rng.below(3) as u16,
            };
            let ranges: Vec<PinnedRange> = (0..6).map(range).collect();
            let one_by_one = |at: u64| {
                let holds = |range: &&PinnedRange| at.checked_sub(range.start.0).is_some_and(|to| to < range.length.0);
                ranges.iter().find(holds).map(|range| range.device)
            };
            let rest = in_turns().build(PLACEMENTS, 3).unwrap();
            let policy = Pinned { ranges: apart(&ranges), rest, pinned: Vec::new() };
            for at in 0..60 {
                let found = policy.range(Bytes(at)).map(|range| range.device);
                assert_eq!(found, one_by_one(at), "{at} of {ranges:?}");
            }
        }
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
