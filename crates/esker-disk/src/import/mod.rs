//! Reads the parameter files of DiskSim 4, the format in which extractions of real drives are published, and makes
//! presets of them.
//!
//! The format is described in the simulator's manual (Bucy et al. 2008, CMU-PDL-08-101). A `.parv` file describes a
//! system and sources a `.diskspecs` file. That file has the drive's controller and sources a `.model` file with
//! mechanics and layout, which may name a file of seek times. Any of these files can be imported if it contains a
//! drive.
//!
//! Parser (`syntax`, `block`) → typed parameters (`mechanics`, `layout_g1`, `controller`) →
//! [`DiskSettings`] → `preset`.

mod block;
mod controller;
mod drive;
mod error;
mod layout_g1;
mod layout_g4;
mod lexer;
mod mechanics;
mod parts;
mod preset;
mod remarks;
mod syntax;

use std::path::{Path, PathBuf};

pub use self::error::ImportError;
use self::remarks::Remarks;
use crate::{Disk, DiskSettings};

/// A drive that was read from parameter files.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedDrive {
    /// The name of the drive in the files.
    pub name: String,
    /// The disk's settings.
    pub settings: DiskSettings,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// Parameters that were read but are not modelled, or not exactly: `FILE:LINE: ...`.
    pub remarks: Vec<String>,
}

/// Imports the drive of the parameter file at `path`. `drive` is the name of its block, for files with several drives.
/// `read` returns the content of a file. Paths in a file start from its folder.
///
/// # Errors
/// The first thing that cannot be read or modelled, with its file and line.
pub fn import(
    path: &Path,
    drive: Option<&str>,
    read: &dyn Fn(&Path) -> std::io::Result<Vec<u8>>,
) -> Result<ImportedDrive, ImportError> {
    let document = syntax::Document::read(path, read)?;
    let found = drive::find(path, &document, drive)?;
    let mut remarks = Remarks::default();
    let mut files = document.files.clone();
    let settings = drive::settings(&found, read, &mut files, &mut remarks)?;
    // Settings that the model itself refuses are reported as an error in the drive's block.
    Disk::new("drive", &settings).map_err(|error| found.controller.error(found.controller.line, error.to_string()))?;
    remarks.unused(&found);
    Ok(ImportedDrive { name: found.controller.name.clone(), settings, files, remarks: remarks.lines })
}
