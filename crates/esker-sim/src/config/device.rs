//! Device tables: kind, preset, overrides, precondition.

use std::path::Path;

use esker_config::{Finding, Node, Span, Table, TableEntry, join, read};
use esker_core::registry::{self, NotFound};
use esker_core::{Preset, Ratio, did_you_mean, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::preset::{NamedPreset, preset_node};
use super::system::{DeviceDescription, PreconditionKind};
use crate::device::{DEVICE_KINDS, DeviceKind, DeviceSettings, device_kind};
use esker_core::Problem;

/// The keys that every device table may have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommonSettings {
    /// Kind of device. Not needed with a preset, which knows its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// A preset: a named set of parameters, for all keys that the table does not contain. Its name, or the path of a
    /// TOML file with such parameters and their `kind`, relative to the file that names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// State of the device's data before the run.
    #[serde(default)]
    pub precondition: PreconditionKind,
    /// Share of the host's address space that preconditioning writes (default: all of it).
    #[serde(default = "whole")]
    pub utilisation: Ratio,
}

const fn whole() -> Ratio {
    Ratio::ONE
}

/// Reads the device table `node` at the dotted `path`. Files of presets are found from `folder` on.
pub(crate) fn read_device(node: &Node, path: &str, folder: &Path) -> Result<DeviceDescription, Finding> {
    let Some(table) = node.as_table() else {
        return Err(Finding::new(&node.at, path, format!("expected a table, found {}", node.type_name())));
    };
    let mut common = Node::empty_table(node.at.clone());
    let mut own = node.clone();
    own.move_keys(COMMON_KEYS, &mut common);
    let keys = common;
    let common: CommonSettings = read(&keys, path)?;
    if common.utilisation > Ratio::ONE {
        let at = keys.as_table().map_or(&keys.at, |table| &table["utilisation"].node.at);
        return Err(Finding::of(at, join(path, "utilisation"), beyond_whole("utilisation", common.utilisation)));
    }
    let kind = common.kind.as_deref().map(|name| known_kind(name, &table["kind"], path)).transpose()?;
    let found = |name: &str| {
        NamedPreset::find(name, kind.map(|kind| kind.name), folder)
            .map_err(|problem| Finding::of(&table["preset"].node.at, join(path, "preset"), problem))
    };
    let preset = common.preset.as_deref().map(found).transpose()?;
    let kind = match (kind, &preset) {
        (Some(kind), _) => kind,
        (None, Some(preset)) => preset.kind(),
        (None, None) => return Err(nameless(table, node, path)),
    };
    let merged = match &preset {
        None => own,
        Some(preset) => {
            let mut merged = preset.node(&table["preset"].node.at);
            merged.move_keys(COMMON_KEYS, &mut Node::empty_table(0..0));
            merged.overlay(own);
            merged
        }
    };
    let settings = (kind.build.read)(&merged).and_then(|mut settings| {
        settings.read_files(folder)?;
        Ok(settings)
    });
    let settings = settings.map_err(|error| {
        let mut finding = Finding::read(&merged, path, error);
        finding.also_knows(path, COMMON_KEYS);
        if let (Problem::MissingKey { hint, .. }, None, false) =
            (&mut *finding.problem, &preset, (kind.build.presets)().is_empty())
        {
            let presets = (kind.build.presets)().iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ");
            *hint = Some(format!("name a preset, which gives all of them: {presets}"));
        }
        finding
    })?;
    Ok(DeviceDescription {
        settings: settings.into(),
        precondition: common.precondition,
        utilisation: common.utilisation,
    })
}

/// The problem that the share `value` of `key` is more than 100 %.
pub(super) fn beyond_whole(key: &str, value: Ratio) -> Problem {
    Problem::with_hint(format!("that is {value}, and a share is at most 100%"), words::share_hint(key, value))
}

impl NamedPreset {
    /// Returns the settings of this preset with the table `own` laid over them, which is at the dotted `path`. Keys in
    /// `but` are not settings. Errors about the preset itself point to `named_at`, where it was named.
    pub fn with_settings(
        &self,
        own: Option<&Node>,
        path: &str,
        but: &[&str],
        named_at: &Span,
    ) -> Result<Box<dyn DeviceSettings>, Finding> {
        let mut merged = self.node(named_at);
        merged.move_keys(COMMON_KEYS, &mut Node::empty_table(0..0));
        if let Some(own) = own {
            let mut own = own.clone();
            own.move_keys(but, &mut Node::empty_table(0..0));
            merged.overlay(own);
        }
        (self.kind().build.read)(&merged).map_err(|error| {
            let mut finding = Finding::read(&merged, path, error);
            finding.also_knows(path, but);
            finding
        })
    }
}

/// Error for a table with neither `kind` nor `preset`; perhaps one of them is misspelt.
fn nameless(table: &Table, node: &Node, path: &str) -> Finding {
    for (key, entry) in table {
        let meant = ["kind", "preset"];
        if did_you_mean(key, meant).is_some() {
            let known = meant.map(str::to_string).to_vec();
            return Finding::of(&entry.key_at, join(path, key), Problem::UnknownKey { found: key.clone(), known });
        }
    }
    let kinds = registry::names(DEVICE_KINDS).collect::<Vec<_>>().join(", ");
    let hint = format!("name a `preset`, or one of the kinds: {kinds}");
    Finding::of(&node.at, path, Problem::with_hint("`kind` or `preset` is missing", hint))
}

/// The keys of [`CommonSettings`].
pub(super) const COMMON_KEYS: &[&str] = &["kind", "preset", "precondition", "utilisation"];

fn known_kind(name: &str, entry: &TableEntry, path: &str) -> Result<&'static DeviceKind, Finding> {
    device_kind(name).map_err(|name| Finding::of(&entry.node.at, join(path, "kind"), name.into()))
}

/// Lays the table `node`, at the dotted `path`, over the settings of the preset of `presets` that it names, if any.
pub(super) fn over_preset(node: &mut Node, path: &str, presets: &'static [Preset]) -> Result<(), Finding> {
    let Some(entry) = node.as_table().and_then(|table| table.get("preset")) else { return Ok(()) };
    let Some(name) = entry.node.as_str() else { return Ok(()) };
    let Some(preset) = presets.iter().find(|preset| preset.name == name) else {
        let problem = NotFound::new("preset", name, presets.iter().map(|preset| preset.name)).into();
        return Err(Finding::of(&entry.node.at, join(path, "preset"), problem));
    };
    let mut merged = preset_node(preset, &entry.node.at);
    node.move_keys(&["preset"], &mut Node::empty_table(0..0));
    merged.overlay(node.clone());
    *node = merged;
    Ok(())
}
