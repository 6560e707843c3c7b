//! `dm_mech_g1`: rotation and seek times.

use std::path::PathBuf;

use esker_core::Nanos;

use super::block::Block;
use super::error::{ImportError, Place};
use super::syntax::{ReadFile, beside, text_of};
use crate::{Picoseconds, RotationSpeed, SeekFormula, SeekSettings};

/// Rotation and arm of a drive.
pub(super) struct Arm {
    pub(super) speed: RotationSpeed,
    pub(super) seek: SeekSettings,
    pub(super) head_switch: Nanos,
    /// In nanoseconds; negative if a write may begin earlier than a read.
    pub(super) write_settle: i64,
}

/// Reads the block `mechanics` of a drive with `cylinders` cylinders.
pub(super) fn read(
    mechanics: &Block,
    cylinders: u32,
    read: ReadFile<'_>,
    files: &mut Vec<PathBuf>,
) -> Result<Arm, ImportError> {
    if mechanics.kind != "dm_mech_g1" {
        let found = &mechanics.kind;
        return Err(mechanics
            .error(mechanics.line, format!("mechanics of the kind `{found}` cannot be imported"))
            .with_hint("dm_mech_g1 can"));
    }
    let (kind, line) = mechanics.words("Access time type")?;
    if kind != "trackSwitchPlusRotation" {
        let text = format!("`Access time type` is `{kind}`, expected `trackSwitchPlusRotation`");
        return Err(mechanics.error(line, text).with_hint("a drive without rotation is `kind = \"constant\"`"));
    }
    Ok(Arm {
        speed: RotationSpeed::rpm(mechanics.whole("Rotation speed (in rpms)", 60, 1_000_000)? as u64),
        seek: seek(mechanics, cylinders, read, files)?,
        head_switch: mechanics.time("Head switch time")?,
        write_settle: mechanics.signed_time("Add. write settling delay")?,
    })
}

fn seek(
    mechanics: &Block,
    cylinders: u32,
    read: ReadFile<'_>,
    files: &mut Vec<PathBuf>,
) -> Result<SeekSettings, ImportError> {
    let (kind, line) = mechanics.words("Seek type")?;
    let (one, average, full) = ("Single cylinder seek time", "Average seek time", "Full strobe seek time");
    match kind {
        "extracted" => extracted(mechanics, read, files),
        "hpl" => {
            // A sixth value other than -1 means that the seek over one cylinder is given.
            let (formula, given) = formula(mechanics)?;
            let first = if given { vec![mechanics.time(one)?] } else { vec![] };
            Ok(SeekSettings::Formula(SeekFormula { first, ..formula }))
        }
        "hplplus10" => {
            let times = mechanics.numbers("First ten seek times")?;
            if times.len() != 10 {
                let line = mechanics.required("First ten seek times")?.line;
                return Err(mechanics.error(line, format!("`First ten seek times` has {} times", times.len())));
            }
            let first =
                times.iter().map(|(line, time)| millis(&mechanics.place(*line), *time)).collect::<Result<_, _>>()?;
            Ok(SeekSettings::Formula(SeekFormula { first, ..formula(mechanics)?.0 }))
        }
        "constant" => Ok(SeekSettings::Points(vec![(1, mechanics.time("Constant seek time")?)])),
        "linear" => {
            let (near, middle, far) = (mechanics.time(one)?, mechanics.time(average)?, mechanics.time(full)?);
            let mut points = vec![(1, near), (cylinders / 3, middle), (cylinders - 1, far)];
            points.dedup_by(|next, before| next.0 <= before.0);
            Ok(SeekSettings::Points(points))
        }
        "curve" => Ok(curve(cylinders, mechanics.time(one)?, mechanics.time(average)?, mechanics.time(full)?)),
        other => {
            let text =
                format!("`Seek type` is `{other}`, expected extracted, hpl, hplplus10, constant, linear or curve");
            Err(mechanics.error(line, text))
        }
    }
}

/// Returns the two-piece formula of Ruemmler and Wilkes (1994), and whether the seek over one cylinder is given in
/// addition.
fn formula(mechanics: &Block) -> Result<(SeekFormula, bool), ImportError> {
    let values = mechanics.numbers("HPL seek equation values")?;
    let line = mechanics.required("HPL seek equation values")?.line;
    let [(_, split), a, b, c, e, (_, sixth)] = values[..] else {
        let text = format!("`HPL seek equation values` has {} numbers, expected 6", values.len());
        return Err(mechanics.error(line, text));
    };
    if !(0.0..=f64::from(1 << 22)).contains(&split) {
        return Err(mechanics.error(line, format!("`HPL seek equation values` divides at {split} cylinders")));
    }
    let time = |(line, value): (usize, f64)| millis(&mechanics.place(line), value);
    let fine = |(line, value): (usize, f64)| fine(&mechanics.place(line), value);
    Ok((
        SeekFormula { a: time(a)?, b: fine(b)?, split: split.ceil() as u32, c: time(c)?, e: fine(e)?, first: vec![] },
        sixth != -1.0,
    ))
}

/// Returns a hundred points of the three-point curve of Lee and Katz (1993): a sqrt(d - 1) + b (d - 1) + c.
fn curve(cylinders: u32, one: Nanos, average: Nanos, full: Nanos) -> SeekSettings {
    let (one, average, full) = (one.0 as f64, average.0 as f64, full.0 as f64);
    let count = f64::from(cylinders);
    let a = (-10.0 * one + 15.0 * average - 5.0 * full) / (3.0 * count.sqrt());
    let b = (7.0 * one - 15.0 * average + 8.0 * full) / (3.0 * count);
    let mut points: Vec<(u32, Nanos)> = Vec::new();
    for step in 0..=100 {
        let share = f64::from(step) / 100.0;
        let distance = (1.0 + share * share * (count - 2.0).max(0.0)).round();
        let time = a * (distance - 1.0).sqrt() + b * (distance - 1.0) + one;
        if points.last().is_none_or(|last| last.0 < distance as u32) {
            points.push((distance as u32, Nanos(time.max(0.0).round() as u64)));
        }
    }
    SeekSettings::Points(points)
}

/// Reads a file of `distance, milliseconds` lines. Its first line may state the number of lines; a third column is
/// ignored.
fn extracted(mechanics: &Block, read: ReadFile<'_>, files: &mut Vec<PathBuf>) -> Result<SeekSettings, ImportError> {
    let (name, line) = mechanics.words("Full seek curve")?;
    let path = beside(&mechanics.file, name);
    let text = text_of(&path, read)
        .map_err(|problem| mechanics.error(line, format!("it names the seek times `{}`: {problem}", path.display())))?;
    files.push(path.clone());
    let mut points: Vec<(u32, Nanos)> = Vec::new();
    let (mut stated, mut last) = (None, 1);
    for (index, text) in text.lines().enumerate() {
        let place = Place { file: &path, line: index + 1 };
        last = index + 1;
        let text = text.split('#').next().unwrap_or("").trim();
        if text.is_empty() {
            continue;
        }
        if let (true, Some((_, count))) = (points.is_empty(), text.split_once(':')) {
            let count = count.trim().parse::<usize>();
            stated = Some(count.map_err(|_| ImportError::new(&place, "expected the number of distances behind `:`"))?);
            continue;
        }
        let wrong = || ImportError::new(&place, "expected a distance in cylinders, `,` and milliseconds");
        let (distance, rest) = text.split_once(',').ok_or_else(wrong)?;
        let time = rest.split(',').next().unwrap_or("").trim().parse::<f64>().map_err(|_| wrong())?;
        let distance: u32 = distance.trim().parse().map_err(|_| wrong())?;
        if distance <= points.last().map_or(0, |(before, _)| *before) {
            return Err(ImportError::new(
                &place,
                format!("the distance {distance} does not lie beyond the one before"),
            ));
        }
        points.push((distance, millis(&place, time)?));
    }
    let end = Place { file: &path, line: last };
    match stated {
        Some(count) if count != points.len() => {
            let text = format!("it states {count} distances and has {}", points.len());
            Err(ImportError::new(&end, text).with_hint("the file is cut short, or lines are missing"))
        }
        _ if points.is_empty() => Err(ImportError::new(&end, "there are no seek times in it")),
        _ => Ok(SeekSettings::Points(points)),
    }
}

/// Converts milliseconds to nanoseconds.
fn millis(place: &Place<'_>, value: f64) -> Result<Nanos, ImportError> {
    if !(0.0..=10_000.0).contains(&value) {
        return Err(ImportError::new(place, format!("a seek takes {value} ms, expected 0 to 10,000")));
    }
    Ok(Nanos((value * 1e6).round() as u64))
}

/// Converts milliseconds to picoseconds.
fn fine(place: &Place<'_>, value: f64) -> Result<Picoseconds, ImportError> {
    if !(0.0..=10_000.0).contains(&value) {
        return Err(ImportError::new(place, format!("a seek takes {value} ms a cylinder, expected 0 to 10,000")));
    }
    Ok(Picoseconds((value * 1e9).round() as u64))
}
