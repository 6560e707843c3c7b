//! `esker devices import`: makes a preset of extracted drive parameters.

use std::io::{self, Read};
use std::path::Path;

use esker_disk::import::import;

use crate::args::ImportArguments;
use crate::failure::Failure;
use crate::output::{self, Content, Outputs};

/// Parameter files are small; the longest published layout has less than a megabyte.
const LONGEST_FILE: u64 = 64 << 20;

/// Reads the drive and writes the preset. What is not modelled is listed on standard error.
pub(super) fn run(arguments: &ImportArguments, quiet: bool) -> Result<(), Failure> {
    let drive = import(&arguments.file, arguments.drive.as_deref(), &read)?;
    let mut outputs = Outputs::new(arguments.force, &drive.files)?;
    outputs.claim("-o", &arguments.output, Content::Preset)?.write_text(&drive.to_toml())?;
    for remark in drive.remarks.iter().filter(|_| !quiet) {
        output::remark(remark);
    }
    Ok(())
}

/// The content of a file. Reading ends somewhere, also with a device or a pipe.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    esker_files::open(path)?.take(LONGEST_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST_FILE {
        return Err(io::Error::other("it is longer than any parameter file (64 MiB)"));
    }
    Ok(bytes)
}
