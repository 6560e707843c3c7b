//! An experiment: a system, a workload, and the settings of the run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use esker_config::{ConfigError, Document, FileKind, Finding, Node, Span, Value, join, read};
use esker_core::registry::NotFound;
use serde_json::json;

use super::device::{over_preset, read_device};
use esker_core::Problem;
use esker_trace::{ReadOptions, TraceReader, WORKLOADS};

use super::events;
use super::preset::is_preset_file;
use super::run::{RunSettings, RunTarget};
use super::sweep::{Dimension, SweepPlan};
use super::system::{DeviceDescription, System};
use super::workload::{OneOrMore, WorkloadSettings, path_of};

/// An experiment. Everything is checked, except for errors that only show when a device is built or a trace opened.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The devices.
    pub system: System,
    /// The requests for the target.
    pub workload: WorkloadSettings,
    /// How the workload is run on the system.
    pub run: RunSettings,
    folder: PathBuf,
    file: File,
}

/// The file that an experiment was read from: for positions of errors, and for the points of a sweep. Empty if a
/// program made the experiment.
#[derive(Clone, Debug)]
struct File {
    document: Arc<Document>,
    /// The file's content without `[sweep]`.
    raw: Node,
    sweep: Arc<SweepPlan>,
    /// Position of each dotted key.
    positions: Arc<BTreeMap<String, Span>>,
}

const TABLES: [&str; 4] = ["workload", "device", "run", "sweep"];

/// What the file at `path` is, if it is a trace or the results of a run.
fn not_an_experiment(path: &Path) -> Option<Problem> {
    // What is read of a device or a FIFO is gone.
    if !path.is_file() || path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml")) {
        return None;
    }
    let shown = path.display();
    if let Some(format) = trace_format(path) {
        let message = format!("this is a trace (format {format}), not an experiment");
        let hint = format!(
            "`esker study {shown}` finds what to buy for it, `esker trace info {shown}` describes it; an experiment \
             names it as `trace` of [workload]"
        );
        return Some(Problem::with_hint(message, hint));
    }
    let is_json = std::fs::read(path).is_ok_and(|text| serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok());
    is_json.then(|| {
        let hint = format!("`esker report {shown}` draws the page of results that esker wrote");
        Problem::with_hint("this is JSON, and an experiment is a text in TOML", hint)
    })
}

/// The format of the trace at `path`, if it is a trace.
pub(crate) fn trace_format(path: &Path) -> Option<&'static str> {
    // What is read of a device or a FIFO is gone.
    if !path.is_file() {
        return None;
    }
    TraceReader::open_measured(path, &ReadOptions::default()).ok().map(|reader| reader.format().name)
}

impl Experiment {
    /// Makes an experiment of these parts. Relative paths in it start from the current folder.
    pub fn of(system: System, workload: WorkloadSettings, run: RunSettings) -> Result<Self, ConfigError> {
        run.check()?;
        workload.check()?;
        events::check(&run.events, &system)?;
        if run.settle.is_some() && workload.processes.is_some() {
            let message = "it repeats one stream of requests, but `workload.processes` asks for several";
            return Err(ConfigError::new("run.settle", Problem::new(message)));
        }
        Ok(Self { system, workload, run, folder: PathBuf::new(), file: File::none() })
    }

    /// Reads an experiment file. Relative paths in it start from the file's folder.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = read_text(path);
        let origin = path.display().to_string();
        let read = text.and_then(|text| Self::from_text(&text, &origin, path.parent().unwrap_or(Path::new(""))));
        // A file that is something else altogether is called what it is.
        let experiment = read.map_err(|error| match not_an_experiment(path) {
            Some(problem) => ConfigError { origin, ..ConfigError::new("", problem) },
            None => error,
        })?;
        // What the file names is an input as soon as it is named, whether or not this command reads it.
        experiment.traces().iter().chain(&experiment.swept_files()).for_each(|path| esker_files::protect(path));
        Ok(experiment)
    }

    /// Reads the text of an experiment file; `origin` is its name in errors. Relative paths in it start from the
    /// current folder.
    pub fn from_str(text: &str, origin: &str) -> Result<Self, ConfigError> {
        Self::from_text(text, origin, Path::new(""))
    }

    fn from_text(text: &str, origin: &str, folder: &Path) -> Result<Self, ConfigError> {
        let document = Arc::new(Document { origin: origin.to_string(), text: text.to_string() });
        let mut raw = document.parse()?;
        FileKind::Experiment.check(&document, &raw)?;
        let sweep = match &mut raw.value {
            Value::Table(table) => table.remove("sweep"),
            _ => None,
        };
        let sweep = sweep.map(|entry| SweepPlan::read(&entry.node)).transpose();
        let sweep = sweep.map_err(|finding| document.error(finding))?.unwrap_or_default();
        let experiment = Self::resolve(File::new(document, raw, Arc::new(sweep)), folder.to_path_buf())?;
        // An invalid dimension is an error of the file, not only of its points.
        for dimension in experiment.dimensions() {
            experiment.check_dimension(dimension).map_err(|finding| experiment.file.document.error(finding))?;
        }
        Ok(experiment)
    }

    /// Returns the experiment that `config` in a results file describes.
    pub fn from_resolved(config: &serde_json::Value, origin: &str) -> Result<Self, ConfigError> {
        let text = toml::to_string(config).map_err(|error| ConfigError {
            origin: origin.to_string(),
            ..ConfigError::new("", Problem::new(format!("this is no resolved configuration: {error}")))
        })?;
        Self::from_str(&text, origin)
    }

    /// Makes relative paths of traces start from `folder`. Files of presets and maps have been read already.
    pub fn in_folder(mut self, folder: &Path) -> Self {
        self.folder = folder.to_path_buf();
        self
    }

    /// Returns the folder from which relative paths start.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the trace files of the workload and of all points of the sweep; `-` is standard input.
    pub fn traces(&self) -> Vec<PathBuf> {
        let own = self.workload.trace.iter().flat_map(|trace| trace.as_slice().to_vec());
        let swept = self.dimensions().iter().flat_map(|dimension| {
            let path: Vec<&str> = dimension.path.iter().map(String::as_str).collect();
            let of = move |value: serde_json::Value| match path[..] {
                ["workload"] => value["trace"].clone(),
                ["workload", "trace"] => value,
                _ => serde_json::Value::Null,
            };
            let values = dimension.values().into_iter().map(of);
            values.filter_map(|value| serde_json::from_value::<OneOrMore>(value).ok())
        });
        own.chain(swept.flat_map(|trace| trace.as_slice().to_vec())).map(|name| path_of(&self.folder, &name)).collect()
    }

    /// Returns the files of presets and the maps of ranges that a dimension of the sweep names.
    fn swept_files(&self) -> Vec<PathBuf> {
        let mut names = Vec::new();
        for dimension in self.dimensions() {
            for value in dimension.values() {
                files_in(dimension.path.last().map_or("", String::as_str), &value, &mut names);
            }
        }
        names.iter().map(|name| self.folder.join(name)).collect()
    }

    /// Returns the name of the text in errors.
    pub fn origin(&self) -> &str {
        &self.file.document.origin
    }

    /// Returns the swept keys, in the order of the file.
    pub fn dimensions(&self) -> &[Dimension] {
        &self.file.sweep.dimensions
    }

    /// Returns which values of the dimensions make which point.
    pub(crate) fn sweep_plan(&self) -> &SweepPlan {
        &self.file.sweep
    }

    /// Returns this experiment at a point of the sweep: one value of each dimension, by its index.
    pub fn point(&self, choice: &[usize]) -> Result<Self, ConfigError> {
        let dimensions = self.dimensions();
        assert_eq!(choice.len(), dimensions.len(), "one value of each dimension");
        if choice.is_empty() {
            return Ok(self.clone());
        }
        let mut raw = self.file.raw.clone();
        // A new `kind` replaces its whole table, so kinds are set before other keys of the table.
        let mut order: Vec<usize> = (0..choice.len()).collect();
        order.sort_by_key(|&index| !dimensions[index].path.ends_with(&["kind".to_string()]));
        for index in order {
            let dimension = &dimensions[index];
            let path: Vec<&str> = dimension.path.iter().map(String::as_str).collect();
            let set = raw.set(&path, &dimension.at, dimension.values[choice[index]].clone());
            set.map_err(|message| self.file.document.error(Finding::new(&dimension.at, dimension.key(), message)))?;
        }
        let file = File::new(self.file.document.clone(), raw, self.file.sweep.clone());
        Self::resolve(file, self.folder.clone())
    }

    /// Returns the configuration of the target and the devices under it, with all defaults and presets filled in.
    /// Reading it again ([`Experiment::from_resolved`]) repeats the run.
    pub fn resolved(&self) -> serde_json::Value {
        let mut run = serde_json::Map::new();
        run.insert("target".to_string(), self.system.target().into());
        if let serde_json::Value::Object(settings) = json!(self.run) {
            run.extend(settings);
        }
        json!({ "workload": self.workload, "device": self.system.resolved(), "run": run })
    }

    /// Adds to `error` the position of its key in the file, if this was read from one.
    pub(crate) fn located(&self, error: ConfigError) -> ConfigError {
        self.file.located(error)
    }

    /// Returns true if the file itself contains the dotted `key`.
    pub(crate) fn has_key(&self, key: &str) -> bool {
        self.file.positions.contains_key(key)
    }

    fn resolve(file: File, folder: PathBuf) -> Result<Self, ConfigError> {
        let (workload, devices, run) =
            read_tables(&file.raw, &folder).map_err(|finding| file.document.error(finding))?;
        let (target, run) = run;
        let system = System::of(devices, target).map_err(|error| file.located(error))?;
        let experiment = Self::of(system, workload, run).map_err(|error| file.located(error))?;
        Ok(Self { folder, file, ..experiment })
    }

    fn check_dimension(&self, dimension: &Dimension) -> Result<(), Finding> {
        let unknown = |what, found: &str, known: Vec<&str>| {
            let problem = NotFound::new(what, found, known).into();
            Err(Finding::of(&dimension.at, dimension.key(), problem))
        };
        let first = dimension.path[0].as_str();
        if !TABLES[..3].contains(&first) {
            return unknown("table of an experiment", first, TABLES[..3].to_vec());
        }
        if first == "device" {
            let known: Vec<&str> = self.system.devices().keys().map(String::as_str).collect();
            let name = dimension.path.get(1).map_or("", String::as_str);
            if !known.contains(&name) {
                return unknown("device of this experiment", name, known);
            }
        }
        Ok(())
    }
}

impl File {
    fn new(document: Arc<Document>, raw: Node, sweep: Arc<SweepPlan>) -> Self {
        let positions = Arc::new(raw.positions());
        Self { document, raw, sweep, positions }
    }

    fn none() -> Self {
        Self::new(Arc::new(Document::none()), Node::empty_table(0..0), Arc::default())
    }

    /// Adds to `error` the position of its key, or of the innermost table around it.
    fn located(&self, error: ConfigError) -> ConfigError {
        self.document.located(&self.positions, error)
    }
}

/// Appends the files that the `value` of a device's `key` names, or tables inside it.
fn files_in(key: &str, value: &serde_json::Value, names: &mut Vec<String>) {
    match (key, value.as_str()) {
        ("preset", Some(name)) if !is_preset_file(name) => {}
        ("preset" | "map", Some(name)) => names.push(name.to_string()),
        _ => value.as_object().into_iter().flatten().for_each(|(key, inner)| files_in(key, inner, names)),
    }
}

/// The text of an experiment file.
pub(super) fn read_text(path: &Path) -> Result<String, ConfigError> {
    let wrong = |problem| ConfigError { origin: path.display().to_string(), ..ConfigError::new("", problem) };
    let bytes = esker_files::read(path).map_err(|error| wrong(Problem::new(format!("cannot read it: {error}"))))?;
    String::from_utf8(bytes).map_err(|_| {
        wrong(Problem::with_hint(
            "this is no text, and an experiment is a text in TOML",
            "docs/experiments.md shows one",
        ))
    })
}

pub(super) type Devices = BTreeMap<String, DeviceDescription>;
type Tables = (WorkloadSettings, Devices, (String, RunSettings));

fn read_tables(raw: &Node, folder: &Path) -> Result<Tables, Finding> {
    check_tables(raw)?;
    let part = |name: &str| {
        let missing = || Finding::new(&raw.at, "", format!("the table `[{name}]` is missing"));
        part_of(raw, name).ok_or_else(missing)
    };
    let workload = read_workload(part("workload")?)?;
    let run = read_run(part("run")?)?;
    Ok((workload, read_devices(part("device")?, folder)?, run))
}

pub(super) fn check_tables(raw: &Node) -> Result<(), Finding> {
    let mut tables = raw.as_table().into_iter().flatten();
    match tables.find(|(key, _)| !TABLES.contains(&key.as_str())) {
        Some((key, entry)) => {
            let problem = NotFound::new("table of an experiment", key, TABLES).into();
            Err(Finding::of(&entry.key_at, key, problem))
        }
        None => Ok(()),
    }
}

pub(super) fn part_of<'a>(raw: &'a Node, name: &str) -> Option<&'a Node> {
    raw.as_table().expect("a TOML document is a table").get(name).map(|entry| &entry.node)
}

pub(super) fn read_devices(devices: &Node, folder: &Path) -> Result<Devices, Finding> {
    let Some(devices) = devices.as_table() else {
        return Err(Finding::new(&devices.at, "device", format!("expected tables, found {}", devices.type_name())));
    };
    let devices = devices.iter().map(|(name, entry)| {
        let path = join("device", name);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(Finding::new(&entry.key_at, path, "a device's name is made of letters, digits, `-` and `_`"));
        }
        Ok((name.clone(), read_device(&entry.node, &path, folder)?))
    });
    devices.collect()
}

/// Reads the table `[workload]`; its key `synthetic` may name a preset.
fn read_workload(node: &Node) -> Result<WorkloadSettings, Finding> {
    let mut node = node.clone();
    if let Value::Table(table) = &mut node.value
        && let Some(synthetic) = table.get_mut("synthetic")
    {
        over_preset(&mut synthetic.node, "workload.synthetic", WORKLOADS)?;
    }
    read(&node, "workload")
}

/// Reads the table `[run]`: the target device, and the settings of the run.
pub(super) fn read_run(node: &Node) -> Result<(String, RunSettings), Finding> {
    let (mut own, mut common) = (node.clone(), Node::empty_table(node.at.clone()));
    own.move_keys(&["target"], &mut common);
    let settings = read(&own, "run").map_err(|mut finding| {
        finding.also_knows("run", &["target"]);
        finding
    })?;
    let RunTarget { target } = read(&common, "run")?;
    Ok((target, settings))
}
