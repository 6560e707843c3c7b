//! Builds the devices of a system: the one place where devices are wired together.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use esker_config::ConfigError;
use esker_core::{Control, Hint, Nanos, Precondition, Rng};
use esker_flash::PreconditionedDrives;
use esker_results::Reporting;
use thiserror::Error;

use crate::config::{DEVICES_MAX, DeviceDescription, Experiment, PreconditionKind, RunEvent, System};
use crate::device::{Child, DeviceFault, Instance, Slowed};
use esker_core::Problem;

/// A built tree of devices, ready to serve requests.
pub struct Assembly {
    /// The target, with everything under it.
    pub device: Box<dyn Reporting>,
    /// Wall-clock time that preconditioning took.
    pub precondition_time: Duration,
}

/// Why a system cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("device.{device}: {fault}")]
pub struct AssemblyError {
    /// The device of the system that the error is about.
    pub device: String,
    /// What is wrong with it.
    pub fault: DeviceFault,
}

impl Hint for AssemblyError {
    fn hint(&self) -> Option<String> {
        self.fault.hint.clone()
    }
}

impl System {
    /// Builds the target's tree from its leaves. Each device is preconditioned before its parent takes it over, and has
    /// a seed of its own, derived from `seed`.
    pub fn assemble(&self, seed: u64) -> Result<Assembly, AssemblyError> {
        self.assemble_for(seed, &[])
    }

    /// Like [`System::assemble`], ready for `events` in the middle of a run.
    pub fn assemble_for(&self, seed: u64, events: &[RunEvent]) -> Result<Assembly, AssemblyError> {
        self.assemble_with(seed, events, None)
    }

    fn assemble_with(
        &self,
        seed: u64,
        events: &[RunEvent],
        drives: Option<&Arc<PreconditionedDrives>>,
    ) -> Result<Assembly, AssemblyError> {
        let (names, precondition_time) = (BTreeSet::new(), Duration::ZERO);
        let mut builder = Builder { system: self, seed, events, drives, names, precondition_time };
        let target = builder.build(self.target(), "", &[])?;
        Ok(Assembly { device: target.device, precondition_time: builder.precondition_time })
    }
}

impl Experiment {
    /// Builds the system of this experiment. Errors have the position of the first key of the fault that the file
    /// contains.
    pub fn assemble(&self) -> Result<Assembly, ConfigError> {
        self.assemble_with(None)
    }

    /// Like [`Experiment::assemble`]; preconditioning takes what an equal drive of `drives` holds.
    pub(crate) fn assemble_with(&self, drives: Option<&Arc<PreconditionedDrives>>) -> Result<Assembly, ConfigError> {
        let assembled = self.system.assemble_with(self.run.seed, &self.run.events, drives);
        assembled.map_err(|AssemblyError { device, fault }| self.of_device(&device, fault))
    }

    /// The error for a fault of `device`.
    pub(crate) fn of_device(&self, device: &str, fault: DeviceFault) -> ConfigError {
        let DeviceFault { keys, message, hint } = fault;
        let table = format!("device.{device}");
        let named = keys.iter().map(|key| format!("{table}.{key}")).find(|key| self.has_key(key));
        self.located(ConfigError::new(named.unwrap_or(table), Problem::Other { message, hint }))
    }
}

struct Builder<'a> {
    system: &'a System,
    seed: u64,
    events: &'a [RunEvent],
    drives: Option<&'a Arc<PreconditionedDrives>>,
    names: BTreeSet<String>,
    precondition_time: Duration,
}

impl Builder<'_> {
    /// Builds the device called `device`. If its parent has several of the kind, `suffix` tells them apart: `disk.0`,
    /// `disk.1`; below them again: `part.0.0`. `slowed_above` are the devices above it that change their speed.
    fn build(&mut self, device: &str, suffix: &str, slowed_above: &[String]) -> Result<Child, AssemblyError> {
        let description = &self.system.devices()[device];
        let fault = |fault| AssemblyError { device: device.to_string(), fault };
        if self.names.len() > DEVICES_MAX {
            return Err(fault(DeviceFault::new(format!("the tree has more than {DEVICES_MAX} devices"))));
        }
        let name = format!("{device}{suffix}");
        let mut slowed = slowed_above.to_vec();
        slowed
            .extend(self.events.iter().any(|event| event.device == name && event.slow.is_some()).then(|| name.clone()));
        let mut children = Vec::new();
        for child in description.settings.children() {
            match child.count {
                None => children.push(self.build(&child.device, suffix, &slowed)?),
                Some(count) => {
                    for index in 0..count {
                        children.push(self.build(&child.device, &format!("{suffix}.{index}"), &slowed)?);
                    }
                }
            }
        }
        assert!(self.names.insert(name.clone()), "devices have one parent, so no name comes twice");
        let seed = Rng::derive(self.seed, &name).next_u64();
        let is_leaf = children.is_empty();
        let joins = |child: &Child| self.events.iter().any(|event| event.join && event.device == child.name);
        let joining = children.iter().filter(|child| joins(child)).count();
        if let Some(child) = children[..children.len() - joining].iter().find(|child| joins(child)) {
            let message =
                format!("`{}` joins later, but children come after it that are there from the start", child.name);
            return Err(fault(DeviceFault::new(message).at(["children"])));
        }
        if joining > 0 && joining == children.len() {
            let fault_of = DeviceFault::new("all of its children join later; it needs one from the start");
            return Err(fault(fault_of.at(["children"])));
        }
        let condition = condition(description, seed);
        let preconditioned = condition.is_some();
        let instance =
            Instance { name: name.clone(), seed, preconditioned, children, joining, drives: self.drives.cloned() };
        let mut device = description.settings.build(instance).map_err(fault)?;
        if let Some(condition) = condition {
            #[expect(clippy::disallowed_methods, reason = "what preconditioning costs the user, not the device")]
            let begin = Instant::now();
            let answer = device.control(Nanos::ZERO, Control::Precondition(condition));
            self.precondition_time += begin.elapsed();
            answer.map_err(|unsupported| fault(DeviceFault::new(unsupported.to_string()).at(["precondition"])))?;
        }
        // Only these pay for a clock of their own.
        if is_leaf && !slowed.is_empty() {
            device = Box::new(Slowed::new(&name, slowed, device));
        }
        Ok(Child { name, device })
    }
}

fn condition(device: &DeviceDescription, seed: u64) -> Option<Precondition> {
    let utilisation = device.utilisation;
    match device.precondition {
        PreconditionKind::None => None,
        PreconditionKind::Filled => Some(Precondition::Filled { utilisation }),
        PreconditionKind::Steady => Some(Precondition::Steady { utilisation, seed }),
    }
}
