//! Advice on dumps: those of a cluster that was recorded, made-up ones, and broken ones.

mod broken;
mod made;
mod recorded;
mod reference;
mod smart;

use std::path::PathBuf;
use std::sync::OnceLock;

use esker_catalogue::Catalogue;
use esker_core::Bytes;
use esker_fleet::advice::{Advice, AdviceError, AdviceInputs, AdviceSettings, advise};

/// The files of a folder of `tests`, with their names, in order.
fn files(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let json = paths.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    json.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(&path).unwrap())).collect()
}

/// Drives of the recorded cluster have no data sheet.
fn settings() -> AdviceSettings {
    AdviceSettings {
        budget: Some(Bytes::gib(1)),
        ratings: vec![("LAB-FLASH".into(), Bytes(100_000_000_000))],
        prices: vec![("LAB-FLASH".into(), 100.0)],
        ..AdviceSettings::default()
    }
}

/// To read it takes longer than an advice.
fn catalogue() -> &'static Catalogue {
    static CATALOGUE: OnceLock<Catalogue> = OnceLock::new();
    CATALOGUE.get_or_init(|| Catalogue::builtin("current").unwrap())
}

fn judge(files: &[(String, Vec<u8>)], settings: &AdviceSettings) -> Result<Advice, AdviceError> {
    let mut inputs = AdviceInputs::default();
    for (name, bytes) in files {
        inputs.read(name, bytes)?;
    }
    advise(&inputs, settings, catalogue())
}
