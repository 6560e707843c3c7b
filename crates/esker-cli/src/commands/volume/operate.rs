//! `esker volume status`, `add-device`, `drain`, `remove-device` and `grow`: the server of the volume does it, or, if
//! nobody serves the volume, this program itself.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use esker_core::words;
use esker_serve::{DeviceStatus, DrainStatus, LifeStatus, VolumeFile, VolumeOperation, VolumeStatus, call};
use esker_volume::{DeviceSettings, IoChoice, LostDevice, WhatWasLost};

use super::doer::{Doer, read_status};
use super::file::{Places, start_io};
use super::file_on_disk::FileOnDisk;
use super::made::MadeFiles;
use super::set;
use crate::args::{
    Common, VolumeAddDeviceArguments, VolumeDrainArguments, VolumeGrowArguments, VolumeRemoveDeviceArguments,
    VolumeStatusArguments,
};
use crate::cancel;
use crate::commands::serving::{control_socket, refused};
use crate::failure::Failure;
use crate::output;
use crate::progress::{Progress, Unit};
use crate::table::Table;
use crate::values::VolumeDevice;

/// Time between two prints of a status.
const WATCH: Duration = Duration::from_secs(1);

/// Prints how a served volume does.
pub(super) fn status(arguments: &VolumeStatusArguments) -> Result<ExitCode, Failure> {
    loop {
        let answer = call(&control_socket(&arguments.volume), &VolumeOperation::Status).map_err(|error| {
            let file = arguments.volume.display();
            match error.is_unserved {
                true => Failure::input(format!("nobody serves {file}"))
                    .with_hint(format!("`esker volume check {file}` looks at a volume that is not served")),
                false => refused(error),
            }
        })?;
        match arguments.json {
            true => output::print_json(&answer)?,
            false => output::print(&describe(&read_status(answer)?))?,
        }
        if !arguments.watch || cancel::requested() {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(WATCH);
    }
}

/// A status in some lines.
fn describe(status: &VolumeStatus) -> String {
    let says_wear = status.devices.iter().any(|device| device.wear_percent.is_some());
    let mut devices = match says_wear {
        false => Table::new(&["device", "data", "used", "state", "keeps the map"]),
        true => Table::new(&["device", "data", "used", "state", "keeps the map", "worn"]),
    };
    for device in &status.devices {
        let keeps = if device.keeps_map { "yes" } else { "no" };
        let used = device.used_bytes.map_or("-".to_string(), |bytes| words::bytes(bytes as f64));
        let data = words::bytes(device.data_bytes as f64);
        let worn = device.wear_percent.map_or("-".to_string(), |percent| format!("{percent} %"));
        let row = [device.name.clone(), data, used, state(device), keeps.to_string()];
        devices.row(row.into_iter().chain(says_wear.then_some(worn)));
    }
    let mut clients = Table::new(&["client", "export", "under way"]);
    for client in &status.serving.connections {
        let export = client.export.clone().unwrap_or_default();
        clients.row([client.peer.clone(), export, client.under_way.to_string()]);
    }
    let clients = if status.serving.connections.is_empty() { "no clients\n".to_string() } else { clients.render() };
    let requests = status.serving.requests;
    let background = status.background.as_ref().map_or(String::new(), set::describe) + &lives(status);
    let read_only = status.read_only.as_ref().map_or(String::new(), |why| format!(", only to be read ({why})"));
    format!(
        "volume {}: {} of {} over {}{read_only}; export {}\n{background}\n{}\n{clients}\n{} reads ({}), \
         {} writes ({}), {} flushes, {} trims; {} failed\n",
        status.volume,
        status.kind,
        words::bytes(status.capacity_bytes as f64),
        status.io,
        status.serving.export,
        devices.render(),
        words::count(requests.reads),
        words::bytes(requests.read_bytes as f64),
        words::count(requests.writes),
        words::bytes(requests.written_bytes as f64),
        words::count(requests.flushes),
        words::count(requests.trims),
        words::count(requests.failed),
    )
}

/// Lines about the lives that the policy holds.
fn lives(status: &VolumeStatus) -> String {
    let Some(background) = &status.background else { return String::new() };
    let life = |device: &DeviceStatus| {
        let LifeStatus { used, allowed } = background.lives.get(&device.name)?;
        let Some(used) = used else {
            return Some(format!("life of {}: not held, since it does not say how worn it is\n", device.name));
        };
        let price = if used > allowed { "; writes to it cost more" } else { "" };
        let [used, allowed] = [used, allowed].map(|share| format!("{:.3} %", share * 100.0));
        Some(format!("life of {}: {used} used since the policy began, {allowed} allowed{price}\n", device.name))
    };
    status.devices.iter().filter_map(life).collect()
}

fn state(device: &DeviceStatus) -> String {
    match &device.drain {
        None => device.state.clone(),
        Some(DrainStatus::Moving) => format!("{}, being drained", device.state),
        Some(DrainStatus::Empty) => format!("{}, empty: can be removed", device.state),
        Some(DrainStatus::Stuck { extents }) => format!("{}, {extents} extents cannot be read", device.state),
    }
}

/// Has a device join.
pub(super) fn add_device(arguments: &VolumeAddDeviceArguments, common: &Common) -> Result<ExitCode, Failure> {
    let mut doer = Doer::find(&arguments.volume, common)?;
    let mut made = MadeFiles::default();
    made.make(&arguments.device)?;
    let VolumeDevice { name, place, .. } = &arguments.device;
    // The server may be in another folder.
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let (name, place) = (name.clone(), place.with_path(absolute).to_string());
    let VolumeAddDeviceArguments { force, no_map, .. } = *arguments;
    doer.perform(&VolumeOperation::AddDevice { name: name.clone(), place, force, no_map })?;
    made.keep();
    let VolumeStatus { capacity_bytes, capacity_max_bytes, .. } = doer.status()?;
    doer.end();
    // A cluster offers no more later.
    let more = match capacity_max_bytes.saturating_sub(capacity_bytes) {
        0 => String::new(),
        more => format!("; `esker volume grow` would offer {} more", words::bytes(more as f64)),
    };
    output::print(&format!("{name} has joined{more}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Moves the data of a device to the others, and waits for it.
pub(super) fn drain(arguments: &VolumeDrainArguments, common: &Common) -> Result<ExitCode, Failure> {
    let (mut doer, device) = (Doer::find(&arguments.volume, common)?, arguments.device.clone());
    if arguments.undo {
        doer.perform(&VolumeOperation::Keep { device: device.clone() })?;
        doer.end();
        output::print(&format!("{device} is used again\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    doer.perform(&VolumeOperation::Drain { device: device.clone() })?;
    doer.drains();
    let progress = Progress::new(common.quiet, Unit::Bytes);
    let mut total = 0;
    loop {
        let status = doer.status()?;
        let now = status.devices.iter().find(|found| found.name == device).cloned().unwrap_or_default();
        let left = now.used_bytes.unwrap_or(0);
        total = total.max(left);
        progress.set(total - left, total);
        match now.drain {
            // One without data is empty once that is durable.
            Some(DrainStatus::Moving) if left > 0 && status.background.as_ref().is_some_and(|moves| moves.paused) => {
                return Err(Failure::work(format!("{device} is to be drained, and background work is paused"))
                    .with_hint("`esker volume set --resume` has it go on"));
            }
            Some(DrainStatus::Moving) => {}
            Some(DrainStatus::Empty) => break,
            Some(DrainStatus::Stuck { extents }) => {
                return Err(Failure::work(format!("{extents} extents of {device} cannot be read"))
                    .with_hint("overwrite or trim what is there, or bring back what the device has lost"));
            }
            None => return Err(Failure::work(format!("{device} is no longer being drained"))),
        }
        if cancel::requested() {
            return Err(Failure::cancelled());
        }
        doer.pass_time();
    }
    drop(progress);
    doer.end();
    output::print(&format!("{device} is empty; `esker volume remove-device` takes it out\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Takes a device out.
pub(super) fn remove_device(arguments: &VolumeRemoveDeviceArguments, common: &Common) -> Result<ExitCode, Failure> {
    if arguments.lost {
        return remove_lost(&arguments.volume, &arguments.device);
    }
    let mut doer = Doer::find(&arguments.volume, common)?;
    doer.perform(&VolumeOperation::Remove { device: arguments.device.clone() })?;
    doer.end();
    output::print(&format!("{} belongs to the volume no more\n", arguments.device))?;
    Ok(ExitCode::SUCCESS)
}

/// Takes a device out that is gone for good.
fn remove_lost(volume: &Path, device: &str) -> Result<ExitCode, Failure> {
    match call(&control_socket(volume), &VolumeOperation::Status) {
        Ok(_) => {
            return Err(Failure::input(format!("{} is served", volume.display()))
                .with_hint("end its server, take the device out, and serve it again"));
        }
        // A server that does not answer may go on to write to exports, which nobody locks.
        Err(error) if !error.is_unserved => return Err(refused(error)),
        Err(_) => {}
    }
    let places = Places::read(volume)?;
    let io = start_io(IoChoice::Threads)?;
    let mut opened = places.open_to_lose(device, &io)?;
    let LostDevice { what, shows_its_end, used_again } = esker_volume::remove_lost(&mut opened.devices, device)?;
    drop(opened);
    let changed = FileOnDisk::new(volume, DeviceSettings::default()).and_then(|mut file| file.remove(device));
    changed.map_err(|error| {
        Failure::work(format!("{device} is out, but the volume's file still names it: {error}"))
            .with_hint("take it out of that file")
    })?;
    let consequence = match what {
        WhatWasLost::Copies => "what was there is copied again once it is used",
        WhatWasLost::Nothing => "nothing was there",
    };
    let again = match used_again.is_empty() {
        true => String::new(),
        false => format!("; the drain of {} has ended: the room is needed", used_again.join(", ")),
    };
    let unknown = match shows_its_end {
        true => String::new(),
        false => format!(
            ". Nothing shows whether the volume went on with {device} without the others: if it did, they lack what \
             was written since"
        ),
    };
    output::print(&format!("{device} belongs to the volume no more; {consequence}{again}{unknown}\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// Offers more capacity.
pub(super) fn grow(arguments: &VolumeGrowArguments, common: &Common) -> Result<ExitCode, Failure> {
    let mut doer = Doer::find(&arguments.volume, common)?;
    let before = doer.status()?.capacity_bytes;
    if let Some(device) = &arguments.device {
        doer.perform(&VolumeOperation::GrowDevice { device: device.clone() })?;
    }
    doer.perform(&VolumeOperation::Grow { capacity_bytes: arguments.to.map(|to| to.0) })?;
    let now = doer.status()?.capacity_bytes;
    doer.end();
    let [now, more] = [now, now - before].map(|bytes| words::bytes(bytes as f64));
    output::print(&format!("the volume has {now} now, {more} more than before\n"))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use esker_serve::BackgroundStatus;

    use super::*;

    #[test]
    fn a_status_says_which_lives_are_held() {
        let device = |name: &str| DeviceStatus { name: name.to_string(), ..DeviceStatus::default() };
        let devices = ["fast", "mid", "disk"].map(device).to_vec();
        let mut status = VolumeStatus { devices, ..VolumeStatus::default() };
        assert_eq!(lives(&status), "");
        let life = |(name, used): (&str, _)| (name.to_string(), LifeStatus { used, allowed: 0.004 });
        let lives_held = [("fast", Some(0.0051)), ("mid", Some(0.0)), ("disk", None)].map(life).into();
        status.background = Some(BackgroundStatus { lives: lives_held, ..BackgroundStatus::default() });
        let said = lives(&status);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(
            lines,
            [
                "life of fast: 0.510 % used since the policy began, 0.400 % allowed; writes to it cost more",
                "life of mid: 0.000 % used since the policy began, 0.400 % allowed",
                "life of disk: not held, since it does not say how worn it is",
            ]
        );
    }
}
