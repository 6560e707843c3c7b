//! Servers of volumes, for the commands that serve or change one.

use esker_serve::{ServeSettings, ServedVolume, Server};
use esker_volume::{DeviceIo, SystemClock};

use super::file::{Places, start_io};
use super::file_on_disk::FileOnDisk;
use super::session::Serving;
use crate::args::{Common, VolumeServeArguments};
use crate::failure::Failure;
use crate::values::Export;

/// The server of volumes.
pub(super) type VolumeServer = Server<ServedVolume>;

/// Opens volumes, to serve them.
pub(super) fn open(
    volumes: &[Export],
    serving: Serving,
    settings: &ServeSettings,
    common: &Common,
) -> Result<VolumeServer, Failure> {
    let (io, clock) = (start_io(serving.io)?, SystemClock::start());
    let served = |volume: &Export| Ok((volume.name.clone(), open_volume(volume, serving, (&io, clock), common)?));
    let served = volumes.iter().map(served).collect::<Result<_, Failure>>()?;
    Server::new(served, io, clock, settings.clone()).map_err(Failure::input)
}

fn open_volume(
    volume: &Export,
    serving: Serving,
    (io, clock): (&DeviceIo, SystemClock),
    common: &Common,
) -> Result<ServedVolume, Failure> {
    let (open, are_direct) = serving.open(&Places::read(&volume.file)?, (io, clock), common)?;
    if serving.settings.is_direct && !are_direct && !common.quiet {
        let file = volume.file.display();
        crate::output::remark(&format!("{file}: not all devices can be used past the page cache"));
    }
    let on_disk = FileOnDisk::new(&volume.file, serving.settings).map_err(Failure::work)?;
    Ok(ServedVolume::new(open, io, Box::new(on_disk)))
}

/// How volumes are served.
pub(super) fn settings(arguments: &VolumeServeArguments) -> Result<ServeSettings, Failure> {
    let settings = crate::commands::serving::settings(&arguments.serving, &arguments.tls)?;
    Ok(ServeSettings { is_read_only: arguments.read_only, ..settings })
}

/// How their devices are used.
pub(super) fn serving(arguments: &VolumeServeArguments) -> Serving {
    Serving { only_reads: arguments.read_only, ..Serving::new(arguments.io, arguments.direct) }
}
