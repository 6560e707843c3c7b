//! Numbers volumes in order of appearance.

use std::collections::BTreeMap;

use crate::VolumeIndex;

/// A file with more volumes than this is not a trace but misread.
pub(crate) const VOLUMES_MAX: usize = 1 << 16;
/// So is a file with more bytes than this in the names of its volumes.
const NAME_BYTES_MAX: usize = 4 << 20;
/// Numbers below this are looked up by index.
const SMALL: usize = 65_536;
const NONE: u32 = u32::MAX;

/// The names of a trace's volumes.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    names: Vec<String>,
    name_bytes: usize,
    by_small_number: Vec<u32>,
    by_number: BTreeMap<u64, u32>,
    by_key: BTreeMap<Vec<u8>, u32>,
    /// Recently seen keys, by a few of their bytes: most traces have few volumes.
    recent: Vec<(Vec<u8>, u32)>,
}

/// Size of the table of recent keys.
const RECENT: usize = 64;

/// The slot of a key among the recent ones.
#[inline(always)]
fn recent_slot(key: &[u8]) -> usize {
    let last = key.len().wrapping_sub(1);
    let byte = |at: usize| usize::from(key.get(at).copied().unwrap_or(0));
    (byte(last) + 5 * byte(last.wrapping_sub(1)) + 11 * byte(0) + 3 * key.len()) % RECENT
}

/// There would be more than [`VOLUMES_MAX`] volumes, or their names are too long.
#[derive(Debug)]
pub(crate) struct TooMany;

impl Volumes {
    /// The names in the order of their indices.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The volume with this number, for formats that number volumes.
    #[inline(always)]
    pub(crate) fn number(&mut self, number: u64) -> Result<VolumeIndex, TooMany> {
        match self.by_small_number.get(number as usize) {
            Some(&index) if index != NONE => Ok(VolumeIndex(index)),
            _ => self.number_slow(number),
        }
    }

    #[cold]
    fn number_slow(&mut self, number: u64) -> Result<VolumeIndex, TooMany> {
        if number < SMALL as u64 {
            if self.by_small_number.is_empty() {
                self.by_small_number = vec![NONE; SMALL];
            }
            let index = self.add(number.to_string())?;
            self.by_small_number[number as usize] = index;
            return Ok(VolumeIndex(index));
        }
        if let Some(&index) = self.by_number.get(&number) {
            return Ok(VolumeIndex(index));
        }
        let index = self.add(number.to_string())?;
        self.by_number.insert(number, index);
        Ok(VolumeIndex(index))
    }

    /// The volume for the bytes `key`. `name` turns them into a name if they are new.
    #[inline(always)]
    pub(crate) fn key(&mut self, key: &[u8], name: impl FnOnce(&[u8]) -> String) -> Result<VolumeIndex, TooMany> {
        match self.recent.get(recent_slot(key)) {
            Some((known, index)) if known == key && !key.is_empty() => Ok(VolumeIndex(*index)),
            _ => self.key_slow(key, name),
        }
    }

    #[cold]
    fn key_slow(&mut self, key: &[u8], name: impl FnOnce(&[u8]) -> String) -> Result<VolumeIndex, TooMany> {
        let index = match self.by_key.get(key) {
            Some(&index) => index,
            None => {
                let index = self.add(name(key))?;
                self.by_key.insert(key.to_vec(), index);
                index
            }
        };
        if self.recent.is_empty() {
            self.recent.resize(RECENT, Default::default());
        }
        let (known, slot) = &mut self.recent[recent_slot(key)];
        known.clear();
        known.extend_from_slice(key);
        *slot = index;
        Ok(VolumeIndex(index))
    }

    /// Adds a volume, for formats that number volumes themselves.
    pub(crate) fn append(&mut self, name: String) -> Result<VolumeIndex, TooMany> {
        self.add(name).map(VolumeIndex)
    }

    fn add(&mut self, name: String) -> Result<u32, TooMany> {
        self.name_bytes += name.len();
        if self.names.len() >= VOLUMES_MAX || self.name_bytes > NAME_BYTES_MAX {
            return Err(TooMany);
        }
        self.names.push(name);
        Ok(self.names.len() as u32 - 1)
    }
}
