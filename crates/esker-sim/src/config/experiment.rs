//! A whole experiment file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use esker_core::Nanos;
use serde_json::json;

use super::device::{DeviceTable, check_tree, read_device, unknown};
use super::error::ConfigError;
use super::node::{Node, Span, Value};
use super::read::{Document, Finding, join, key_places, read};
use super::run::RunSettings;
use super::sweep::{Dimension, read_dimensions};
use super::workload::{OneOrMore, WorkloadSettings};

/// An experiment: a workload, a tree of devices, and how to run one on the other. Everything is checked but what only
/// building a device or opening a trace can find out.
#[derive(Clone, Debug)]
pub struct Experiment {
    document: Arc<Document>,
    folder: PathBuf,
    /// The file as written, without its `[sweep]`.
    raw: Node,
    dimensions: Arc<Vec<Dimension>>,
    /// Where each dotted key stands.
    places: Arc<BTreeMap<String, Span>>,
    pub(crate) devices: Arc<BTreeMap<String, DeviceTable>>,
    /// What is asked of the devices.
    pub workload: WorkloadSettings,
    /// How it is run.
    pub run: RunSettings,
}

const TABLES: [&str; 4] = ["workload", "device", "run", "sweep"];

/// A timeline is for looking at; more requests would only make the results large.
const TIMELINE_MAX: u32 = 10_000;

impl Experiment {
    /// Reads an experiment file. Paths in it are relative to its folder.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let origin = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError {
            origin: origin.clone(),
            position: None,
            key: String::new(),
            message: format!("cannot read it: {error}"),
            hint: None,
        })?;
        Ok(Self::from_str(&text, &origin)?.in_folder(path.parent().unwrap_or(Path::new(""))))
    }

    /// Reads the text of an experiment file; `origin` names it in errors. Paths in it are
    /// relative to the current folder.
    pub fn from_str(text: &str, origin: &str) -> Result<Self, ConfigError> {
        let document = Arc::new(Document { origin: origin.to_string(), text: text.to_string() });
        let mut raw = document.parse()?;
        let sweep = match &mut raw.value {
            Value::Table(table) => table.remove("sweep"),
            _ => None,
        };
        let dimensions = sweep.map(|entry| read_dimensions(&entry.node)).transpose();
        let dimensions = dimensions.map_err(|finding| document.error(finding))?.unwrap_or_default();
        let experiment = Self::resolve(document, PathBuf::new(), raw, Arc::new(dimensions))?;
        // A dimension that cannot be set at all is an error of the file, not only of its points.
        for dimension in experiment.dimensions.iter() {
            experiment.check_dimension(dimension).map_err(|finding| experiment.document.error(finding))?;
        }
        Ok(experiment)
    }

    /// The experiment that a results file describes in its `config`.
    pub fn from_resolved(config: &serde_json::Value, origin: &str) -> Result<Self, ConfigError> {
        let text = toml::to_string(config).map_err(|error| ConfigError {
            origin: origin.to_string(),
            position: None,
            key: String::new(),
            message: format!("this is no resolved configuration: {error}"),
            hint: None,
        })?;
        Self::from_str(&text, origin)
    }

    /// Reads relative paths from `folder` on.
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.folder = folder.to_path_buf();
        self
    }

    /// The folder that paths are relative to.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The trace files of the workload, and those that points of the sweep take in its place; `-` is standard input.
    pub fn traces(&self) -> Vec<PathBuf> {
        let own = self.workload.trace.iter().flat_map(|trace| trace.as_slice().to_vec());
        let swept = self.dimensions.iter().flat_map(|dimension| {
            let path: Vec<&str> = dimension.path.iter().map(String::as_str).collect();
            let of = move |value: serde_json::Value| match path[..] {
                ["workload"] => value["trace"].clone(),
                ["workload", "trace"] => value,
                _ => serde_json::Value::Null,
            };
            let values = dimension.values().into_iter().map(of);
            values.filter_map(|value| serde_json::from_value::<OneOrMore>(value).ok())
        });
        own.chain(swept.flat_map(|trace| trace.as_slice().to_vec())).map(|name| self.path_of(&name)).collect()
    }

    /// Where the file called `name` in the experiment lies; `-` is standard input.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        if name == "-" { name.into() } else { self.folder.join(name) }
    }

    /// What the text came from, as errors name it.
    pub fn origin(&self) -> &str {
        &self.document.origin
    }

    /// The parameters to sweep, in the order of the file.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions
    }

    /// This experiment with other values in place: one of each dimension, by its index.
    pub fn point(&self, choice: &[usize]) -> Result<Self, ConfigError> {
        assert_eq!(choice.len(), self.dimensions.len(), "one value of each dimension");
        let mut raw = self.raw.clone();
        // A new `kind` begins its table anew, so kinds are set before the keys that belong to them.
        let mut order: Vec<usize> = (0..choice.len()).collect();
        order.sort_by_key(|&index| !self.dimensions[index].path.ends_with(&["kind".to_string()]));
        for index in order {
            let dimension = &self.dimensions[index];
            let path: Vec<&str> = dimension.path.iter().map(String::as_str).collect();
            let set = raw.set(&path, &dimension.at, dimension.values[choice[index]].clone());
            set.map_err(|message| self.document.error(Finding::new(&dimension.at, dimension.key(), message)))?;
        }
        Self::resolve(self.document.clone(), self.folder.clone(), raw, self.dimensions.clone())
    }

    /// This experiment with the dotted `key` set to `value`, which is TOML (`"32KiB"` with its quotes, `4`,
    /// `{ kind = "dftl" }`).
    pub fn with(&self, key: &str, value: &str) -> Result<Self, ConfigError> {
        let fault = |message: String| ConfigError {
            origin: self.origin().to_string(),
            position: None,
            key: key.to_string(),
            message,
            hint: None,
        };
        let node = Node::parse(&format!("value = {value}"));
        let node = node.map_err(|_| fault(format!("`{value}` is no TOML value; text stands in quotes")))?;
        let node = node.as_table().expect("a document is a table")["value"].node.clone();
        // Not written in the document, so errors about it have no position there.
        let nowhere = usize::MAX..usize::MAX;
        let path: Vec<&str> = key.split('.').collect();
        let mut raw = self.raw.clone();
        raw.set(&path, &nowhere, node.moved_to(&nowhere)).map_err(fault)?;
        Self::resolve(self.document.clone(), self.folder.clone(), raw, self.dimensions.clone())
    }

    /// The configuration with every default and preset filled in, of the target and the devices under it: reading it
    /// again ([`Experiment::from_resolved`]) repeats the run.
    pub fn resolved(&self) -> serde_json::Value {
        let mut devices = serde_json::Map::new();
        let mut pending = vec![self.run.target.clone()];
        while let Some(name) = pending.pop() {
            let table = &self.devices[&name];
            devices.insert(name, table.resolved());
            pending.extend(table.settings.children().into_iter().map(|child| child.device));
        }
        devices.sort_keys();
        json!({ "workload": self.workload, "device": devices, "run": self.run })
    }

    /// An error about the dotted `key`, at its place in the file.
    pub(crate) fn error_at(&self, key: &str, message: impl Into<String>, hint: Option<String>) -> ConfigError {
        let at = self.place(key);
        self.document.error(Finding::somewhere(at, key, message, hint))
    }

    /// Whether the file itself has the dotted `key`.
    pub(crate) fn has_key(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }

    /// Where `key` stands, or the nearest table around it.
    fn place(&self, key: &str) -> Option<Span> {
        let mut key = key;
        loop {
            if let Some(span) = self.places.get(key) {
                return Some(span.clone());
            }
            key = &key[..key.rfind('.')?];
        }
    }

    fn resolve(
        document: Arc<Document>,
        folder: PathBuf,
        raw: Node,
        dimensions: Arc<Vec<Dimension>>,
    ) -> Result<Self, ConfigError> {
        let mut places = BTreeMap::new();
        key_places(&raw, "", &mut places);
        let read = || -> Result<_, Finding> {
            let (workload, devices, run) = read_tables(&raw)?;
            check_tree(&devices, &places)?;
            if !devices.contains_key(&run.target) {
                let known = devices.keys().map(String::as_str).collect();
                let at = places.get("run.target").cloned().unwrap_or_default();
                return Err(unknown("device of this experiment", &run.target, known, &at, "run.target"));
            }
            if run.timeline > TIMELINE_MAX {
                let at = places.get("run.timeline").cloned().unwrap_or_default();
                let message = format!("{} requests are more than {TIMELINE_MAX}", run.timeline);
                return Err(Finding::new(&at, "run.timeline", message));
            }
            if run.series == Some(Nanos::ZERO) {
                let at = places.get("run.series").cloned().unwrap_or_default();
                return Err(Finding::new(&at, "run.series", "an interval is longer than 0s"));
            }
            workload.check().map_err(|(key, message)| {
                let key = if key.is_empty() { "workload".to_string() } else { join("workload", key) };
                Finding::new(places.get(&key).or(places.get("workload")).unwrap_or(&(0..0)), key, message)
            })?;
            Ok((workload, devices, run))
        };
        let (workload, devices, run) = read().map_err(|finding| document.error(finding))?;
        let (devices, places) = (Arc::new(devices), Arc::new(places));
        Ok(Self { document, folder, raw, dimensions, places, devices, workload, run })
    }

    fn check_dimension(&self, dimension: &Dimension) -> Result<(), Finding> {
        let first = dimension.path[0].as_str();
        if !TABLES[..3].contains(&first) {
            return Err(unknown(
                "table of an experiment",
                first,
                TABLES[..3].to_vec(),
                &dimension.at,
                &dimension.key(),
            ));
        }
        if first == "device" {
            let known: Vec<&str> = self.devices.keys().map(String::as_str).collect();
            return match dimension.path.get(1) {
                Some(name) if known.contains(&name.as_str()) => Ok(()),
                name => {
                    let name = name.map_or("", String::as_str);
                    Err(unknown("device of this experiment", name, known, &dimension.at, &dimension.key()))
                }
            };
        }
        Ok(())
    }
}

type Tables = (WorkloadSettings, BTreeMap<String, DeviceTable>, RunSettings);

fn read_tables(raw: &Node) -> Result<Tables, Finding> {
    let table = raw.as_table().expect("a TOML document is a table");
    if let Some((key, entry)) = table.iter().find(|(key, _)| !TABLES.contains(&key.as_str())) {
        return Err(unknown("table of an experiment", key, TABLES.to_vec(), &entry.key_at, key));
    }
    let part = |name: &str| {
        let missing = || Finding::new(&raw.at, "", format!("the table `[{name}]` is missing"));
        table.get(name).map(|entry| &entry.node).ok_or_else(missing)
    };
    let workload = read(part("workload")?, "workload")?;
    let run = read(part("run")?, "run")?;
    let devices = part("device")?;
    let Some(devices) = devices.as_table() else {
        return Err(Finding::new(&devices.at, "device", format!("expected tables, found {}", devices.type_name())));
    };
    let devices = devices.iter().map(|(name, entry)| {
        let path = join("device", name);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(Finding::new(&entry.key_at, path, "a device's name is made of letters, digits, `-` and `_`"));
        }
        Ok((name.clone(), read_device(&entry.node, &path)?))
    });
    Ok((workload, devices.collect::<Result<_, _>>()?, run))
}
