//! From an experiment to the device that it runs on: the one place where devices are wired together.

use esker_results::Reporting;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use esker_core::{Control, Device, Nanos, Precondition, Rng};

use crate::config::{ConfigError, DeviceTable, Document, Experiment, PreconditionKind, read_device};
use crate::device::{Child, DeviceFault, Instance};

/// A tree of devices that is ready to serve.
pub struct System {
    /// The target, with everything under it.
    pub device: Box<dyn Reporting>,
    /// Wall-clock time that preconditioning took.
    pub precondition_time: Duration,
}

impl System {
    /// Builds the target's tree from its leaves, each device preconditioned before its parent takes it over.
    pub fn assemble(experiment: &Experiment) -> Result<Self, ConfigError> {
        let mut assembly = Assembly {
            devices: &experiment.devices,
            seed: experiment.run.seed,
            names: BTreeSet::new(),
            precondition_time: Duration::ZERO,
        };
        let target = assembly.build(&experiment.run.target, "");
        let target = target.map_err(|Fault { key, fault }| {
            // Where the device names one of the keys that the user wrote, the error stands there.
            let named = fault.message.split('`').nth(1).map(|name| format!("{key}.{name}"));
            let key = named.filter(|named| experiment.has_key(named)).unwrap_or(key);
            experiment.error_at(&key, fault.message, fault.hint)
        })?;
        Ok(Self { device: target.device, precondition_time: assembly.precondition_time })
    }
}

/// Builds one device from a table such as an experiment's `[device.NAME]`: kind, preset, overrides, precondition. For
/// devices without children.
pub fn build_device(name: &str, table: &toml::Table, seed: u64) -> Result<Box<dyn Reporting>, ConfigError> {
    let text = toml::to_string(table).expect("a table is TOML");
    let document = Document { origin: format!("device `{name}`"), text };
    let node = document.parse()?;
    // Positions in a text that nobody wrote would only confuse.
    let document = Document { text: String::new(), ..document };
    let table = read_device(&node, "").map_err(|finding| document.error(finding))?;
    let error = |key: &str, fault: DeviceFault| ConfigError {
        origin: document.origin.clone(),
        position: None,
        key: key.to_string(),
        message: fault.message,
        hint: fault.hint,
    };
    if !table.settings.children().is_empty() {
        let message = format!("the kind `{}` has children; it needs a whole experiment", table.kind.name);
        return Err(error("", DeviceFault::new(message)));
    }
    let devices = BTreeMap::from([(name.to_string(), table)]);
    let mut assembly = Assembly { devices: &devices, seed, names: BTreeSet::new(), precondition_time: Duration::ZERO };
    let child = assembly.build(name, "");
    child.map(|child| child.device).map_err(|Fault { key, fault }| {
        let key = key.strip_prefix(&format!("device.{name}")).unwrap_or(&key);
        error(key.trim_start_matches('.'), fault)
    })
}

struct Assembly<'a> {
    devices: &'a BTreeMap<String, DeviceTable>,
    seed: u64,
    names: BTreeSet<String>,
    precondition_time: Duration,
}

/// Counts multiply from level to level; a slip of the pen should not fill the memory.
const DEVICES_MAX: usize = 10_000;

struct Fault {
    key: String,
    fault: DeviceFault,
}

impl Assembly<'_> {
    /// Builds the device of table `table`. Where its parent has several of the kind, `suffix` tells them apart:
    /// `disk.0`, `disk.1`; below them again: `part.0.0`.
    fn build(&mut self, table: &str, suffix: &str) -> Result<Child, Fault> {
        let description = &self.devices[table];
        if self.names.len() > DEVICES_MAX {
            let fault = DeviceFault::new(format!("the tree has more than {DEVICES_MAX} devices"));
            return Err(Fault { key: format!("device.{table}"), fault });
        }
        let mut children = Vec::new();
        for child in description.settings.children() {
            match child.count {
                None => children.push(self.build(&child.device, suffix)?),
                Some(count) => {
                    for index in 0..count {
                        children.push(self.build(&child.device, &format!("{suffix}.{index}"))?);
                    }
                }
            }
        }
        let name = format!("{table}{suffix}");
        assert!(self.names.insert(name.clone()), "devices have one parent, so no name comes twice");
        let seed = Rng::derive(self.seed, &name).next_u64();
        let instance = Instance { name: name.clone(), seed, children };
        let fault = |key: &str, fault| Fault { key: format!("device.{table}{key}"), fault };
        let mut device = description.settings.build(instance).map_err(|error| fault("", error))?;
        if let Some(condition) = condition(description, seed) {
            #[expect(clippy::disallowed_methods, reason = "what preconditioning costs the user, not the device")]
            let begin = Instant::now();
            let answer = device.control(Nanos::ZERO, Control::Precondition(condition));
            self.precondition_time += begin.elapsed();
            answer.map_err(|unsupported| fault(".precondition", DeviceFault::new(unsupported.to_string())))?;
        }
        Ok(Child { name, device })
    }
}

fn condition(table: &DeviceTable, seed: u64) -> Option<Precondition> {
    let utilisation = table.utilisation;
    match table.precondition {
        PreconditionKind::None => None,
        PreconditionKind::Filled => Some(Precondition::Filled { utilisation }),
        PreconditionKind::Steady => Some(Precondition::Steady { utilisation, seed }),
    }
}
