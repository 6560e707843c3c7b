//! The folder of a plan: the experiment, maps for volumes, figures, and what each file is.

use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

use esker_core::{Bytes, words};
use esker_results::study::plan::{MixPlan, PlanReport};
use esker_study::{PlacedData, PlacedPart, PlacedVolume, SPAN_MAX, ranges_of_experiment};

use crate::commands::study::quote;
use crate::failure::Failure;
use crate::output::{Content, NewFolders, Output, Outputs, json};

const EXPERIMENT: &str = "experiment.toml";
const MAP: &str = "plan.map";
/// The file with the figures.
pub(in crate::commands) const FIGURES: &str = "plan.json";
const README: &str = "README.txt";

/// The beginning of each text.
const HEAD: &str = "# A plan of esker";

/// A folder that a plan goes to.
pub(super) struct PlanFolder {
    path: PathBuf,
    experiment: Output,
    figures: Output,
    readme: Output,
    /// Dropped last, when the files are in their place or were given up.
    _folders: NewFolders,
}

impl PlanFolder {
    /// Claims the folder, before any work.
    pub(super) fn claim(path: &Path, outputs: &mut Outputs) -> Result<Self, Failure> {
        let _folders = outputs.claim_new_folder("-o", path)?;
        let mut claim = |name: &str, content| outputs.claim("", &path.join(name), content);
        Ok(Self {
            experiment: claim(EXPERIMENT, Content::Plan)?,
            figures: claim(FIGURES, Content::Json(&json::PLAN))?,
            readme: claim(README, Content::Plan)?,
            path: path.to_path_buf(),
            _folders,
        })
    }

    /// Writes the plan of the first workload, which is of `traces`.
    pub(super) fn write(
        self,
        report: &PlanReport,
        placed: &PlacedData,
        traces: &[PathBuf],
        outputs: &mut Outputs,
    ) -> Result<(), Failure> {
        let Some(plan) = report.plans.first().and_then(|one| one.plan.as_ref()) else { return Ok(()) };
        let mut config = plan.verified.design.config.clone();
        name_traces(&mut config["workload"], &self.path, traces);
        let mut write =
            |name: &str, text: &str| outputs.claim("", &self.path.join(name), Content::Plan)?.write_text(text);
        let of_experiment = ranges_of_experiment(&mut config, MAP);
        if let Some(map) = &of_experiment {
            write(MAP, &format!("{HEAD}: its ranges in the addresses of {EXPERIMENT}.\n{map}"))?;
        }
        let table = toml::to_string(&config).map_err(Failure::work)?;
        let head = format!("{HEAD}. `esker sim {EXPERIMENT}` simulates it.\n# {}\n", plan.title);
        self.experiment.write_text(&format!("{head}\n{table}"))?;
        let volumes = VolumeMap::all(placed);
        for VolumeMap { name, volume } in &volumes {
            write(
                name,
                &format!("{HEAD}: its ranges in the addresses of the volume {}.\n{}", volume.name, volume.map),
            )?;
        }
        self.figures.write_json(report)?;
        self.readme.write_text(&readme(plan, placed, of_experiment.is_some(), &volumes))
    }
}

/// Has the experiment find its traces from `folder` on.
fn name_traces(workload: &mut serde_json::Value, folder: &Path, traces: &[PathBuf]) {
    let names: Vec<serde_json::Value> = traces.iter().map(|trace| path_from(folder, trace).into()).collect();
    workload["trace"] = match &names[..] {
        [one] => one.clone(),
        _ => names.into(),
    };
}

/// The path of `file` for what is in `folder`: relative if they have more in common than the root.
fn path_from(folder: &Path, file: &Path) -> String {
    let (Ok(folder), Ok(absolute)) = (folder.canonicalize(), file.canonicalize()) else {
        return file.display().to_string();
    };
    let common = folder.components().zip(absolute.components()).take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(absolute.components().skip(common)).collect();
    if common > 1 { relative.display().to_string() } else { absolute.display().to_string() }
}

/// The map for a volume of the traces.
struct VolumeMap<'a> {
    /// The name of its file.
    name: String,
    volume: &'a PlacedVolume,
}

impl<'a> VolumeMap<'a> {
    /// Those of all volumes, each with a name of its own. None where there is but one place for all data.
    fn all(placed: &'a PlacedData) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        if placed.parts.len() == 1 {
            return all;
        }
        for volume in &placed.volumes {
            let is_free = |name: &String| name != MAP && all.iter().all(|other| other.name != *name);
            let stem = if placed.volumes.len() == 1 { "volume".to_string() } else { file_stem(&volume.name) };
            let others = (2..).map(|number| format!("{stem}-{number}.map"));
            let name = std::iter::once(format!("{stem}.map")).chain(others).find(is_free);
            all.push(Self { name: name.expect("one of them is free"), volume });
        }
        all
    }
}

/// The name of a volume as part of a file's name.
fn file_stem(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let stem: String = name.chars().map(plain).take(100).collect();
    // A hidden file would be overlooked, and a command takes what begins with a hyphen for an option.
    let stem = stem.trim_start_matches(['.', '-']);
    if stem.is_empty() { "volume".to_string() } else { stem.to_string() }
}

/// What each file is, and how to make volumes.
fn readme(plan: &MixPlan, placed: &PlacedData, has_map: bool, volumes: &[VolumeMap<'_>]) -> String {
    let mut text = format!("{HEAD}: {}\n\n", plan.title);
    let mut line = |file: &str, what: &str| writeln!(text, "{file:17} {what}").expect("a text takes all");
    line(EXPERIMENT, &format!("simulates it: esker sim {EXPERIMENT}"));
    if has_map {
        line(MAP, "the ranges of each device for that: touched data side by side");
    }
    for VolumeMap { name, volume } in volumes {
        let end = words::count(volume.end.0);
        line(name, &format!("the ranges of the volume {} as the trace has them, up to byte {end}", volume.name));
    }
    line(FIGURES, &format!("all figures; the page: esker report {FIGURES} -o plan.html"));
    text += "\nThe devices, by their names in maps:\n";
    for PlacedPart { name, title, count, .. } in &placed.parts {
        text += &match count {
            1 => format!("  {name}: {title}\n"),
            _ => format!("  {name}: {count} x {title}, striped as one device\n"),
        };
    }
    if volumes.is_empty() {
        return text + "\nAll data are on devices of one kind, so that a volume needs no map.\n";
    }
    text += &how_to_make(placed, volumes);
    text += "A volume that is there, and has devices of these names, takes a map by `esker volume set --map`.\n";
    text
}

/// The commands that make the volumes. A device belongs to one volume, so that several volumes take a partition each.
fn how_to_make(placed: &PlacedData, volumes: &[VolumeMap<'_>]) -> String {
    let mut text = match volumes.len() {
        1 => "\nA volume that follows the plan, with your devices in place of those in /dev;".to_string(),
        _ => "\nVolumes that follow the plan. Each takes a partition of its own of every device, at least as large as \
              said\nbelow its command, and larger in proportion where the volume has more data than the trace touches. \
              Put yours\nin place of those in /dev;"
            .to_string(),
    };
    text += " what the plan does not\nname goes to the first device that has room:\n";
    // Data that nobody asks for are kept off flash.
    let (flash, others): (Vec<usize>, Vec<_>) = (0..placed.parts.len()).partition(|&part| placed.parts[part].is_flash);
    let order = [others, flash].concat();
    for (number, VolumeMap { name, volume }) in (1..).zip(volumes) {
        let place = |part: usize| match volumes.len() {
            1 => format!("/dev/{}", placed.parts[part].name),
            _ => format!("/dev/{}p{number}", placed.parts[part].name),
        };
        let devices = order.iter().map(|&part| format!(" --device {}={}", placed.parts[part].name, place(part)));
        let stem = name.trim_end_matches(".map");
        let (file, map) = (quote(&format!("{stem}.volume")), quote(name));
        text +=
            &format!("  esker volume create {file}{} --policy fast-first --map {map}\n", devices.collect::<String>());
        if volumes.len() > 1 {
            let size = |&part: &usize| {
                format!("{} of {}", place(part), partition((&volume.bytes_on, volume.end), part, order[0]))
            };
            text += &format!("    # {}\n", order.iter().map(size).collect::<Vec<_>>().join(", "));
        }
    }
    text
}

/// The size of the partition that a volume takes of a device: for its ranges there and, on the `first` device, for all
/// other addresses up to its `end`.
fn partition((bytes_on, end): (&[Bytes], Bytes), part: usize, first: usize) -> Bytes {
    const STEP: u64 = 16 << 20;
    /// For what the volume itself keeps on each device.
    const STRUCTURES: u64 = 64 << 20;
    let on = |part: usize| bytes_on.get(part).map_or(0, |bytes| bytes.0);
    let named: u64 = bytes_on.iter().map(|bytes| bytes.0).sum();
    // Where addresses are made up, such as hashes of names, there is nothing between those that the ranges name.
    let is_real = end <= SPAN_MAX;
    let rest = if part == first && is_real { end.0.saturating_sub(named) } else { 0 };
    let data = on(part).saturating_add(rest);
    // A twentieth stays free, so that extents can move; and there is some to spare.
    let size = data.saturating_add(data / 10).saturating_add(STRUCTURES);
    Bytes(size.checked_next_multiple_of(STEP).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_no_options_and_not_hidden() {
        let names = [
            ("ho/st.3", "ho-st.3"),
            ("../../evil.0", "evil.0"),
            ("-rf.0", "rf.0"),
            (".hidden", "hidden"),
            ("/", "volume"),
            ("", "volume"),
        ];
        for (name, stem) in names {
            assert_eq!(file_stem(name), stem, "{name}");
        }
    }

    #[test]
    fn a_partition_has_room_for_all_addresses_unless_they_are_made_up() {
        let on = [10, 20].map(Bytes::gib);
        let of = |end: Bytes| [0, 1].map(|part| partition((&on, end), part, 1).0 >> 30);
        // A tenth more, and the volume's structures.
        assert_eq!(of(Bytes::gib(100)), [11, 99]);
        assert_eq!(of(Bytes(1 << 63)), [11, 22]);
        assert_eq!(of(Bytes(u64::MAX)), [11, 22]);
    }
}
