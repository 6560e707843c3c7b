//! Servers of volumes, for the commands that serve or change one.

use std::path::Path;

use esker_serve::{ServeSettings, ServedVolume, Server};
use esker_volume::{SystemClock, Volume};

use super::device::Access;
use super::file::{Places, start_io};
use super::file_on_disk::FileOnDisk;
use super::session::Serving;
use crate::args::{Common, VolumeServeArguments};
use crate::failure::Failure;

/// The server of a volume.
pub(super) type VolumeServer = Server<ServedVolume>;

/// Opens the volume whose file is `file`, to serve it.
pub(super) fn open(
    file: &Path,
    serving: Serving,
    settings: ServeSettings,
    common: &Common,
) -> Result<VolumeServer, Failure> {
    let places = Places::read(file)?;
    let (io, clock) = (start_io(serving.io)?, SystemClock::start());
    let opened = places.open(Access::Write, &io, serving.settings, common)?;
    if serving.settings.is_direct && !opened.are_direct && !common.quiet {
        crate::output::remark("not all devices can be used past the page cache");
    }
    let volume = Volume::open(opened.devices, clock)?;
    let on_disk = FileOnDisk::new(file, serving.settings).map_err(Failure::work)?;
    let served = ServedVolume::new(volume, &io, Box::new(on_disk));
    Server::new(served, io, clock, settings).map_err(Failure::input)
}

/// How the volume is served.
pub(super) fn settings(arguments: &VolumeServeArguments) -> ServeSettings {
    ServeSettings {
        export: arguments.export.clone(),
        is_read_only: arguments.read_only,
        connections_max: arguments.serving.clients as usize,
        ..ServeSettings::default()
    }
}

/// How its devices are used.
pub(super) fn serving(arguments: &VolumeServeArguments) -> Serving {
    Serving::new(arguments.io, arguments.direct)
}
