//! The devices that one server is to emulate.

use std::path::{Path, PathBuf};

use esker_core::{Bytes, Nanos, Ratio, words};
use esker_emulate::{Contents, EmulatedDevice, EmulationSettings, FileContents, MemoryContents, capacity_of};
use esker_results::Reporting;
use esker_sim::{RunEvent, system_of};
use esker_volume::SystemClock;

use crate::args::{DataPlace, EmulateArguments, WriteCacheKind};
use crate::commands::serving::{check_names, client_socket, control_socket};
use crate::failure::Failure;
use crate::values::Export;

/// A device that is to be emulated.
pub(super) struct Chosen {
    /// What clients call it, and the file or preset that describes it.
    export: Export,
    /// Its name in an experiment; `None` for the target.
    device: Option<String>,
    /// The control socket and the place of the data that were asked for.
    control: Option<PathBuf>,
    data: DataPlace,
    seed: u64,
}

impl Chosen {
    pub(super) fn name(&self) -> &str {
        &self.export.name
    }

    /// Where it is operated.
    pub(super) fn control(&self) -> PathBuf {
        self.control.clone().unwrap_or_else(|| control_socket(&self.beside_its_file()))
    }

    /// Where its clients connect unless something else is wanted.
    pub(super) fn clients(&self) -> PathBuf {
        client_socket(&self.beside_its_file())
    }

    fn beside_its_file(&self) -> PathBuf {
        self.export.file.with_file_name(&self.export.name)
    }
}

/// The devices that the arguments choose.
pub(super) fn chosen(arguments: &EmulateArguments, seed: u64) -> Result<Vec<Chosen>, Failure> {
    let exports = exports(arguments)?;
    let count = exports.len();
    check_names(&exports.iter().map(|(export, ..)| export.clone()).collect::<Vec<_>>())?;
    let mut controls = of_each("--control", &arguments.control, count)?.into_iter();
    let mut places = of_each("--data", &arguments.data, count)?.into_iter();
    let choose = |(export, device): (Export, Option<String>)| {
        let data = places.next().flatten().unwrap_or(DataPlace::Memory);
        Chosen { export, device, control: controls.next().flatten(), data, seed }
    };
    let mut all: Vec<Chosen> = exports.into_iter().map(choose).collect();
    if arguments.device.is_empty() {
        // Two drives that one file describes are no copies of each other.
        (seed..).zip(&mut all).for_each(|(seed, chosen)| chosen.seed = seed);
    }
    Ok(all)
}

/// Each export, with the device of an experiment that was chosen for it.
fn exports(arguments: &EmulateArguments) -> Result<Vec<(Export, Option<String>)>, Failure> {
    match (&arguments.simulated[..], &arguments.device[..]) {
        (all, []) => Ok(all.iter().map(|export| (export.clone(), None)).collect()),
        ([export], [device]) if export.has_own_name() => Ok(vec![(export.clone(), Some(device.clone()))]),
        ([export], devices) if !export.has_own_name() => {
            let of_device =
                |name: &String| (Export { name: name.clone(), file: export.file.clone() }, Some(name.clone()));
            Ok(devices.iter().map(of_device).collect())
        }
        ([export], devices) => Err(Failure::input(format!(
            "{} devices of {} cannot all be called `{}`",
            devices.len(),
            export.file.display(),
            export.name
        ))
        .with_hint("leave the name out: clients call them as the file does")),
        (files, _) => {
            Err(Failure::input(format!("--device chooses devices of one file, and {} are named", files.len()))
                .with_hint("name one file, or leave --device out: then the target of each is emulated"))
        }
    }
}

/// The values of an option that has one for each device, or none.
fn of_each<T: Clone>(option: &str, given: &[T], devices: usize) -> Result<Vec<Option<T>>, Failure> {
    match given.len() {
        0 => Ok(vec![None; devices]),
        count if count == devices => Ok(given.iter().cloned().map(Some).collect()),
        count => Err(Failure::input(format!("{option} is there {count} times, and {devices} devices are emulated"))
            .with_hint("say it once for each device, in their order, or not at all")),
    }
}

/// A device whose time has not begun.
pub(super) struct Prepared {
    /// Its name in the experiment.
    name: String,
    device: Box<dyn Reporting>,
    settings: EmulationSettings,
    /// What it is, in words.
    pub(super) what: String,
}

impl Prepared {
    /// Assembles a device, and opens the file of its data.
    pub(super) fn of(chosen: &Chosen, arguments: &EmulateArguments) -> Result<Self, Failure> {
        let simulated = &chosen.export.file;
        let system = system_of(&simulated.to_string_lossy(), chosen.device.as_deref())?;
        let (name, kind) = (system.target(), system.devices()[system.target()].settings.kind().name);
        // So that the device and all below it can be slowed.
        let events = [RunEvent::slow(Nanos::ZERO, name, Ratio::ONE)];
        let device = system.assemble_for(chosen.seed, &events)?.device;
        let capacity = capacity_of(&*device);
        let (contents, place) = contents(&chosen.data, capacity, simulated)?;
        let has_volatile_cache = arguments.write_cache == WriteCacheKind::Volatile;
        let what = format!("{name} ({kind}) of {} in {place}", words::bytes(capacity.0 as f64));
        let settings = EmulationSettings { contents, has_volatile_cache, seed: chosen.seed };
        Ok(Self { name: name.to_string(), device, settings, what })
    }

    /// Has its time begin.
    pub(super) fn begin(self, clock: SystemClock) -> EmulatedDevice<SystemClock> {
        EmulatedDevice::new(self.name, self.device, self.settings, clock)
    }
}

/// Where the data are, and that in words.
fn contents(place: &DataPlace, capacity: Bytes, simulated: &Path) -> Result<(Box<dyn Contents>, String), Failure> {
    let DataPlace::File(path) = place else {
        return Ok((Box::new(MemoryContents::default()), "memory".to_string()));
    };
    let shown = path.display();
    let is_same = |one: &Path| std::fs::canonicalize(one).ok().zip(std::fs::canonicalize(path).ok());
    if is_same(simulated).is_some_and(|(one, other)| one == other) {
        return Err(Failure::input(format!("{shown} describes the device, and would be replaced by its data")));
    }
    let opened = FileContents::open(path, capacity).map_err(|error| {
        let failure = Failure::input(format!("{shown}: {error}"));
        match esker_core::Hint::hint(&error) {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    })?;
    esker_files::protect(path);
    Ok((Box::new(opened), shown.to_string()))
}
