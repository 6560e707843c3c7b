//! `esker volume create`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use esker_sim::read_ranges;
use esker_volume::{
    DeviceSettings, Identity, IoChoice, MapKeepers, VolumeSettings, WhatIsThere, check, create_with_map_on,
};
use serde_json::Value;

use super::check::describe;
use super::device::{Access, is_same_file, is_same_place, open_device};
use super::file::{place, start_io, text};
use super::made::MadeFiles;
use super::policy::refuse_simulated;
use super::range_map;
use crate::args::VolumeCreateArguments;
use crate::cancel;
use crate::commands::assignments::with_policy;
use crate::failure::Failure;
use crate::output::{self, Content, Outputs};
use crate::values::{DevicePlace, VolumeDevice};

/// Creates the volume, then its file.
pub(super) fn run(arguments: &VolumeCreateArguments) -> Result<ExitCode, Failure> {
    let mut settings = settings(arguments)?;
    settings.resolved()?;
    check_names(arguments)?;
    check_map(arguments, &settings)?;
    let keepers = keepers(arguments)?;
    let paths = arguments.devices.iter().filter_map(|device| device.place.path());
    let paths: Vec<PathBuf> = paths.map(Path::to_path_buf).chain(arguments.map.clone()).collect();
    let mut outputs = Outputs::new(arguments.force, &paths)?;
    let file = outputs.claim("VOLUME", &arguments.volume, Content::VolumeFile)?;
    let names = arguments.devices.iter().map(|device| device.name.as_str());
    let ranges = arguments.map.as_ref().map(|map| read_ranges(map, names)).transpose()?;
    cancel::leaves("files of devices and the beginning of a volume may be left");
    let io = start_io(IoChoice::Threads)?;
    let mut made = MadeFiles::default();
    let mut devices = Vec::new();
    for device in &arguments.devices {
        made.make(device)?;
        let opened = open_device(&device.name, &device.place, Access::Write, &io, DeviceSettings::default())?;
        devices.push(opened.device);
    }
    if let Some(ranges) = ranges {
        let kept = range_map::keep(&arguments.volume, ranges, arguments.devices.len())?;
        made.made(arguments.volume.with_file_name(&kept.name));
        let rest = settings.options.remove("policy");
        settings.pin(&kept.name, rest);
        settings.resolved()?;
    }
    let random = |error: io::Error| Failure::work(format!("no random numbers for identities: {error}"));
    let identities: Vec<Identity> =
        (0..=devices.len()).map(|_| Identity::random()).collect::<io::Result<_>>().map_err(random)?;
    let what_is_there = if arguments.force { WhatIsThere::IsLost } else { WhatIsThere::Stays };
    create_with_map_on(&keepers, &mut devices, &settings, &identities, what_is_there)?;
    let place = |device: &VolumeDevice| (device.name.clone(), place(&device.place, &arguments.volume));
    let places: Vec<(String, DevicePlace)> = arguments.devices.iter().map(place).collect();
    let is_printed = file.is_standard_output();
    file.write_text(&text(&places))?;
    made.keep();
    let state = check(&mut devices)?;
    if !is_printed {
        output::print(&describe(&state))?;
    }
    let mut keepers = state.devices.iter().filter(|device| device.keeps_map);
    if let (Some(only), None, 2..) = (keepers.next(), keepers.next(), state.devices.len()) {
        output::remark(&format!("{} alone keeps the map: if it fails, the data on all devices are lost", only.name));
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks that the volume can follow a map, and that it is given as one.
fn check_map(arguments: &VolumeCreateArguments, settings: &VolumeSettings) -> Result<(), Failure> {
    if settings.map_name().is_some() {
        let message = "a volume keeps a map of its own, and --set policy= names a file";
        return Err(Failure::input(message).with_hint("say --map FILE; the policy is for what the map does not pin"));
    }
    if arguments.map.is_none() {
        return Ok(());
    }
    if arguments.kind != "hybrid" {
        let message = format!("--map pins ranges to devices, and the kind is `{}`", arguments.kind);
        return Err(Failure::input(message).with_hint("leave --map out, or --kind"));
    }
    match arguments.volume.as_os_str() == "-" {
        true => Err(Failure::input("a map is kept beside the volume's file, which has to be a file")
            .with_hint("name a file in place of `-`")),
        false => Ok(()),
    }
}

/// The devices that keep the map.
fn keepers(VolumeCreateArguments { devices, keeps_map, .. }: &VolumeCreateArguments) -> Result<MapKeepers, Failure> {
    if keeps_map.is_empty() {
        return Ok(MapKeepers::Any);
    }
    let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    if let Some(other) = keeps_map.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(Failure::input(format!("--keeps-map: no device is called `{other}`"))
            .with_hint(format!("the devices are {}", names.join(", "))));
    }
    let named = |&index: &usize| keeps_map.iter().any(|name| name == names[index]);
    Ok(MapKeepers::Only((0..names.len()).filter(named).collect()))
}

fn settings(arguments: &VolumeCreateArguments) -> Result<VolumeSettings, Failure> {
    let table = with_policy(&arguments.set, arguments.policy.as_deref(), "extent=128KiB")?;
    if arguments.kind == "hybrid" {
        refuse_simulated(&table)?;
    }
    let options = serde_json::to_value(table).map_err(Failure::work)?;
    debug_assert!(matches!(options, Value::Object(_)), "a table is an object");
    Ok(VolumeSettings::new(&arguments.kind, options))
}

fn check_names(VolumeCreateArguments { volume, devices, .. }: &VolumeCreateArguments) -> Result<(), Failure> {
    let is_it =
        |device: &&VolumeDevice| device.place.path().is_some_and(|path| path == volume || is_same_file(path, volume));
    if let Some(device) = devices.iter().find(is_it) {
        let message = format!("{} is the device {}, too", volume.display(), device.name);
        return Err(Failure::input(message).with_hint("the volume's file is a text of its own: home.volume"));
    }
    let is_same = |(index, device): &(usize, &VolumeDevice)| {
        devices[..*index].iter().any(|other| is_same_place(&other.place, &device.place))
    };
    if let Some((_, device)) = devices.iter().enumerate().find(is_same) {
        let message = format!("{} is given twice", device.place);
        return Err(Failure::input(message).with_hint("name each device once"));
    }
    let is_taken =
        |(index, device): &(usize, &VolumeDevice)| devices[..*index].iter().any(|other| other.name == device.name);
    match devices.iter().enumerate().find(is_taken) {
        Some((_, device)) => Err(Failure::input(format!("two devices are called `{}`", device.name))
            .with_hint("give each a name of its own: --device flash=PATH --device disk=PATH")),
        None => Ok(()),
    }
}
