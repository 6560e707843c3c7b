//! Servers of volumes, for the commands that serve or change one.

use esker_serve::{ServeSettings, ServedVolume, Server, Tls, TlsClients};
use esker_volume::{DeviceIo, SystemClock, Volume};

use super::device::Access;
use super::file::{Places, start_io};
use super::file_on_disk::FileOnDisk;
use super::session::Serving;
use crate::args::{Common, TlsArguments, TlsUse, VolumeServeArguments};
use crate::failure::Failure;
use crate::values::VolumeExport;

/// The server of volumes.
pub(super) type VolumeServer = Server<ServedVolume>;

/// Opens volumes, to serve them.
pub(super) fn open(
    volumes: &[VolumeExport],
    serving: Serving,
    settings: &ServeSettings,
    common: &Common,
) -> Result<VolumeServer, Failure> {
    let (io, clock) = (start_io(serving.io)?, SystemClock::start());
    let served = |volume: &VolumeExport| Ok((volume.name.clone(), open_volume(volume, serving, (&io, clock), common)?));
    let served = volumes.iter().map(served).collect::<Result<_, Failure>>()?;
    Server::new(served, io, clock, settings.clone()).map_err(Failure::input)
}

fn open_volume(
    volume: &VolumeExport,
    serving: Serving,
    (io, clock): (&DeviceIo, SystemClock),
    common: &Common,
) -> Result<ServedVolume, Failure> {
    let opened = Places::read(&volume.file)?.open(Access::Write, io, serving.settings, common)?;
    if serving.settings.is_direct && !opened.are_direct && !common.quiet {
        let file = volume.file.display();
        crate::output::remark(&format!("{file}: not all devices can be used past the page cache"));
    }
    let on_disk = FileOnDisk::new(&volume.file, serving.settings).map_err(Failure::work)?;
    Ok(ServedVolume::new(Volume::open(opened.devices, clock)?, io, Box::new(on_disk)))
}

/// How volumes are served.
pub(super) fn settings(arguments: &VolumeServeArguments) -> Result<ServeSettings, Failure> {
    Ok(ServeSettings {
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

/// How their devices are used.
pub(super) fn serving(arguments: &VolumeServeArguments) -> Serving {
    Serving::new(arguments.io, arguments.direct)
}
