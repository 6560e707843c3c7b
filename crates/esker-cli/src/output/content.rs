//! Recognises the content of a file that is about to be replaced.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use super::json::{HEAD, JsonKind};

/// The kind of content that a command writes.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    /// A report as an HTML page.
    Page,
    /// Results as JSON.
    Json(&'static JsonKind),
    /// A trace. It may be a recording, which nobody can make again, so one that is there is never replaced unasked.
    Trace,
    /// A part of a plan as text.
    Plan,
    /// The table of a sweep.
    SweepTable,
    /// A table of runs that a model was trained on.
    RunTable,
    /// A table of drives that the wear model of fleets was calibrated on.
    CalibrationTable,
    /// A table of a study as comma-separated values.
    StudyTable,
    /// A study in Markdown.
    Markdown,
    /// The manual page of a command.
    Manual,
    /// A preset of an imported or measured drive.
    Preset,
    /// The file of a volume. Without it, nobody knows where the volume's devices are, so one that is there is never
    /// replaced unasked.
    VolumeFile,
    /// A script that may have been run, so one that is there is never replaced.
    Script,
    /// A raw image, which nobody can make again.
    Image,
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page => f.write_str("a report of esker"),
            Self::Json(kind) => f.write_str(kind.what),
            Self::Trace | Self::VolumeFile | Self::Script | Self::Image => f.write_str("empty"),
            Self::Plan => f.write_str("a plan of esker"),
            Self::SweepTable => f.write_str("the table of a sweep"),
            Self::RunTable => f.write_str("a table of runs"),
            Self::CalibrationTable => f.write_str("a table of a calibration"),
            Self::StudyTable => f.write_str("a table of a study"),
            Self::Markdown => f.write_str("a study in Markdown"),
            Self::Manual => f.write_str("a manual page of esker"),
            Self::Preset => f.write_str("an imported or measured preset"),
        }
    }
}

impl Content {
    /// Whether the file at `path` is empty, or already has content of this kind. A disk never may be replaced: that its
    /// beginning is zero does not say that nothing is behind it.
    pub(crate) fn may_replace(self, path: &Path) -> io::Result<bool> {
        let found = File::open(path)?.metadata()?;
        if found.file_type().is_block_device() {
            return Ok(false);
        }
        if found.len() == 0 {
            return Ok(true);
        }
        match self {
            Self::Trace | Self::VolumeFile | Self::Script | Self::Image => Ok(false),
            Self::Json(kind) => Ok(kind.is_kind_of(decompressed(path)?)),
            Self::Page => {
                let head = head(path)?;
                let is_page = head.trim_start().get(..14).is_some_and(|tag| tag.eq_ignore_ascii_case("<!doctype html"));
                Ok(is_page && head.contains(r#"<meta name="generator" content="esker "#))
            }
            Self::Plan => Ok(head(path)?.starts_with("# A plan of esker")),
            Self::SweepTable => Ok(esker_sim::SweepTable::is_csv(&head(path)?)),
            Self::RunTable => Ok(esker_model::is_table(&head(path)?)),
            Self::CalibrationTable => Ok(esker_fleet::calibration::is_calibration_table(&head(path)?)),
            Self::StudyTable => {
                let head = head(path)?;
                Ok(esker_report::TABLE_HEADS.iter().any(|known| head.starts_with(known)))
            }
            // It begins with the name of a trace, and ends with what made it.
            Self::Markdown => {
                let text = std::fs::read(path)?;
                let text = String::from_utf8_lossy(&text);
                Ok(text.starts_with("# ") && text.lines().last().is_some_and(|line| line.starts_with("Made by esker ")))
            }
            Self::Manual => Ok(head(path)?.contains(".TH esker")),
            Self::Preset => Ok(esker_disk::is_made_preset(&head(path)?)),
        }
    }
}

/// The content of `path`, decompressed if it is compressed as `-o NAME.zst` and `-o NAME.gz` do.
fn decompressed(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut file = BufReader::new(File::open(path)?);
    let magic = file.fill_buf()?;
    Ok(if magic.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        Box::new(BufReader::new(zstd::Decoder::with_buffer(file)?))
    } else if magic.starts_with(&[0x1f, 0x8b]) {
        Box::new(BufReader::new(flate2::bufread::MultiGzDecoder::new(file)))
    } else {
        Box::new(file)
    })
}

/// The first bytes as text, as far as they can be read.
fn head(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    // A file that is cut off or damaged is not one of ours.
    let _ = decompressed(path)?.take(HEAD).read_to_end(&mut bytes);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
