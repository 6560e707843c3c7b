//! Devices that a volume's file names, and that are left out when the volume is opened.

use std::path::{Path, PathBuf};

use esker_volume::{OpenDevice, VolumeState, is_without_superblock};

use super::device::OpenError;
use crate::args::Common;
use crate::output;
use crate::values::DevicePlace;

/// Devices that are left out.
pub(super) struct Away {
    /// The volume's file.
    file: PathBuf,
    devices: Vec<Left>,
}

/// A device that is left out.
struct Left {
    name: String,
    place: String,
    why: Why,
}

/// Why a device is left out.
enum Why {
    /// It is not there.
    Absent,
    /// Something is there that is none of the volume's.
    Blank,
    /// It cannot be opened, as this says.
    Fails(String),
}

impl Away {
    /// None of those that `file` names.
    pub(super) fn of(file: &Path) -> Self {
        Self { file: file.to_path_buf(), devices: Vec::new() }
    }

    /// Leaves a device out that is not there.
    pub(super) fn is_absent(&mut self, name: &str, place: &DevicePlace) {
        self.leave_out(name, place, Why::Absent);
    }

    /// Leaves a device out that cannot be opened because it fails.
    pub(super) fn fails(&mut self, name: &str, place: &DevicePlace, error: &OpenError) {
        self.leave_out(name, place, Why::Fails(error.to_string()));
    }

    fn leave_out(&mut self, name: &str, place: &DevicePlace, why: Why) {
        self.devices.push(Left { name: name.to_string(), place: place.to_string(), why });
    }

    /// Leaves devices out without a superblock at either end, and returns the others. A drive that is dead is often
    /// replaced by a new one at the same place, and that must not keep what the others hold from being read. One whose
    /// superblocks are damaged stays, since it may hold the volume's data. If all are blank, none is left out: then
    /// there is no volume.
    pub(super) fn leave_blank_ones_out(
        &mut self,
        devices: Vec<(Box<dyn OpenDevice>, &DevicePlace)>,
    ) -> Vec<Box<dyn OpenDevice>> {
        let looked_at = devices.into_iter().map(|(mut device, place)| {
            // One that cannot be read is no blank one; opening the volume says what is wrong with it.
            let is_blank = is_without_superblock(device.blocking()).unwrap_or(false);
            (device, place, is_blank)
        });
        let looked_at: Vec<_> = looked_at.collect();
        let are_all_blank = looked_at.iter().all(|(.., is_blank)| *is_blank);
        let mut others = Vec::new();
        for (device, place, is_blank) in looked_at {
            match is_blank && !are_all_blank {
                true => self.leave_out(device.name(), place, Why::Blank),
                false => others.push(device),
            }
        }
        others
    }

    /// The devices with their places.
    pub(super) fn places(&self) -> String {
        self.devices.iter().map(|Left { name, place, .. }| format!("{name} ({place})")).collect::<Vec<_>>().join(", ")
    }

    /// Says which devices are left out, and what that means for the volume, of which nothing is known if it could not
    /// be opened.
    pub(super) fn say(&self, state: Option<&VolumeState>, common: &Common) {
        let missing = state.map(|state| state.missing().map(|device| &*device.name).collect::<Vec<&str>>());
        for left in self.devices.iter().filter(|_| !common.quiet) {
            output::remark(&self.remark(left, missing.as_deref()));
        }
    }

    /// What is said of a device while `missing` are the names of those that the volume misses.
    fn remark(&self, Left { name, place, why }: &Left, missing: Option<&[&str]>) -> String {
        let what = match why {
            Why::Blank => format!("{name} ({place}) holds nothing of a volume, and counts as missing"),
            Why::Absent => format!("{name} ({place}) is not there"),
            Why::Fails(error) => error.clone(),
        };
        // A device may have got another name in the file since it joined.
        let is_named = |missing: &&str| self.devices.iter().any(|left| left.name == *missing);
        let consequence = match missing {
            None => String::new(),
            Some(missing) if !missing.contains(&&**name) && missing.iter().all(is_named) => {
                format!("; the volume has no such device: take its line out of {}", self.file.display())
            }
            Some(_) => "; the volume is only read, without it".to_string(),
        };
        what + &consequence
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_volume_misses_has_it_only_read() {
        let mut away = Away::of(Path::new("home.volume"));
        for name in ["disk", "spare"] {
            away.is_absent(name, &DevicePlace::File(format!("{name}.img").into()));
        }
        let said = |missing: Option<&[&str]>| -> Vec<String> {
            away.devices.iter().map(|left| away.remark(left, missing)).collect()
        };
        let [disk, spare] = ["disk (disk.img) is not there", "spare (spare.img) is not there"];
        let stray = "; the volume has no such device: take its line out of home.volume";
        let read = "; the volume is only read, without it";
        assert_eq!(said(None), [disk, spare]);
        assert_eq!(said(Some(&[])), [format!("{disk}{stray}"), format!("{spare}{stray}")]);
        assert_eq!(said(Some(&["disk"])), [format!("{disk}{read}"), format!("{spare}{stray}")]);
        // It has another name in the file: that it is one of these is all that is known.
        assert_eq!(said(Some(&["old"])), [format!("{disk}{read}"), format!("{spare}{read}")]);
    }
}
