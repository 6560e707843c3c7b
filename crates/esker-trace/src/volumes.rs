//! Volumes are numbered as they appear.

use std::collections::HashMap;

use crate::VolumeIndex;

/// More different volumes than this is not a trace but a misread file.
pub(crate) const VOLUMES_MAX: usize = 1 << 20;
/// Numbers below this are looked up by index.
const SMALL: usize = 4096;
const NONE: u32 = u32::MAX;

/// The names of a trace's volumes. Looked up only, never walked in hash order.
#[derive(Debug, Default)]
pub(crate) struct Volumes {
    names: Vec<String>,
    by_small_number: Vec<u32>,
    by_number: HashMap<u64, u32>,
    by_key: HashMap<Vec<u8>, u32>,
    latest_key: Vec<u8>,
    latest: u32,
}

/// There are [`VOLUMES_MAX`] already.
#[derive(Debug)]
pub(crate) struct TooMany;

impl Volumes {
    /// Names in the order of their indices.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The volume whose format calls it by a number.
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

    /// The volume that the bytes `key` stand for; `name` turns them into a name when they are new.
    #[inline(always)]
    pub(crate) fn key(&mut self, key: &[u8], name: impl FnOnce(&[u8]) -> String) -> Result<VolumeIndex, TooMany> {
        if self.latest_key == key && !self.names.is_empty() {
            return Ok(VolumeIndex(self.latest));
        }
        self.key_slow(key, name)
    }

    fn key_slow(&mut self, key: &[u8], name: impl FnOnce(&[u8]) -> String) -> Result<VolumeIndex, TooMany> {
        let index = match self.by_key.get(key) {
            Some(&index) => index,
            None => {
                let index = self.add(name(key))?;
                self.by_key.insert(key.to_vec(), index);
                index
            }
        };
        self.latest_key.clear();
        self.latest_key.extend_from_slice(key);
        self.latest = index;
        Ok(VolumeIndex(index))
    }

    fn add(&mut self, name: String) -> Result<u32, TooMany> {
        if self.names.len() >= VOLUMES_MAX {
            return Err(TooMany);
        }
        self.names.push(name);
        Ok(self.names.len() as u32 - 1)
    }
}
