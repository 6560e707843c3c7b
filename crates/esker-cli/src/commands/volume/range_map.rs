//! Maps of ranges that volumes follow. A map may be larger than what superblocks hold, so that it lies beside the
//! volume's file: a copy, because the file that was given is the user's. Its name has a digest of its content. So the
//! copy of another map never replaces it, and the settings in the superblocks name the one or the other, whenever a
//! change of them is cut off.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use esker_core::Problem;
use esker_sim::{PinnedRange, RangeMap};
use esker_volume::{SystemClock, Volume, VolumeMap};

use crate::failure::Failure;

/// Digits of the digest in a name.
const DIGITS: usize = 16;

/// The ending of the name.
const ENDING: &str = ".map";

/// Keeps a copy of a map beside the file of a volume, which has this number of devices.
pub(super) fn keep(volume: &Path, ranges: Arc<[PinnedRange]>, devices: usize) -> Result<VolumeMap, Problem> {
    // Devices may get other names in the volume's file: the copy has their numbers.
    let numbers = (0..devices).map(|number| number.to_string());
    let map = RangeMap::new(ranges.to_vec(), numbers);
    let file = volume.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let text = format!("# The ranges that {file} pins to its devices, which are counted from 0.\n{map}");
    let name = format!("{file}.{}{ENDING}", digest(&text));
    let copy = beside(volume, &name);
    write(&copy, &text)
        .map_err(|error| Problem::new(format!("the map cannot be kept as {}: {error}", copy.display())))?;
    Ok(VolumeMap { name, ranges })
}

/// Removes the copy of a map that no volume follows.
pub(super) fn forget(volume: &Path, name: &str) {
    // One that stays does no harm.
    let _ = fs::remove_file(beside(volume, name));
}

/// Has the volume follow the map that its settings name, if they name one.
pub(super) fn follow(volume: &mut Volume<SystemClock>, file: &Path) -> Result<(), Failure> {
    let Some(name) = volume.state().settings.map_name() else { return Ok(()) };
    let copy = beside(file, name);
    let count = volume.state().devices.len();
    let ranges = read_copy(&copy, name, count).map_err(|problem| {
        let shown = file.display();
        let message = format!("{shown} pins the ranges of {}, {problem}", copy.display());
        Failure::input(message).with_hint(format!(
            "bring that file back, or give the volume another: `esker volume set {shown} --map FILE`, or --policy NAME"
        ))
    })?;
    Ok(volume.follow_map(ranges)?)
}

/// Has nothing replace the map that the volume follows whenever it is served.
pub(super) fn protect(volume: &Volume<SystemClock>, file: &Path) {
    let name = volume.state().settings.map_name();
    name.iter().for_each(|name| esker_files::protect(&beside(file, name)));
}

/// Reads the copy called `name`, for a volume with this number of devices. An error is the end of a sentence about it.
fn read_copy(copy: &Path, name: &str, devices: usize) -> Result<Arc<[PinnedRange]>, String> {
    let text = esker_files::read_to_string(copy).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => "which is gone".to_string(),
        _ => format!("which cannot be read: {error}"),
    })?;
    if !name.ends_with(&format!(".{}{ENDING}", digest(&text))) {
        return Err("which has changed since".to_string());
    }
    let numbers: Vec<String> = (0..devices).map(|number| number.to_string()).collect();
    let ranges = RangeMap::parse(&text).and_then(|map| map.on(numbers.iter().map(String::as_str)));
    ranges.map_err(|error| format!("which has a mistake in {error}"))
}

fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..DIGITS].to_string()
}

/// The file `name` in the folder of the volume's file.
fn beside(volume: &Path, name: &str) -> PathBuf {
    volume.parent().unwrap_or(Path::new("")).join(name)
}

/// Writes the file as a whole, durably.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(text.as_bytes())?;
    new.as_file().sync_all()?;
    new.persist(path)?;
    File::open(folder)?.sync_all()
}
