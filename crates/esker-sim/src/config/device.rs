//! Device tables: kind, preset, overrides, precondition.

use std::collections::BTreeMap;

use esker_core::registry::{self, NotFound};
use esker_core::{Hint, Preset, Ratio, did_you_mean};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::node::{Entry, Node, Span, Table, Value};
use super::read::{Finding, join, read, read_with};
use crate::device::{DEVICE_KINDS, DeviceKind, DeviceSettings, device_kind};

/// The keys that every device table may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommonSettings {
    /// Kind of device; may be left out where a preset says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Named set of parameters for everything that the table does not say itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Condition of the content before the run.
    #[serde(default)]
    pub precondition: PreconditionKind,
    /// Share of the host's address space that preconditioning writes (default: all of it).
    #[serde(default = "whole")]
    pub utilisation: Ratio,
}

const fn whole() -> Ratio {
    Ratio::ONE
}

/// Condition of a device's content before the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PreconditionKind {
    /// As from the factory.
    #[default]
    None,
    /// Written once in address order.
    Filled,
    /// As random overwriting leaves it once write amplification is steady.
    Steady,
}

/// A device table that has been read.
#[derive(Debug)]
pub(crate) struct DeviceTable {
    pub(crate) kind: &'static DeviceKind,
    pub(crate) settings: Box<dyn DeviceSettings>,
    pub(crate) precondition: PreconditionKind,
    pub(crate) utilisation: Ratio,
}

impl DeviceTable {
    /// The table with every default and the preset filled in.
    pub(crate) fn resolved(&self) -> serde_json::Value {
        let mut all = serde_json::Map::new();
        all.insert("kind".to_string(), self.kind.name.into());
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

/// Reads the device table `node` at the dotted `path`.
pub(crate) fn read_device(node: &Node, path: &str) -> Result<DeviceTable, Finding> {
    let Some(table) = node.as_table() else {
        return Err(Finding::new(&node.at, path, format!("expected a table, found {}", node.type_name())));
    };
    let mut common = Node::empty_table(node.at.clone());
    let mut own = node.clone();
    move_common_keys(&mut own, &mut common);
    let settings: CommonSettings = read(&common, path)?;
    let kind = settings.kind.as_deref().map(|name| known_kind(name, &table["kind"], path)).transpose()?;
    let preset = settings.preset.as_deref().map(|name| known_preset(name, kind, &table["preset"], path)).transpose()?;
    let kind = match (kind, preset) {
        (Some(kind), _) => kind,
        (None, Some(preset)) => device_kind(preset.kind).expect("a preset is registered with its kind"),
        (None, None) => return Err(nameless(table, node, path)),
    };
    let merged = match preset {
        None => own,
        Some(preset) => {
            let mut merged = preset_node(preset, &table["preset"].node.at);
            move_common_keys(&mut merged, &mut Node::empty_table(0..0));
            merged.overlay(own);
            merged
        }
    };
    let read_kind = read_with(&merged, path, kind.build.read);
    let settings_of_kind = read_kind.map_err(|finding| match (&finding.hint, preset) {
        (Some(_), _) => finding.also_knows(path, COMMON_KEYS),
        (None, None) if finding.message.ends_with("is missing") && !(kind.build.presets)().is_empty() => {
            let presets = (kind.build.presets)().iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
            finding.with_hint(format!("name a preset, which gives all of them: {presets}"))
        }
        _ => finding,
    })?;
    Ok(DeviceTable {
        kind,
        settings: settings_of_kind,
        precondition: settings.precondition,
        utilisation: settings.utilisation,
    })
}

/// A table that says neither `kind` nor `preset`, perhaps because one of them is misspelt.
fn nameless(table: &Table, node: &Node, path: &str) -> Finding {
    for (key, entry) in table {
        if let Some(meant) = did_you_mean(key, ["kind", "preset"]) {
            let message = format!("unknown key; did you mean `{meant}`?");
            return Finding::new(&entry.key_at, join(path, key), message);
        }
    }
    let kinds = registry::names(DEVICE_KINDS).collect::<Vec<_>>().join(", ");
    let hint = format!("name a `preset`, or one of the kinds: {kinds}");
    Finding::new(&node.at, path, "`kind` or `preset` is missing").with_hint(hint)
}

const COMMON_KEYS: &[&str] = &["kind", "preset", "precondition", "utilisation"];

fn move_common_keys(from: &mut Node, to: &mut Node) {
    if let (Value::Table(from), Value::Table(to)) = (&mut from.value, &mut to.value) {
        for key in COMMON_KEYS {
            if let Some((key, entry)) = from.remove_entry(*key) {
                to.insert(key, entry);
            }
        }
    }
}

fn known_kind(name: &str, entry: &Entry, path: &str) -> Result<&'static DeviceKind, Finding> {
    device_kind(name).map_err(|name| not_found(&name, &entry.node.at, &join(path, "kind")))
}

fn known_preset(name: &str, kind: Option<&DeviceKind>, entry: &Entry, path: &str) -> Result<&'static Preset, Finding> {
    let (at, key) = (&entry.node.at, join(path, "preset"));
    let all = DEVICE_KINDS.iter().flat_map(|kind| (kind.build.presets)().iter());
    if let Some(preset) = all.clone().find(|preset| preset.name == name) {
        return match kind {
            Some(kind) if kind.name != preset.kind => {
                let message = format!("`{name}` is a preset of the kind `{}`, not of `{}`", preset.kind, kind.name);
                Err(Finding::new(at, key, message))
            }
            _ => Ok(preset),
        };
    }
    let fitting = all.filter(|preset| kind.is_none_or(|kind| kind.name == preset.kind)).map(|preset| preset.name);
    Err(unknown("preset", name, fitting.collect(), at, &key))
}

/// "`x` is no preset; did you mean `y`?"
pub(crate) fn unknown(what: &'static str, found: &str, known: Vec<&str>, at: &Span, key: &str) -> Finding {
    not_found(&NotFound::new(what, found, known), at, key)
}

fn not_found(name: &NotFound, at: &Span, key: &str) -> Finding {
    let finding = Finding::new(at, key, name.to_string());
    match name.hint() {
        Some(hint) => finding.with_hint(hint),
        None => finding,
    }
}

/// A preset's parameters; an error in them stands where the user named the preset.
fn preset_node(preset: &Preset, at: &Span) -> Node {
    let node = Node::parse(preset.toml);
    node.unwrap_or_else(|error| panic!("the preset {} is not TOML: {error}", preset.name)).moved_to(at)
}

/// Checks that children exist, that each device has one parent at most, and that no device contains itself.
pub(crate) fn check_tree(
    devices: &BTreeMap<String, DeviceTable>,
    places: &BTreeMap<String, Span>,
) -> Result<(), Finding> {
    let place = |path: &str| places.get(path).cloned().unwrap_or_default();
    let mut parents: BTreeMap<String, String> = BTreeMap::new();
    for (name, table) in devices {
        for child in table.settings.children() {
            let path = format!("device.{name}.{}", child.key);
            if !devices.contains_key(&child.device) {
                let known = devices.keys().map(String::as_str).filter(|other| other != name).collect();
                return Err(unknown("device of this experiment", &child.device, known, &place(&path), &path));
            }
            if let Some(parent) = parents.insert(child.device.clone(), name.clone()) {
                let message = format!("`{}` is already a child of `{parent}`; a device has one parent", child.device);
                let hint = "for several devices of one description use `child` and `count`";
                return Err(Finding::new(&place(&path), path, message).with_hint(hint));
            }
        }
    }
    // One parent each: following the parents either ends at a root or goes round.
    for name in devices.keys() {
        let mut chain = vec![name.as_str()];
        while let Some(parent) = parents.get(*chain.last().expect("it begins with one")) {
            chain.push(parent);
            if parent == name {
                chain.reverse();
                let path = format!("device.{name}");
                let message = format!("it contains itself: {}", chain.join(" -> "));
                return Err(Finding::new(&place(&path), path, message));
            }
            if chain.len() > devices.len() {
                break; // a cycle further up, found from one of its own devices
            }
        }
    }
    Ok(())
}
