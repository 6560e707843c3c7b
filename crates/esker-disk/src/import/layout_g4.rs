//! `dm_layout_g4`: a tree of repeated patterns of tracks. The tree is walked track by track, to find the zones, the
//! order of tracks and the skews that come closest to it.

use std::collections::BTreeMap;

use super::block::{Block, Value};
use super::error::ImportError;
use super::layout_g1::LaidOut;
use super::remarks::Remarks;
use crate::{LayoutSettings, ZoneSettings};

/// More tracks than this are a mistake: the largest drives have a few million.
const TRACKS_MAX: usize = 1 << 24;
/// Most indices within each other. Published layouts have three or four.
const DEPTH_MAX: usize = 16;

/// A track, in order of addresses.
#[derive(Clone, Copy, Debug)]
struct Track {
    cylinder: i64,
    head: u32,
    sectors_per_track: u32,
    sectors: u32,
    /// Where its first sector begins, in turns.
    angle: f64,
}

/// An item of an index: a pattern of tracks or another index, repeated several times.
#[derive(Clone, Copy, Debug)]
struct Item {
    line: usize,
    cylinder: i64,
    angle: f64,
    times: u64,
    cylinders_each: i64,
    angle_each: f64,
    child: Child,
}

#[derive(Clone, Copy, Debug)]
enum Child {
    Track { pattern: usize, head: u32 },
    Index(usize),
}

/// Reads the block `block` of a drive with `surfaces` surfaces and `cylinders` cylinders.
pub(super) fn read(
    block: &Block,
    surfaces: u32,
    cylinders: u32,
    remarks: &mut Remarks,
) -> Result<LaidOut, ImportError> {
    let tree = Tree::read(block, surfaces)?;
    let mut tracks = Vec::new();
    let root = tree.indices.len() - 1;
    tree.walk(root, 0, 0.0, 0, &mut tracks)?;
    let line = block.line;
    // Some published files are off by one.
    let within = 0..i64::from(cylinders + (cylinders / 100).max(1));
    if let Some(track) = tracks.iter().find(|track| !within.contains(&track.cylinder)) {
        return Err(block.error(line, format!("a track lies on cylinder {} of {cylinders}", track.cylinder)));
    }
    let laid_out = summarise(&tracks, surfaces).ok_or_else(|| block.error(line, "the layout has no tracks"))?;
    for key in ["Slips", "Remaps"] {
        let count = block.list(key)?.len();
        if count > 0 {
            let line = block.required(key)?.line;
            remarks.add(block, line, format!("`{key}`: {count} numbers are not modelled; the sectors count as spares"));
        }
    }
    remarks.add(block, line, compare(&tracks, surfaces, &laid_out));
    Ok(laid_out)
}

struct Tree<'a> {
    block: &'a Block,
    /// First sector, last sector, and number of sectors of the track.
    patterns: Vec<[u32; 3]>,
    indices: Vec<Vec<Item>>,
}

impl<'a> Tree<'a> {
    fn read(block: &'a Block, surfaces: u32) -> Result<Self, ImportError> {
        let numbers = block.numbers("TP")?;
        let wrong = |line, text: &str| block.error(line, text);
        let line = block.required("TP")?.line;
        if numbers.is_empty() || numbers.len() % 3 != 0 {
            return Err(wrong(line, "`TP` needs three numbers for each pattern"));
        }
        let pattern = |triple: &[(usize, f64)]| {
            let [first, last, all] = [triple[0].1, triple[1].1, triple[2].1];
            let whole = [first, last, all].iter().all(|n| n.fract() == 0.0 && (0.0..=f64::from(1 << 20)).contains(n));
            if !whole || first > last || last >= all {
                return Err(wrong(
                    triple[0].0,
                    "a pattern needs a first and a last sector below its number of sectors",
                ));
            }
            Ok([first as u32, last as u32, all as u32])
        };
        let patterns: Vec<_> = numbers.chunks(3).map(pattern).collect::<Result<_, _>>()?;
        let mut indices = Vec::new();
        for (line, index) in block.list("IDX")? {
            let Value::List(words) = index else {
                return Err(wrong(*line, "`IDX` contains something that is no list"));
            };
            indices.push(read_items(block, words, patterns.len(), indices.len(), surfaces)?);
        }
        if indices.is_empty() {
            return Err(wrong(block.required("IDX")?.line, "`IDX` is empty"));
        }
        Ok(Self { block, patterns, indices })
    }

    /// Adds the tracks of `index`, which begins at this cylinder and angle.
    fn walk(
        &self,
        index: usize,
        cylinder: i64,
        angle: f64,
        depth: usize,
        tracks: &mut Vec<Track>,
    ) -> Result<(), ImportError> {
        for item in &self.indices[index] {
            let too_much = |text| self.block.error(item.line, text);
            if depth >= DEPTH_MAX {
                return Err(too_much("indices are nested too deeply"));
            }
            for time in 0..item.times {
                if tracks.len() >= TRACKS_MAX {
                    return Err(too_much("the layout has more tracks than any drive"));
                }
                let cylinder = cylinder + item.cylinder + time as i64 * item.cylinders_each;
                let angle = angle + item.angle + time as f64 * item.angle_each;
                match item.child {
                    Child::Index(child) => self.walk(child, cylinder, angle, depth + 1, tracks)?,
                    Child::Track { pattern, head } => {
                        let [first, last, sectors_per_track] = self.patterns[pattern];
                        let angle = (angle + f64::from(first) / f64::from(sectors_per_track)).rem_euclid(1.0);
                        tracks.push(Track { cylinder, head, sectors_per_track, sectors: last - first + 1, angle });
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns the items of one index. Each has its place (address, cylinder, turns), what one instance covers (addresses,
/// cylinders, turns), what all instances cover (addresses, cylinders), and its child: `TRACK, pattern, head` or `IDX,
/// index`.
fn read_items(
    block: &Block,
    words: &[(usize, Value)],
    patterns: usize,
    indices: usize,
    surfaces: u32,
) -> Result<Vec<Item>, ImportError> {
    let mut items = Vec::new();
    let mut rest = words;
    while let Some((line, _)) = rest.first() {
        let wrong = |text: &str| block.error(*line, text);
        let word = |position: usize| match rest.get(position) {
            Some((_, Value::Words(word))) => Ok(word.as_str()),
            _ => Err(wrong("an item of an index is cut short")),
        };
        let number = |position: usize| -> Result<f64, ImportError> {
            let number = word(position)?.parse::<f64>().ok().filter(|number| number.abs() < 1e15);
            number.ok_or_else(|| wrong("expected a number in an item of an index"))
        };
        let (each, all) = (number(3)?, number(6)?);
        if each < 1.0 || all < each || all % each != 0.0 {
            return Err(wrong("the addresses of an item have to be a multiple of those of one instance"));
        }
        let down = number(7)? < 0.0;
        let position = number(9)?;
        let (child, width) = match word(8)? {
            "TRACK" => {
                let head = number(10)?;
                if !(0.0..patterns as f64).contains(&position) || !(0.0..f64::from(surfaces)).contains(&head) {
                    return Err(wrong("an item names a pattern or a head that is not there"));
                }
                (Child::Track { pattern: position as usize, head: head as u32 }, 11)
            }
            "IDX" if (0.0..indices as f64).contains(&position) => (Child::Index(position as usize), 10),
            "IDX" => return Err(wrong("an item names an index that does not come before it")),
            _ => return Err(wrong("the child of an item is `TRACK` or `IDX`")),
        };
        let cylinders_each = number(4)? as i64;
        items.push(Item {
            line: *line,
            cylinder: number(1)? as i64,
            angle: number(2)?,
            times: (all / each) as u64,
            cylinders_each: if down { -cylinders_each } else { cylinders_each },
            angle_each: number(5)?,
            child,
        });
        rest = &rest[width..];
    }
    Ok(items)
}

/// Returns the most frequent value.
fn most_common<T: Ord + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let mut counts = BTreeMap::new();
    values.for_each(|value| *counts.entry(value).or_insert(0u32) += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map(|(value, _)| value)
}

fn summarise(tracks: &[Track], surfaces: u32) -> Option<LaidOut> {
    // How many consecutive tracks lie on one head, and whether the next group begins with the head of the last one.
    let stretches: Vec<&[Track]> =
        tracks.chunk_by(|a, b| a.head == b.head && (a.cylinder - b.cylinder).abs() == 1).collect();
    let group = most_common(stretches.iter().map(|stretch| stretch.len()))? as u32;
    let ends = stretches.windows(2).filter(|pair| pair[0].len() == group as usize && pair[1].len() == group as usize);
    let next_group = ends.filter(|pair| !same_group(pair[0], pair[1]));
    let alternate =
        most_common(next_group.map(|pair| pair[0][0].head == pair[1][0].head)).unwrap_or(false) && surfaces > 1;
    let layout =
        LayoutSettings { cylinders_per_group: group.max(1), alternate_surfaces: alternate, ..Default::default() };
    Some(LaidOut { zones: zones(tracks, surfaces, group), layout })
}

/// Returns true if two stretches of tracks lie on the same cylinders.
fn same_group(a: &[Track], b: &[Track]) -> bool {
    let ends = |stretch: &[Track]| {
        let (first, last) = (stretch[0].cylinder, stretch[stretch.len() - 1].cylinder);
        (first.min(last), first.max(last))
    };
    ends(a) == ends(b)
}

/// Returns the zones: cylinders on which most tracks have the same number of sectors.
fn zones(tracks: &[Track], surfaces: u32, group: u32) -> Vec<ZoneSettings> {
    let mut by_cylinder: BTreeMap<i64, Vec<&Track>> = BTreeMap::new();
    tracks.iter().for_each(|track| by_cylinder.entry(track.cylinder).or_default().push(track));
    // Tracks that are only partly used for data have their own pattern. The longest track of a cylinder shows its zone.
    let width = |tracks: &[&Track]| tracks.iter().map(|track| track.sectors_per_track).max().unwrap_or(1);
    let cylinders: Vec<(i64, u32)> = by_cylinder.iter().map(|(cylinder, tracks)| (*cylinder, width(tracks))).collect();
    let mut bounds: Vec<(i64, i64, u32)> = Vec::new();
    for (cylinder, width) in cylinders {
        match bounds.last_mut() {
            Some((_, end, before)) if *before == width => *end = cylinder + 1,
            _ => bounds.push((cylinder, cylinder + 1, width)),
        }
    }
    let mut zones: Vec<ZoneSettings> = Vec::new();
    let mut next = 0;
    for (first, end, width) in bounds {
        if let Some(before) = zones.last_mut() {
            before.unused_cylinders = (first - next) as u32;
        }
        next = end;
        let own: Vec<&Track> = tracks.iter().filter(|track| (first..end).contains(&track.cylinder)).collect();
        zones.push(zone(&own, (end - first) as u32, width, surfaces, group));
    }
    zones
}

fn zone(own: &[&Track], cylinders: u32, width: u32, surfaces: u32, group: u32) -> ZoneSettings {
    let turns = |chosen: &dyn Fn(&Track, &Track) -> bool| {
        let pairs = own.windows(2).filter(|pair| chosen(pair[0], pair[1]));
        let mut skews: Vec<f64> = pairs.map(|pair| (pair[1].angle - pair[0].angle).rem_euclid(1.0)).collect();
        skews.sort_by(f64::total_cmp);
        let median = skews.get(skews.len() / 2)?;
        Some((median * f64::from(width)).round() as u32 % width)
    };
    let place = |track: &Track| (track.cylinder - own[0].cylinder).div_euclid(i64::from(group));
    let data: u64 = own.iter().map(|track| u64::from(track.sectors)).sum();
    let raw = u64::from(cylinders) * u64::from(surfaces) * u64::from(width);
    ZoneSettings {
        track_skew: turns(&|a, b| a.head != b.head && place(a) == place(b)),
        cylinder_skew: turns(&|a, b| {
            a.head == b.head && (a.cylinder - b.cylinder).abs() == 1 && (group == 1 || place(a) == place(b))
        })
        .or_else(|| turns(&|a, b| a.cylinder != b.cylinder)),
        group_skew: if group > 1 { turns(&|a, b| place(a) != place(b)) } else { None },
        spare_sectors: u32::try_from(raw.saturating_sub(data)).unwrap_or(0),
        first_sector_offset: (own[0].angle * f64::from(width)).round() as u32 % width,
        ..ZoneSettings::new(cylinders, width)
    }
}

/// Describes in words how close the zones come to the layout.
fn compare(tracks: &[Track], surfaces: u32, laid_out: &LaidOut) -> String {
    let group = i64::from(laid_out.layout.cylinders_per_group);
    let mut starts = BTreeMap::new();
    let mut begin = 0;
    for zone in &laid_out.zones {
        starts.insert(begin, zone);
        begin += i64::from(zone.cylinders + zone.unused_cylinders);
    }
    let mut next = BTreeMap::new();
    let same = tracks.iter().filter(|track| {
        let Some((start, _)) = starts.range(..=track.cylinder).next_back() else { return false };
        // The number of the track among those of its zone, in order of addresses.
        let index: &mut i64 = next.entry(*start).or_insert(0);
        let found = *index / (group * i64::from(surfaces)) == (track.cylinder - start) / group;
        *index += 1;
        found
    });
    let share = 100.0 * same.count() as f64 / tracks.len() as f64;
    format!(
        "the layout has {} tracks; it is taken as {} zones, with {group} cylinders of a surface at a time: \
         {share:.2} % of the tracks lie in the group of cylinders that the layout gives, skews are medians of zones",
        tracks.len(),
        laid_out.zones.len(),
    )
}
