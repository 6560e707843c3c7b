//! The system that a name stands for: a preset, the file of one, or the devices of an experiment file.

use std::collections::BTreeSet;
use std::path::Path;

use esker_config::{ConfigError, Document, Finding, Node};
use esker_core::Problem;
use esker_core::registry::NotFound;

use super::experiment::{Devices, Experiment, check_tables, part_of, read_devices, read_run, read_text, trace_format};
use super::preset::NamedPreset;
use super::system::System;

/// Returns the system that `device` names: a preset, the file of one, or an experiment file. Of an experiment file,
/// only the devices and the target are used; it need not have a workload. `target` chooses another device of it.
///
/// # Errors
/// What is wrong with the name or the file.
pub fn system_of(device: &str, target: Option<&str>) -> Result<System, ConfigError> {
    let path = Path::new(device);
    let is_file = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    let is_experiment = |text: String| text.parse::<toml::Table>().is_ok_and(|table| table.contains_key("device"));
    if let Some(format) = (!is_file).then(|| trace_format(path)).flatten() {
        let message = format!("{device} is a trace (format {format}), and a device was expected");
        let hint = format!(
            "name a preset or the file of a device; a trace is compared with one by \
             `esker validate DEVICE --measured {device}`"
        );
        return Err(ConfigError::new("", Problem::with_hint(message, hint)));
    }
    if is_file && esker_files::read_to_string(path).is_ok_and(is_experiment) {
        return load_system(path, target);
    }
    let preset = NamedPreset::find(device, None, Path::new("")).map_err(|problem| ConfigError::new("", problem))?;
    match target.filter(|target| *target != "device") {
        Some(target) => Err(ConfigError::new("", NotFound::new("device of a preset", target, ["device"]).into())),
        None => System::single("device", preset.device()),
    }
}

/// Reads the devices of an experiment file that need not have a workload. The target is `target`, else that of
/// `[run]`, else the only device that is part of no other.
fn load_system(path: &Path, target: Option<&str>) -> Result<System, ConfigError> {
    let document = Document { origin: path.display().to_string(), text: read_text(path)? };
    let raw = document.parse()?;
    let (devices, target) = if part_of(&raw, "workload").is_some() {
        let system = Experiment::load(path)?.system;
        (system.devices().clone(), target.unwrap_or(system.target()).to_string())
    } else {
        let read = read_system(&raw, path.parent().unwrap_or(Path::new("")), target);
        read.map_err(|finding| document.error(finding))?
    };
    System::of(devices, target).map_err(|error| document.located(&raw.positions(), error))
}

/// Reads the devices of a file without a workload, and chooses the target.
fn read_system(raw: &Node, folder: &Path, target: Option<&str>) -> Result<(Devices, String), Finding> {
    check_tables(raw)?;
    let devices = part_of(raw, "device").ok_or_else(|| Finding::new(&raw.at, "", "the table `[device]` is missing"))?;
    let devices = read_devices(devices, folder)?;
    let of_run = part_of(raw, "run").map(read_run).transpose()?.map(|(target, _)| target);
    let chosen = target.map(str::to_string).or(of_run);
    let target = chosen.map_or_else(|| only_root(&devices).map_err(|problem| Finding::of(&raw.at, "", problem)), Ok)?;
    Ok((devices, target))
}

/// The only device that is part of no other.
fn only_root(devices: &Devices) -> Result<String, Problem> {
    let children = devices.values().flat_map(|device| device.settings.children());
    let children: BTreeSet<String> = children.map(|child| child.device).collect();
    let roots: Vec<&String> = devices.keys().filter(|name| !children.contains(*name)).collect();
    match roots[..] {
        [only] => Ok(only.clone()),
        // Each contains another: one is as good as the other to show that.
        [] => devices.keys().next().cloned().ok_or_else(|| Problem::new("it has no devices")),
        [first, ..] => {
            let names = roots.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let hint = format!("say which: [run] with target = \"{first}\"");
            Err(Problem::with_hint(format!("several of its devices are part of no other: {names}"), hint))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATIONS: &str = "[device.fast]\nkind = \"constant\"\ncapacity = \"1MiB\"\nservice_time = \"500us\"\n\
                            [device.slow]\nkind = \"constant\"\ncapacity = \"1MiB\"\nservice_time = \"1ms\"\n";
    const PAIR: &str = "[device.pair]\nkind = \"hybrid\"\nchildren = [\"fast\", \"slow\"]\nextent = \"128KiB\"\n\
                        policy = { kind = \"static-split\" }\n";

    fn target(text: &str, target: Option<&str>) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("devices.toml");
        std::fs::write(&path, text).unwrap();
        let system = system_of(path.to_str().unwrap(), target);
        system.map(|system| system.target().to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_of_devices_needs_no_workload() {
        assert_eq!(target(&(STATIONS.to_string() + PAIR), None), Ok("pair".to_string()));
        assert_eq!(target(&(STATIONS.to_string() + PAIR), Some("slow")), Ok("slow".to_string()));
        assert_eq!(target(&(STATIONS.to_string() + "[run]\ntarget = \"fast\"\n"), None), Ok("fast".to_string()));
        let several = target(STATIONS, None).unwrap_err();
        assert!(several.contains("`fast`, `slow`"), "{several}");
        assert_eq!(target(STATIONS, Some("slow")), Ok("slow".to_string()));
    }

    #[test]
    fn errors_of_a_file_of_devices_have_their_place() {
        let unknown = target(STATIONS, Some("slwo")).unwrap_err();
        assert!(unknown.contains("slwo") && unknown.contains("slow"), "{unknown}");
        let typo = target(&STATIONS.replace("service_time", "servise_time"), None).unwrap_err();
        assert!(typo.contains("devices.toml:4:1") && typo.contains("service"), "{typo}");
        let table = target(&(STATIONS.to_string() + "[runs]\n"), None).unwrap_err();
        assert!(table.contains("runs"), "{table}");
    }
}
