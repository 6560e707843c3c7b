//! Maps of ranges: a text that says which device each range of addresses belongs to.
//!
//! ```text
//! # Lines that begin with `#` and empty ones do not count.
//! start_bytes,length_bytes,device
//! 0,1048576,flash
//! 1048576,40894464,disk
//! ```
//!
//! Numbers are whole bytes. A device is named as whoever uses the map names it: a child of a hybrid in an experiment, a
//! device of a volume. Where ranges overlap, the first one counts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use esker_core::registry::NotFound;
use esker_core::{Bytes, Hint};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The line before the ranges.
const HEADER: &str = "start_bytes,length_bytes,device";

/// What to do about a line that cannot be read.
const EXAMPLE: &str = "a range is a line such as 1048576,4194304,flash: first byte, bytes, device";

/// A range of addresses, and the device for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinnedRange {
    /// The first byte.
    #[serde(default)]
    pub start: Bytes,
    /// Bytes.
    pub length: Bytes,
    /// The device, by its place in `children`, from 0. Where extents are placed on their first write, and it is full by
    /// then, the next one with room is taken; they move to it once it has room.
    pub device: u16,
}

/// Ranges of addresses, each with the name of its device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeMap {
    /// The devices by their places in `names`.
    ranges: Vec<PinnedRange>,
    /// The devices, and the line that names each first.
    names: Vec<(String, u64)>,
}

/// What is wrong with the text of a map.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct RangeMapError {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong there.
    pub message: String,
    hint: Option<String>,
}

impl RangeMapError {
    fn new(line: u64, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { line, message: message.into(), hint: Some(hint.into()) }
    }
}

impl Hint for RangeMapError {
    fn hint(&self) -> Option<String> {
        self.hint.clone()
    }
}

impl RangeMap {
    /// A map of `ranges`, whose devices are places in `names` (asserted).
    pub fn new(ranges: Vec<PinnedRange>, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names: Vec<(String, u64)> = names.into_iter().map(|name| (name.into(), 1)).collect();
        assert!(ranges.iter().all(|range| usize::from(range.device) < names.len()), "each device has a name");
        Self { ranges, names }
    }

    /// Reads the text of a map.
    ///
    /// # Errors
    /// The first line that is wrong.
    pub fn parse(text: &str) -> Result<Self, RangeMapError> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let header = |line: u64| {
            RangeMapError::new(line, "this is no map of ranges", format!("its first line has to be {HEADER}"))
        };
        let (first, head) = lines.next().ok_or_else(|| header(1))?;
        if !head.split(',').map(str::trim).eq(HEADER.split(',')) {
            return Err(header(first));
        }
        let mut map = Self { ranges: Vec::new(), names: Vec::new() };
        let mut places: BTreeMap<&str, u16> = BTreeMap::new();
        for (line, text) in lines {
            let Line { start, length, device: name } = Line::read(line, text)?;
            let device = match places.get(name) {
                Some(&place) => place,
                None => {
                    let place = u16::try_from(places.len())
                        .map_err(|_| RangeMapError::new(line, "more than 65,536 devices", "use fewer"))?;
                    places.insert(name, place);
                    map.names.push((name.to_string(), line));
                    place
                }
            };
            map.ranges.push(PinnedRange { start, length, device });
        }
        match map.ranges.is_empty() {
            true => Err(RangeMapError::new(first, "no range follows", EXAMPLE)),
            false => Ok(map),
        }
    }

    /// Returns the ranges for `devices`, each by its place there.
    ///
    /// # Errors
    /// If the map names a device that is none of them.
    pub fn on<'a>(&self, devices: impl IntoIterator<Item = &'a str>) -> Result<Arc<[PinnedRange]>, RangeMapError> {
        let devices: Vec<&str> = devices.into_iter().collect();
        let place = |(name, line): &(String, u64)| {
            let found = devices.iter().position(|device| device == name).and_then(|place| u16::try_from(place).ok());
            found.ok_or_else(|| {
                let problem = NotFound::new("device here", name, devices.iter().copied());
                RangeMapError { line: *line, message: problem.to_string(), hint: problem.hint() }
            })
        };
        let places: Vec<u16> = self.names.iter().map(place).collect::<Result<_, _>>()?;
        let moved = |range: &PinnedRange| PinnedRange { device: places[usize::from(range.device)], ..range.clone() };
        Ok(self.ranges.iter().map(moved).collect())
    }
}

/// The text of the map.
impl fmt::Display for RangeMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        for PinnedRange { start, length, device } in &self.ranges {
            writeln!(f, "{},{},{}", start.0, length.0, self.names[usize::from(*device)].0)?;
        }
        Ok(())
    }
}

/// A line with a range.
struct Line<'a> {
    start: Bytes,
    length: Bytes,
    device: &'a str,
}

impl<'a> Line<'a> {
    fn read(line: u64, text: &'a str) -> Result<Self, RangeMapError> {
        let wrong = |message: String| RangeMapError::new(line, message, EXAMPLE);
        let mut fields = text.splitn(3, ',').map(str::trim);
        let (Some(start), Some(length), Some(device)) = (fields.next(), fields.next(), fields.next()) else {
            return Err(wrong(format!("expected three fields, found `{}`", shown(text))));
        };
        let bytes = |name: &str, field: &str| {
            let digits = !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit());
            let number: Option<u64> = field.parse().ok().filter(|_| digits);
            number.ok_or_else(|| wrong(format!("`{name}` is a whole number of bytes, and not `{}`", shown(field))))
        };
        let (start, length) = (bytes("start_bytes", start)?, bytes("length_bytes", length)?);
        if device.is_empty() {
            return Err(wrong("`device` is empty".to_string()));
        }
        if length == 0 {
            return Err(wrong("the range is empty".to_string()));
        }
        if start.checked_add(length).is_none() {
            return Err(wrong("the range ends beyond 16 EiB".to_string()));
        }
        Ok(Self { start: Bytes(start), length: Bytes(length), device })
    }
}

/// The beginning of a text that may be long.
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < text.len() {
        shown += "...";
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAP: &str =
        "# Of a test.\r\nstart_bytes, length_bytes, device\r\n\n0,4096,a b\n8192 , 4096,disk, old\n0,1,a b\n";

    fn range(start: u64, length: u64, device: u16) -> PinnedRange {
        PinnedRange { start: Bytes(start), length: Bytes(length), device }
    }

    #[test]
    fn a_map_is_read_and_its_devices_are_found_by_name() {
        let map = RangeMap::parse(MAP).unwrap();
        let ranges = map.on(["disk, old", "spare", "a b"]).unwrap();
        assert_eq!(ranges[..], [range(0, 4096, 2), range(8192, 4096, 0), range(0, 1, 2)]);
        let error = map.on(["spare", "disc, old", "a b"]).unwrap_err();
        assert_eq!(error.to_string(), "line 5: `disk, old` is no device here; did you mean `disc, old`?");
        assert_eq!(error.hint().unwrap(), "there is: spare, disc, old, a b");
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let error = |text: &str| {
            let error = RangeMap::parse(text).unwrap_err();
            assert!(error.hint().is_some(), "{text}");
            error.to_string()
        };
        for text in ["", "\n# nothing\n"] {
            assert_eq!(error(text), "line 1: this is no map of ranges");
        }
        assert_eq!(error("\nstart,length,device\n0,1,a\n"), "line 2: this is no map of ranges");
        assert_eq!(error(HEADER), "line 1: no range follows");
        let of = |line: &str| error(&format!("{HEADER}\n0,512,a\n{line}\n"));
        assert_eq!(of("0,512"), "line 3: expected three fields, found `0,512`");
        assert_eq!(of("0,1MiB,a"), "line 3: `length_bytes` is a whole number of bytes, and not `1MiB`");
        assert_eq!(of("-1,512,a"), "line 3: `start_bytes` is a whole number of bytes, and not `-1`");
        assert_eq!(of("+1,512,a"), "line 3: `start_bytes` is a whole number of bytes, and not `+1`");
        let long = "9".repeat(90);
        assert!(of(&format!("{long},1,a")).ends_with(&format!("`{}...`", "9".repeat(40))));
        assert_eq!(of("0,0,a"), "line 3: the range is empty");
        assert_eq!(of("0,512, "), "line 3: `device` is empty");
        assert_eq!(of("18446744073709551615,512,a"), "line 3: the range ends beyond 16 EiB");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            ranges in prop::collection::vec((0..1u64 << 60, 1..1u64 << 60, 0..3u16), 1..40),
        ) {
            let ranges: Vec<PinnedRange> =
                ranges.into_iter().map(|(start, length, device)| range(start, length, device)).collect();
            let map = RangeMap::new(ranges.clone(), ["a", "b", "c"]);
            let again = RangeMap::parse(&map.to_string()).unwrap();
            prop_assert_eq!(&again.on(["a", "b", "c"]).unwrap()[..], &ranges[..]);
        }

        /// A sound map with bytes changed, cut out and repeated is read or refused, at a line that it has.
        #[test]
        fn no_text_does_harm(
            edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4usize), 0..8),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = MAP.as_bytes().to_vec();
            for (at, byte, repeated) in edits {
                let at = at.index(bytes.len());
                bytes.splice(at..=at, std::iter::repeat_n(byte, repeated));
                if bytes.is_empty() {
                    bytes.push(byte);
                }
            }
            bytes.truncate(cut.index(bytes.len() + 1));
            let text = String::from_utf8_lossy(&bytes);
            match RangeMap::parse(&text) {
                Ok(map) => {
                    let whole = |range: &PinnedRange| range.start.0.checked_add(range.length.0).is_some();
                    prop_assert!(map.ranges.iter().all(whole));
                    prop_assert_eq!(RangeMap::parse(&map.to_string()).unwrap().ranges, map.ranges);
                }
                Err(error) => prop_assert!((1..=text.lines().count().max(1) as u64).contains(&error.line)),
            }
        }
    }
}
