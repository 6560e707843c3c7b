//! Any parameter file of a drive, over the files that it may name: imported into a drive that can be built, or refused
//! with a file and a line. The first byte chooses which of the files the rest replaces.
#![no_main]

use std::io;
use std::path::Path;

use esker_disk::import::import;
use libfuzzer_sys::fuzz_target;

const FILES: [(&str, &[u8]); 4] = [
    ("small.parv", include_bytes!("../../crates/esker-disk/tests/disk/drive/small.parv")),
    ("small.diskspecs", include_bytes!("../../crates/esker-disk/tests/disk/drive/small.diskspecs")),
    ("small.model", include_bytes!("../../crates/esker-disk/tests/disk/drive/small.model")),
    ("small.seek", include_bytes!("../../crates/esker-disk/tests/disk/drive/small.seek")),
];

fuzz_target!(|input: &[u8]| {
    let Some((which, text)) = input.split_first() else { return };
    let replaced = FILES[usize::from(*which) % FILES.len()].0;
    let read = |path: &Path| {
        let known = FILES.iter().find(|(name, _)| path == Path::new(name));
        match known {
            Some((name, _)) if *name == replaced => Ok(text.to_vec()),
            Some((_, bytes)) => Ok(bytes.to_vec()),
            None => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    };
    match import(Path::new("small.parv"), None, &read) {
        Ok(drive) => assert!(!drive.to_toml().is_empty()),
        Err(error) => assert!(error.line >= 1 && error.to_string().lines().count() == 1),
    }
});
