//! The system under test: devices by name, one of which is the target of the workload.

use std::collections::BTreeMap;
use std::sync::Arc;

use esker_config::ConfigError;
use esker_core::Ratio;
use esker_core::registry::NotFound;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use esker_core::Problem;

use crate::device::{ChildName, DeviceSettings};

/// Devices of a tree at most. Counts multiply from level to level; this limit stops a typing error from filling the
/// memory.
pub const DEVICES_MAX: usize = 10_000;

/// A tree of devices, one of which serves the workload.
#[derive(Clone, Debug)]
pub struct System {
    devices: BTreeMap<String, DeviceDescription>,
    target: String,
}

/// The description of a device: its settings, and the state of its data before the run.
#[derive(Clone, Debug)]
pub struct DeviceDescription {
    /// Settings of its kind.
    pub settings: Arc<dyn DeviceSettings>,
    /// State of the device's data before the run.
    pub precondition: PreconditionKind,
    /// Share of the host's address space that preconditioning writes.
    pub utilisation: Ratio,
}

/// State of a device's data before the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PreconditionKind {
    /// As from the factory.
    #[default]
    None,
    /// Written once in address order.
    Filled,
    /// Overwritten at random until write amplification is steady.
    Steady,
}

impl DeviceDescription {
    /// A device with these settings, as from the factory.
    pub fn new(settings: impl DeviceSettings + 'static) -> Self {
        Self { settings: Arc::new(settings), precondition: PreconditionKind::None, utilisation: Ratio::ONE }
    }

    /// Sets a precondition for `utilisation` of the device's address space.
    pub fn preconditioned(self, precondition: PreconditionKind, utilisation: Ratio) -> Self {
        Self { precondition, utilisation, ..self }
    }

    /// Returns the table of this device in an experiment file, with every default filled in.
    fn resolved(&self) -> serde_json::Value {
        let mut all = serde_json::Map::new();
        all.insert("kind".to_string(), self.settings.kind().name.into());
        if self.precondition != PreconditionKind::None {
            all.insert("precondition".to_string(), serde_json::json!(self.precondition));
            all.insert("utilisation".to_string(), serde_json::json!(self.utilisation));
        }
        if let serde_json::Value::Object(settings) = self.settings.resolved() {
            all.extend(settings);
        }
        serde_json::Value::Object(all)
    }
}

impl System {
    /// The tree of `devices` under the one called `target`. Other devices are allowed and never built. Each child must
    /// exist and have at most one parent, and no device may contain itself.
    pub fn of(
        devices: impl IntoIterator<Item = (String, DeviceDescription)>,
        target: impl Into<String>,
    ) -> Result<Self, ConfigError> {
        let system = Self { devices: devices.into_iter().collect(), target: target.into() };
        system.check_tree()?;
        if !system.devices.contains_key(&system.target) {
            return Err(system.no_device(&system.target, "", "run.target".to_string()));
        }
        Ok(system)
    }

    /// A system of one device.
    pub fn single(name: &str, device: DeviceDescription) -> Result<Self, ConfigError> {
        Self::of([(name.to_string(), device)], name)
    }

    /// Returns the devices by name.
    pub fn devices(&self) -> &BTreeMap<String, DeviceDescription> {
        &self.devices
    }

    /// Returns the device that serves the workload.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Returns the names in results of the target and of all devices under it, of the first ten thousand.
    pub(crate) fn instances(&self) -> Vec<String> {
        let mut names = Vec::new();
        // A device and, for one of several, what tells it from the others.
        let mut pending = vec![(self.target.clone(), String::new())];
        while let Some((device, suffix)) = pending.pop().filter(|_| names.len() < DEVICES_MAX) {
            pending.extend(self.children_of(&device, &suffix).into_iter().rev());
            names.push(device + &suffix);
        }
        names
    }

    /// Whether the device with this name in results has a parent that `can` do something with it: it is asked about the
    /// settings of the parent and the name of the child's table.
    pub(crate) fn parent(&self, name: &str, can: impl Fn(&dyn DeviceSettings, &str) -> bool) -> bool {
        let mut pending = vec![(self.target.clone(), String::new())];
        while let Some((device, suffix)) = pending.pop() {
            let children = self.children_of(&device, &suffix);
            if let Some((child, _)) = children.iter().find(|(child, suffix)| format!("{child}{suffix}") == name) {
                return can(&*self.devices[&device].settings, child);
            }
            pending.extend(children);
        }
        false
    }

    /// Whether the device `name` of the target's tree, which is none of several of one table, moves data in the
    /// background.
    pub(crate) fn moves_in_background(&self, name: &str) -> bool {
        self.devices.get(name).is_some_and(|device| device.settings.moves_in_background())
    }

    /// Whether reads of the host make a device of the tree write to flash. Then wear depends on them, too.
    pub fn reads_change_flash(&self) -> bool {
        let mut pending = vec![self.target.clone()];
        while let Some(name) = pending.pop() {
            let settings = &self.devices[&name].settings;
            if settings.reads_change_flash() {
                return true;
            }
            pending.extend(settings.children().into_iter().map(|child| child.device));
        }
        false
    }

    /// Returns the names in results of the target's children, in their order.
    pub fn child_names(&self) -> Vec<String> {
        self.children_of(&self.target, "").into_iter().map(|(device, suffix)| device + &suffix).collect()
    }

    /// Returns the children of a device, each with what tells it from others of its table.
    fn children_of(&self, device: &str, suffix: &str) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for ChildName { device, count, .. } in self.devices[device].settings.children() {
            match count {
                None => all.push((device, suffix.to_string())),
                Some(count) => {
                    let several = (0..count).take(DEVICES_MAX);
                    all.extend(several.map(|index| (device.clone(), format!("{suffix}.{index}"))));
                }
            }
        }
        all
    }

    /// Returns the target and the devices under it as tables `[device.NAME]` of an experiment file, with every default
    /// filled in.
    pub(super) fn resolved(&self) -> serde_json::Value {
        let mut devices = serde_json::Map::new();
        let mut pending = vec![self.target.clone()];
        while let Some(name) = pending.pop() {
            let device = &self.devices[&name];
            devices.insert(name, device.resolved());
            pending.extend(device.settings.children().into_iter().map(|child| child.device));
        }
        devices.sort_keys();
        devices.into()
    }

    /// The error for a name `found` at `key` that is no device. `but` is a device that cannot be meant.
    fn no_device(&self, found: &str, but: &str, key: String) -> ConfigError {
        let known = self.devices.keys().map(String::as_str).filter(|name| *name != but);
        ConfigError::new(key, NotFound::new("device of this experiment", found, known).into())
    }

    fn check_tree(&self) -> Result<(), ConfigError> {
        let mut parents: BTreeMap<String, String> = BTreeMap::new();
        for (name, device) in &self.devices {
            for child in device.settings.children() {
                let key = format!("device.{name}.{}", child.key);
                if !self.devices.contains_key(&child.device) {
                    return Err(self.no_device(&child.device, name, key));
                }
                if let Some(parent) = parents.insert(child.device.clone(), name.clone()) {
                    let message =
                        format!("`{}` is already a child of `{parent}`; a device has one parent", child.device);
                    let hint = "for several devices of one description use `child` and `count`";
                    return Err(ConfigError::new(key, Problem::with_hint(message, hint)));
                }
            }
        }
        // With one parent each, following the parents ends at a root or in a cycle.
        for name in self.devices.keys() {
            let mut chain = vec![name.as_str()];
            while let Some(parent) = parents.get(*chain.last().expect("it begins with one")) {
                chain.push(parent);
                if parent == name {
                    chain.reverse();
                    let message = format!("it contains itself: {}", chain.join(" -> "));
                    return Err(ConfigError::new(format!("device.{name}"), Problem::new(message)));
                }
                if chain.len() > self.devices.len() {
                    break; // a cycle further up, found from one of its own devices
                }
            }
        }
        Ok(())
    }
}
