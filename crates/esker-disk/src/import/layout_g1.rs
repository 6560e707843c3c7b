//! `dm_layout_g1`: zones, skews, spares and slips.

use super::block::{Block, Value};
use super::error::ImportError;
use super::remarks::Remarks;
use crate::{LayoutSettings, SpareUnit, ZoneSettings};

/// Zones and the order in which addresses fill them.
pub(super) struct LaidOut {
    pub(super) zones: Vec<ZoneSettings>,
    pub(super) layout: LayoutSettings,
}

/// The meaning of a number of the sparing scheme.
#[derive(Clone, Copy)]
struct Sparing {
    unit: SpareUnit,
    /// Number of cylinders of a range.
    range: u32,
    first: bool,
    /// Whether spares and slips are whole tracks.
    whole_tracks: bool,
    /// Whether slipped sectors use up spares at the end of the disk, not those of their unit.
    slips_to_end: bool,
    /// Whether the number of spares means nothing: the only spares are at the end of the disk.
    none: bool,
}

impl Sparing {
    fn of(scheme: i64, range: u32) -> Self {
        let unit = match scheme {
            3 => SpareUnit::Track,
            2 | 4 | 5 | 6 => SpareUnit::Cylinder,
            8 => SpareUnit::Range,
            _ => SpareUnit::Zone,
        };
        Self {
            unit,
            range,
            first: matches!(scheme, 5 | 6),
            whole_tracks: scheme == 1,
            slips_to_end: matches!(scheme, 4 | 6 | 7 | 10),
            none: matches!(scheme, 0 | 7),
        }
    }
}

/// Reads the block `block` of a drive with `surfaces` surfaces and `cylinders` cylinders.
pub(super) fn read(
    block: &Block,
    surfaces: u32,
    cylinders: u32,
    remarks: &mut Remarks,
) -> Result<LaidOut, ImportError> {
    let mapping = block.whole("LBN-to-PBN mapping scheme", 0, 2)?;
    let scheme = block.whole("Sparing scheme used", 0, 10)?;
    // The range means nothing to the other schemes.
    let range = if scheme == 8 { block.whole("Rangesize for sparing", 1, 1 << 22)? as u32 } else { 1 };
    let sparing = Sparing::of(scheme, range);
    let in_turns = in_turns(block)?.unwrap_or(false);
    let mut zones: Vec<ZoneSettings> = Vec::new();
    let mut next_cylinder = 0;
    let list = block.list("Zones")?;
    if list.is_empty() {
        return Err(block.error(block.required("Zones")?.line, "`Zones` is empty"));
    }
    for (line, value) in list {
        let Value::Block(zone) = value else {
            return Err(block.error(*line, "`Zones` contains something that is no block"));
        };
        let first = zone.count("First cylinder number", 1 << 22)?;
        let last = zone.count("Last cylinder number", 1 << 22)?;
        let wrong = |key: &str, text: String| Err(zone.error(zone.required(key)?.line, text));
        if first < next_cylinder {
            let text = format!("the zone begins at cylinder {first}, but the one before ends at {}", next_cylinder - 1);
            return wrong("First cylinder number", text);
        }
        let text = format!("the zone goes from cylinder {first} to {last} of a drive with {cylinders}");
        // Some published files are off by one.
        if last < first || last >= cylinders + (cylinders / 100).max(1) {
            return wrong("Last cylinder number", text);
        }
        if last >= cylinders {
            remarks.add(zone, zone.required("Last cylinder number")?.line, text);
        }
        if let Some(before) = zones.last_mut() {
            before.unused_cylinders = first - next_cylinder;
        }
        next_cylinder = last + 1;
        zones.push(read_zone(zone, last - first + 1, surfaces, sparing, in_turns, remarks)?);
    }
    let layout = LayoutSettings {
        alternate_surfaces: mapping != 0,
        alternate_across_zones: mapping == 2,
        spare_unit: sparing.unit,
        spare_range: range,
        spares_first: sparing.first,
        slips_shift_tracks: matches!(sparing.unit, SpareUnit::Cylinder | SpareUnit::Track)
            && zones.iter().any(|zone| !zone.slips.is_empty()),
        ..LayoutSettings::default()
    };
    Ok(LaidOut { zones, layout })
}

fn read_zone(
    zone: &Block,
    cylinders: u32,
    surfaces: u32,
    sparing: Sparing,
    in_turns: bool,
    remarks: &mut Remarks,
) -> Result<ZoneSettings, ImportError> {
    let track = zone.whole("Blocks per track", 1, 1 << 20)? as u32;
    let in_turns = self::in_turns(zone)?.unwrap_or(in_turns);
    let angle = |key| -> Result<u32, ImportError> {
        let sectors = zone.number(key)?.unwrap_or(0.0) * if in_turns { f64::from(track) } else { 1.0 };
        // Turns are accurate to half a sector. Sectors are whole.
        let sectors = if in_turns { sectors.round() } else { sectors.trunc() };
        Ok(sectors.rem_euclid(f64::from(track)) as u32)
    };
    let spares = zone.whole("Number of spares", 0, 1 << 32)? as u64;
    let spares = if sparing.none { 0 } else { spares * if sparing.whole_tracks { u64::from(track) } else { 1 } };
    let (slips, slipped_to_end) = slips(zone, cylinders, surfaces, track, sparing, spares, remarks)?;
    let spares = spares + slipped_to_end;
    let entry = zone.required("Number of spares")?;
    let spare_sectors = u32::try_from(spares).map_err(|_| {
        zone.error(entry.line, format!("the zone has {spares} spare sectors, more than can be modelled"))
    })?;
    let defects = zone.list("defects")?.len();
    if defects > 0 {
        let line = zone.required("defects")?.line;
        remarks.add(zone, line, format!("{} remapped sectors are not modelled", defects / 2));
    }
    Ok(ZoneSettings {
        track_skew: Some(angle("Skew for track switch")?),
        cylinder_skew: Some(angle("Skew for cylinder switch")?),
        spare_sectors,
        front_sectors: zone.whole("Empty space at zone front", 0, i64::from(u32::MAX))? as u32,
        first_sector_offset: angle("Offset of first block")?,
        slips,
        ..ZoneSettings::new(cylinders, track)
    })
}

/// Returns true if angles are given in turns; `None` if the block does not say.
fn in_turns(block: &Block) -> Result<Option<bool>, ImportError> {
    if block.entry("Skew units").is_none() {
        return Ok(None);
    }
    match block.words("Skew units")? {
        ("revolutions", _) => Ok(Some(true)),
        ("sectors", _) => Ok(Some(false)),
        (other, line) => Err(block.error(line, format!("`Skew units` is `{other}`, expected revolutions or sectors"))),
    }
}

/// Returns the sectors that are left out, and how many of them take their spares from the end of the zone.
fn slips(
    zone: &Block,
    cylinders: u32,
    surfaces: u32,
    track: u32,
    sparing: Sparing,
    spares: u64,
    remarks: &mut Remarks,
) -> Result<(Vec<(u64, u32)>, u64), ImportError> {
    let width = if sparing.whole_tracks { u64::from(track) } else { 1 };
    let cylinder = u64::from(surfaces) * u64::from(track);
    let sectors = u64::from(cylinders) * cylinder;
    let mut firsts = Vec::new();
    for (line, number) in zone.numbers("slips")? {
        let first = (number as u64).saturating_mul(width);
        if number.fract() != 0.0 || number < 0.0 || first.saturating_add(width) > sectors {
            return Err(zone.error(line, format!("the slip {number} does not lie in its zone")));
        }
        firsts.push(first);
    }
    firsts.sort_unstable();
    firsts.dedup();
    let line = zone.required("slips")?.line;
    if sparing.slips_to_end && sparing.unit != SpareUnit::Zone {
        if !firsts.is_empty() {
            remarks.add(
                zone,
                line,
                format!("{} slips that push sectors to the disk's end are not modelled", firsts.len()),
            );
        }
        return Ok((Vec::new(), 0));
    }
    let to_end = if sparing.slips_to_end { firsts.len() as u64 } else { 0 };
    let unit = match sparing.unit {
        SpareUnit::Track => u64::from(track),
        SpareUnit::Cylinder => cylinder,
        SpareUnit::Range => cylinder * u64::from(sparing.range.min(cylinders)),
        SpareUnit::Zone => sectors,
    };
    let join = sparing.unit == SpareUnit::Zone;
    let (kept, dropped) = keep_slips(&firsts, (unit, sectors), width as u32, spares + to_end, join);
    if dropped > 0 {
        remarks.add(zone, line, format!("{dropped} slips are more than there are spares: they are not modelled"));
    }
    Ok((kept, to_end))
}

/// Returns slips of `width` sectors as ranges, with at most `most` of their sectors in each unit of the zone's
/// `sectors`, and the number of slips beyond that. Neighbours become one range if `join` is set.
fn keep_slips(
    firsts: &[u64],
    (unit, sectors): (u64, u64),
    width: u32,
    most: u64,
    join: bool,
) -> (Vec<(u64, u32)>, usize) {
    let (mut kept, mut of_unit, mut used) = (Vec::<(u64, u32)>::new(), u64::MAX, 0);
    let mut dropped = 0;
    for &first in firsts {
        if first / unit != of_unit {
            (of_unit, used) = (first / unit, 0);
        }
        // The cylinders after the last whole unit have no spares.
        let left = unit.min(sectors - of_unit * unit);
        if used + u64::from(width) > left.saturating_sub(unit.saturating_sub(most)) {
            dropped += 1;
            continue;
        }
        used += u64::from(width);
        match kept.last_mut() {
            Some((before, count)) if join && *before + u64::from(*count) == first => *count += width,
            _ => kept.push((first, width)),
        }
    }
    (kept, dropped)
}
