//! `esker volume copy`: raw images into a volume, and out of it.

mod image;
mod pipeline;

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::process::ExitCode;

use esker_core::{Bytes, Lba, Request, words};
use esker_volume::Buffer;

use super::file::Places;
use super::session::{Serving, Session};
use crate::args::{Common, VolumeCopyArguments};
use crate::cancel;
use crate::failure::Failure;
use crate::output::{self, Content, Outputs};
use crate::progress::{Progress, Unit};
use image::{NewImage, Part, SourceImage, data_in};
pub(super) use pipeline::Pipeline;

/// Bytes of a request, which is at most this long.
const REQUEST: usize = 1 << 20;

/// Copies in the direction that the arguments say.
pub(super) fn run(arguments: &VolumeCopyArguments, common: &Common) -> Result<ExitCode, Failure> {
    match (&arguments.from, &arguments.to) {
        (Some(from), _) => copy_in(arguments, from, common)?,
        (_, Some(to)) => copy_out(arguments, to, common)?,
        _ => unreachable!("one of them is required"),
    }
    Ok(ExitCode::SUCCESS)
}

fn copy_in(arguments: &VolumeCopyArguments, from: &Path, common: &Common) -> Result<(), Failure> {
    let places = Places::read(&arguments.volume)?;
    places.refuse_own_device(from)?;
    let session = Session::open(&places, Serving::default(), common)?;
    if !arguments.overwrite {
        session.refuse_to_overwrite(&arguments.volume, "say --overwrite if it may be lost; --to copies out")?;
    }
    let capacity = session.volume.capacity();
    let mut image = SourceImage::open(from)?;
    if let Some(length) = image.length.filter(|length| *length > capacity.0) {
        return Err(too_long(from, Some(length), capacity));
    }
    let bar = Progress::new(common.quiet, Unit::Bytes);
    bar.set_message("copying");
    let mut pipeline = Pipeline::new(session);
    let (mut done, mut written, mut tail) = (0, 0, Vec::new());
    while let Some(part) = image.next(REQUEST).map_err(|error| cannot("read", from, &error))? {
        if cancel::requested() {
            return Err(Failure::cancelled());
        }
        let length = part.length();
        if done + length > capacity.0 {
            return Err(too_long(from, None, capacity));
        }
        cancel::leaves("the volume has a part of the image");
        let (whole, rest) = part.split_at_sector();
        match whole {
            Part::Hole(length) => pipeline.clear(done, length)?,
            Part::Data(bytes) => {
                let mut at = 0;
                for (is_data, length) in data_in(&bytes) {
                    let offset = done + at as u64;
                    match is_data {
                        true => pipeline.write(offset, &bytes[at..at + length])?,
                        false => pipeline.clear(offset, length as u64)?,
                    }
                    written += if is_data { length as u64 } else { 0 };
                    at += length;
                }
            }
        }
        tail = rest;
        done += length;
        bar.set(done, image.length.unwrap_or(0));
    }
    let mut session = pipeline.finish()?;
    write_tail(&mut session, done - tail.len() as u64, &tail)?;
    session.flush()?;
    session.end();
    drop(bar);
    output::print(&format!(
        "{} copied into the volume, {} of it data\n",
        words::bytes(done as f64),
        words::bytes((written + tail.len() as u64) as f64)
    ))
}

/// Replaces the beginning of the sector at `offset`, which is less than all of it.
fn write_tail(session: &mut Session, offset: u64, tail: &[u8]) -> Result<(), Failure> {
    if tail.is_empty() {
        return Ok(());
    }
    let start = Lba::containing(offset);
    let mut sector = session.perform(Request::read(start, Bytes::SECTOR), Buffer::default())?.data.to_vec();
    sector[..tail.len()].copy_from_slice(tail);
    session.perform(Request::write(start, Bytes::SECTOR), Buffer::from(sector)).map(drop)
}

fn copy_out(arguments: &VolumeCopyArguments, to: &Path, common: &Common) -> Result<(), Failure> {
    let places = Places::read(&arguments.volume)?;
    let mut output = Outputs::new(arguments.force, &[])?.claim("--to", to, Content::Image)?;
    let session = Session::open(&places, Serving::to_read(), common)?;
    let mut image = NewImage::new(output.file()?);
    let capacity = session.volume.capacity().0;
    let bar = Progress::new(common.quiet, Unit::Bytes);
    bar.set_message("copying");
    let mut pipeline = Pipeline::new(session);
    let (mut asked, mut done) = (0, 0);
    while done < capacity {
        while asked < capacity && pipeline.has_room() {
            let length = (capacity - asked).min(REQUEST as u64);
            pipeline.read(asked, length);
            asked += length;
        }
        let bytes = pipeline.next_read()?;
        done += bytes.len() as u64;
        image.write(&bytes).map_err(|error| output.failed(error))?;
        bar.set(done, capacity);
    }
    let session = pipeline.finish()?;
    let data = image.finish().map_err(|error| output.failed(error))?;
    drop(bar);
    let is_printed = output.is_standard_output();
    output.finish()?;
    session.end();
    if is_printed {
        return Ok(());
    }
    let (all, data) = (words::bytes(capacity as f64), words::bytes(data as f64));
    output::print(&format!("{all} copied to {}, {data} of it data\n", to.display()))
}

fn too_long(image: &Path, length: Option<u64>, capacity: Bytes) -> Failure {
    let has = length.map_or("is longer".to_string(), |length| format!("has {}, more", Bytes(length)));
    let hint = "make a volume with larger devices, or cut what is unused off the image";
    Failure::input(format!("{} {has} than the {capacity} of the volume", image.display())).with_hint(hint)
}

fn cannot(verb: &str, path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::input(format!("cannot {verb} {}: {error}", path.display()));
    match error.kind() {
        ErrorKind::IsADirectory => failure.with_hint("name a raw image, which is a file or a disk"),
        _ => failure,
    }
}

/// Opens an image for reading.
fn open_image(path: &Path) -> Result<File, Failure> {
    let image = esker_files::open(path).map_err(|error| cannot("open", path, &error))?;
    match image.metadata().is_ok_and(|metadata| metadata.is_dir()) {
        // It can be opened, and ends at byte 2^63.
        true => Err(cannot("read", path, &ErrorKind::IsADirectory.into())),
        false => Ok(image),
    }
}
