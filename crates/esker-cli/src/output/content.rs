//! Recognises the content of a file that is about to be replaced.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use esker_trace::FormatEntry;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// How much of a page or table is read.
const HEAD: u64 = 4096;
/// A disk counts as empty if this much at its beginning is zero: partitions and file systems have their marks there.
const DISK_HEAD: u64 = 1 << 20;

/// The kind of content that a command writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content {
    /// A report as an HTML page.
    Page,
    /// Results as JSON.
    Json,
    /// A trace of this format.
    Trace(&'static FormatEntry),
    /// The table of a sweep.
    SweepTable,
    /// A table of a study as comma-separated values.
    StudyTable,
    /// A study in Markdown.
    Markdown,
    /// The manual page of a command.
    Manual,
    /// A preset of an imported or measured drive.
    Preset,
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Page => f.write_str("a report of esker"),
            Self::Json => f.write_str("JSON"),
            Self::Trace(format) => write!(f, "a trace of the format `{}`", format.name),
            Self::SweepTable => f.write_str("the table of a sweep"),
            Self::StudyTable => f.write_str("a table of a study"),
            Self::Markdown => f.write_str("a study in Markdown"),
            Self::Manual => f.write_str("a manual page of esker"),
            Self::Preset => f.write_str("an imported or measured preset"),
        }
    }
}

impl Content {
    /// Whether the file or disk at `path` is empty, or already has content of this kind.
    pub(crate) fn may_replace(self, path: &Path) -> io::Result<bool> {
        let file = File::open(path)?;
        let is_file = file.metadata()?.is_file();
        if is_empty(file, is_file)? {
            return Ok(true);
        }
        match self {
            // A file that cannot be read as a trace, for whatever reason, is none.
            Self::Trace(format) => Ok(format.build.fits(path).unwrap_or(false)),
            Self::Json => Ok(is_json(decompressed(path)?)),
            Self::Page => {
                let head = head(path)?;
                let is_page = head.trim_start().get(..14).is_some_and(|tag| tag.eq_ignore_ascii_case("<!doctype html"));
                Ok(is_page && head.contains(r#"<meta name="generator" content="esker "#))
            }
            Self::SweepTable => Ok(esker_sim::SweepTable::is_csv(&head(path)?)),
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

fn is_empty(file: File, is_file: bool) -> io::Result<bool> {
    if is_file {
        return Ok(file.metadata()?.len() == 0);
    }
    let mut bytes = Vec::new();
    file.take(DISK_HEAD).read_to_end(&mut bytes)?;
    Ok(bytes.iter().all(|byte| *byte == 0))
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

/// Whether the text is one object or one list, and nothing more. Zeros may follow, as on a disk.
fn is_json(mut text: Box<dyn BufRead>) -> bool {
    loop {
        let Ok(bytes) = text.fill_buf() else { return false };
        let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        match bytes.get(blank) {
            Some(b'{' | b'[') => break,
            None if blank > 0 => text.consume(blank),
            _ => return false,
        }
    }
    let mut json = serde_json::Deserializer::from_reader(&mut text);
    if IgnoredAny::deserialize(&mut json).is_err() {
        return false;
    }
    let mut rest = Vec::new();
    text.take(HEAD).read_to_end(&mut rest).is_ok() && rest.iter().all(|byte| *byte == 0 || byte.is_ascii_whitespace())
}
