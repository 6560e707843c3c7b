//! Names of volumes in each format.

use std::collections::BTreeSet;

use crate::format::VolumeNames;

/// Longest names in bytes, in formats of names without blanks and in those of any text.
const WORD_MAX: usize = 255;
const TEXT_MAX: usize = u16::MAX as usize;

/// The names given so far.
#[derive(Debug)]
pub(super) struct Naming {
    rule: VolumeNames,
    numbers: BTreeSet<u32>,
    names: BTreeSet<String>,
}

/// Why a volume cannot be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoPlace {
    OnlyOne,
    TooMany,
}

impl Naming {
    pub(super) fn new(rule: VolumeNames) -> Self {
        Self { rule, numbers: BTreeSet::new(), names: BTreeSet::new() }
    }

    /// Name and number in the output for the next volume, which is called `name`.
    pub(super) fn place(&mut self, name: &str) -> Result<(String, u32), NoPlace> {
        let index = self.names.len() as u32;
        let (becomes, number) = match self.rule {
            VolumeNames::One if index > 0 => return Err(NoPlace::OnlyOne),
            VolumeNames::One => ("0".to_string(), 0),
            VolumeNames::Number(max) => {
                let free = |number: &u32| *number <= max && !self.numbers.contains(number);
                let own = number_below(name, u64::from(max) + 1).filter(free);
                let Some(number) = own.or_else(|| (index..=max).chain(0..=max).find(free)) else {
                    return Err(NoPlace::TooMany);
                };
                (number.to_string(), number)
            }
            VolumeNames::HostAndNumber => {
                let fits = name
                    .rsplit_once('.')
                    .is_some_and(|(host, disk)| is_field(host) && number_below(disk, 1 << 32).is_some());
                let host = || to_word(name).replace(',', "_");
                (if fits { name.to_string() } else { format!("{}.{index}", host()) }, index)
            }
            VolumeNames::MajorMinor => {
                // As in Linux: 12 and 20 bits.
                let fits = name.split_once(',').is_some_and(|(major, minor)| {
                    number_below(major, 1 << 12).is_some() && number_below(minor, 1 << 20).is_some()
                });
                (if fits { name.to_string() } else { format!("259,{index}") }, index)
            }
            VolumeNames::Word => (if is_word(name) { name.to_string() } else { to_word(name) }, index),
            VolumeNames::Text => (name[..name.floor_char_boundary(TEXT_MAX)].to_string(), index),
        };
        let becomes = self.unique(becomes);
        self.numbers.insert(number);
        self.names.insert(becomes.clone());
        Ok((becomes, number))
    }

    /// `name`, or a similar name if another volume already has it.
    fn unique(&self, name: String) -> String {
        let taken = |name: &str| self.names.contains(name);
        if !taken(&name) {
            return name;
        }
        let (stem, rest) = match self.rule {
            VolumeNames::HostAndNumber => name.rsplit_once('.').map_or((&*name, ""), |(host, _)| (host, ".0")),
            VolumeNames::Text => (&name[..name.floor_char_boundary(TEXT_MAX - 12)], ""),
            _ => (&*name, ""),
        };
        let names = (1u32..).map(|count| match self.rule {
            VolumeNames::MajorMinor => format!("{},{}", 259 - (count >> 20), count & 0xf_ffff),
            _ => format!("{stem}_{count}{rest}"),
        });
        names.into_iter().find(|name| !taken(name)).expect("there are more names than volumes")
    }
}

/// The number that `text` is, in its usual spelling.
fn number_below(text: &str, limit: u64) -> Option<u32> {
    let number: u32 = text.parse().ok()?;
    (u64::from(number) < limit && number.to_string() == text).then_some(number)
}

/// Whether `name` can stand between blanks.
fn is_word(name: &str) -> bool {
    !name.is_empty() && name.len() <= WORD_MAX && name.bytes().all(|byte| !matches!(byte, b'\0'..=b' ' | 0x7f))
}

/// Whether `name` can stand between commas.
fn is_field(name: &str) -> bool {
    is_word(name) && !name.contains(',')
}

fn to_word(name: &str) -> String {
    let word: String = name.chars().map(|c| if matches!(c, '\0'..=' ' | '\x7f') { '_' } else { c }).take(60).collect();
    if word.is_empty() { "volume".into() } else { word }
}
