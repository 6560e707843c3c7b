//! `esker volume dump`.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::process::ExitCode;

use esker_volume::{DumpPart, dump};

use super::file::{Opened, Places, open_to_look};
use crate::args::{Common, VolumeDumpArguments, VolumePart};
use crate::cancel;
use crate::failure::Failure;

/// Prints what lies on the devices beside data.
pub(super) fn run(arguments: &VolumeDumpArguments, common: &Common) -> Result<ExitCode, Failure> {
    let all = [
        (VolumePart::Superblocks, DumpPart::Superblocks),
        (VolumePart::Map, DumpPart::Map),
        (VolumePart::Journal, DumpPart::Journal),
    ];
    let wanted = |(part, _): &&(VolumePart, DumpPart)| arguments.only.is_empty() || arguments.only.contains(part);
    let parts: Vec<DumpPart> = all.iter().filter(wanted).map(|(_, part)| *part).collect();
    let Opened { mut devices, away, .. } = open_to_look(&Places::read(&arguments.volume)?, common)?;
    away.say(None, common);
    let mut out = BufWriter::new(Cancellable(io::stdout()));
    let written = dump(&mut devices, &parts, &mut out).and_then(|()| out.flush());
    match written {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(_) if cancel::requested() => Err(Failure::cancelled()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::closed_pipe()),
        Err(error) => Err(Failure::work(format!("cannot print what lies on the devices: {error}"))),
    }
}

/// Fails once the user asks the program to end.
struct Cancellable<W>(W);

impl<W: Write> Write for Cancellable<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if cancel::requested() { Err(ErrorKind::Other.into()) } else { self.0.write(bytes) }
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
