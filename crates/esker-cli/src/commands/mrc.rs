//! `esker mrc`: how much cache would help.

use std::process::ExitCode;

use esker_core::words;

use esker_core::{Bytes, Ratio};
use esker_tier::mrc::{CurveBuilder, CurveMethod, CurveObjects, CurveSettings, MissRatioCurve};
use esker_trace::{Characteriser, CharacteriserSettings, DenseMap, Operation, Spool, TraceReader};
use serde_json::{Value, json};

use super::trace::{check_given_once, no_requests, read_options};
use crate::args::{Common, CurveObject, MrcArguments};
use crate::failure::Failure;
use crate::output::Outputs;
use crate::progress::Progress;
use crate::table::Table;
use crate::{cancel, output};

/// Computes and prints the curve.
pub(crate) fn run(arguments: &MrcArguments, common: &Common) -> Result<ExitCode, Failure> {
    check(arguments)?;
    let json = Outputs::of_traces(arguments.json.force, &arguments.traces)?.json(&arguments.json)?;
    let objects = objects(arguments);
    let asked = arguments.at.iter().map(|size| parse_cache_size(size, objects)).collect::<Result<Vec<u64>, _>>()?;
    let (spool, map) = read(arguments, common)?;
    let first_seed = common.seed.unwrap_or(1);
    let mut curves = Vec::new();
    let mut method = String::new();
    for seed in first_seed..first_seed + u64::from(arguments.seeds) {
        let settings = CurveSettings {
            method: arguments.sample.map_or(CurveMethod::Exact, |rate| CurveMethod::Shards { rate }),
            objects,
            seed,
        };
        method = settings.method.describe();
        curves.push(curve(&spool, &map, &settings)?);
    }
    // By default: the sizes where the first curve bends, so that nothing is missed between two points.
    let bends = || curves[0].thinned(arguments.points).points.into_iter().map(|point| point.objects).collect();
    let sizes = if asked.is_empty() { bends() } else { asked };
    let answer = Answer { objects, method, curves, sizes };
    match json {
        Some(json) => json.write_json(&answer.value())?,
        None => output::print(&answer.render())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn objects(arguments: &MrcArguments) -> CurveObjects {
    match arguments.object {
        _ if arguments.start_block => CurveObjects::StartBlock,
        CurveObject::Sector => CurveObjects::Sectors,
        CurveObject::Page => CurveObjects::Pages,
        CurveObject::StartBlock => CurveObjects::StartBlock,
    }
}

/// A size of `--at` in objects.
fn parse_cache_size(text: &str, objects: CurveObjects) -> Result<u64, Failure> {
    let text = text.trim();
    if let Ok(count) = text.replace('_', "").parse() {
        return Ok(count);
    }
    let bytes: Bytes = text.parse().map_err(|error| {
        Failure::input(format!("--at {text}: {error}")).with_hint("give a number of objects, or bytes such as 64MiB")
    })?;
    match objects.bytes() {
        Some(size) if bytes.0 >= size => Ok(bytes.0 / size),
        Some(size) => Err(Failure::input(format!("--at {text} has no room for one object of {}", Bytes(size)))),
        None => Err(Failure::input(format!("--at {text}: start blocks have no size of their own"))
            .with_hint("give a number of objects, or choose `--object 4KiB`")),
    }
}

fn check(arguments: &MrcArguments) -> Result<(), Failure> {
    match arguments.sample {
        Some(rate) if rate == Ratio::ZERO || rate > Ratio::ONE => {
            Err(Failure::input(format!("--sample {rate} makes no sense: it is above 0 % and at most 100 %")))
        }
        None if arguments.seeds > 1 => Err(Failure::input("--seeds goes with --sample: an exact curve has no spread")),
        _ if arguments.seeds == 0 || arguments.points < 2 => {
            Err(Failure::input("there has to be at least one seed and two points"))
        }
        _ => Ok(()),
    }
}

/// Reads the traces. Volumes get addresses side by side, so that their pages differ.
fn read(arguments: &MrcArguments, common: &Common) -> Result<(Spool, DenseMap), Failure> {
    check_given_once(&arguments.traces)?;
    let mut reader = TraceReader::open(&arguments.traces, &read_options(&arguments.read))?;
    let bar = Progress::new(common.quiet, "B");
    bar.set_message("reading");
    let mut spool = esker_trace::SpoolWriter::default();
    let mut characteriser = Characteriser::new(CharacteriserSettings::default());
    let (mut batch, mut transfers) = (Vec::new(), 0);
    while reader.next_batch(&mut batch)? {
        if cancel::requested() {
            return Err(Failure::cancelled());
        }
        characteriser.push_all(&batch);
        for record in &batch {
            transfers += u64::from(matches!(record.operation, Operation::Read | Operation::Write));
            spool.push(record)?;
        }
        bar.set(reader.bytes_read(), reader.bytes_total().unwrap_or(0));
    }
    if reader.notes().records == 0 {
        return Err(no_requests(&arguments.traces[0], reader.notes()));
    }
    if transfers == 0 {
        let name = arguments.traces[0].display();
        return Err(Failure::input(format!("{name} has no reads and no writes: there is nothing to cache")));
    }
    let map = DenseMap::new(characteriser.touched());
    Ok((spool.finish(reader.volumes().to_vec())?, map))
}

fn curve(spool: &Spool, map: &DenseMap, settings: &CurveSettings) -> Result<MissRatioCurve, Failure> {
    let mut builder = CurveBuilder::new(settings);
    for (index, record) in spool.records().enumerate() {
        if matches!(record.operation, Operation::Read | Operation::Write)
            && let Some(offset) = map.map(record.volume, record.offset)
        {
            builder.request(offset, u64::from(record.length));
        }
        if index % 65_536 == 0 && cancel::requested() {
            return Err(Failure::cancelled());
        }
    }
    Ok(builder.finish())
}

/// The result to print.
struct Answer {
    objects: CurveObjects,
    method: String,
    /// One curve for each seed.
    curves: Vec<MissRatioCurve>,
    /// Cache sizes to show, in objects.
    sizes: Vec<u64>,
}

impl Answer {
    /// Lowest, mean and highest miss ratio over the seeds.
    fn spread(&self, objects: u64) -> (f64, f64, f64) {
        let ratios: Vec<f64> = self.curves.iter().map(|curve| curve.miss_ratio_at(objects)).collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        (lowest, mean, ratios.iter().copied().fold(0.0, f64::max))
    }

    /// Size in bytes of a cache of `objects` objects.
    fn bytes(&self, objects: u64) -> Option<u64> {
        self.objects.bytes().map(|size| objects.saturating_mul(size))
    }

    fn value(&self) -> Value {
        let point = |&objects: &u64| {
            let (lowest, mean, highest) = self.spread(objects);
            let mut point = json!({ "objects": objects, "miss_ratio": mean });
            if let Some(bytes) = self.bytes(objects) {
                point["bytes"] = json!(bytes);
            }
            if self.curves.len() > 1 {
                point["miss_ratio_lowest"] = json!(lowest);
                point["miss_ratio_highest"] = json!(highest);
            }
            point
        };
        json!({
            "method": self.method,
            "objects_are": self.objects.describe(),
            "accesses": self.curves[0].accesses,
            "objects": self.curves[0].objects,
            "seeds": self.curves.len(),
            "points": self.sizes.iter().map(point).collect::<Vec<_>>(),
        })
    }

    fn render(&self) -> String {
        let what = self.objects.describe();
        let several = self.curves.len() > 1;
        let mut heads = vec![what, "cache size", "miss ratio"];
        if several {
            heads.extend(["lowest", "highest"]);
        }
        let mut table = Table::new(&heads);
        for &objects in &self.sizes {
            let (lowest, mean, highest) = self.spread(objects);
            let size = self.bytes(objects).map_or("-".to_string(), |bytes| words::bytes(bytes as f64));
            let mut row = vec![words::count(objects), size, format!("{mean:.4}")];
            if several {
                row.extend([format!("{lowest:.4}"), format!("{highest:.4}")]);
            }
            table.row(row);
        }
        format!(
            "{} accesses to {} {what}; least recently used out first; {}\n\n{}",
            words::count(self.curves[0].accesses),
            words::count(self.curves[0].objects),
            self.method,
            table.render()
        )
    }
}
