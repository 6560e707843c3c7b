//! Servers of volumes, for the commands that serve or change one.

use std::path::Path;

use esker_serve::{ServeSettings, ServedVolume, Server, Tls, TlsClients};
use esker_volume::{SystemClock, Volume};

use super::device::Access;
use super::file::{Places, start_io};
use super::file_on_disk::FileOnDisk;
use super::session::Serving;
use crate::args::{Common, TlsArguments, TlsUse, VolumeServeArguments};
use crate::failure::Failure;

/// The server of a volume.
pub(super) type VolumeServer = Server<ServedVolume>;

/// Opens the volume whose file is `file`, to serve it.
pub(super) fn open(
    file: &Path,
    serving: Serving,
    settings: &ServeSettings,
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
    Server::new(served, io, clock, settings.clone()).map_err(Failure::input)
}

/// How the volume is served.
pub(super) fn settings(arguments: &VolumeServeArguments) -> Result<ServeSettings, Failure> {
    Ok(ServeSettings {
        export: arguments.export.clone(),
        is_read_only: arguments.read_only,
        connections_max: arguments.serving.clients as usize,
        tls: tls(&arguments.tls)?,
        ..ServeSettings::default()
    })
}

/// How connections are encrypted, if they are.
fn tls(arguments: &TlsArguments) -> Result<Option<Tls>, Failure> {
    let Some(folder) = &arguments.tls_certificates else { return Ok(None) };
    Tls::FILES.iter().for_each(|name| esker_files::protect(&folder.join(name)));
    let clients = if arguments.tls_any_client { TlsClients::Any } else { TlsClients::Certified };
    let mut tls = Tls::of_folder(folder, clients)?;
    tls.is_required = arguments.tls == TlsUse::Required;
    Ok(Some(tls))
}

/// How its devices are used.
pub(super) fn serving(arguments: &VolumeServeArguments) -> Serving {
    Serving::new(arguments.io, arguments.direct)
}
