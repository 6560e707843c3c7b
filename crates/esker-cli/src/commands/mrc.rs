//! `esker mrc`: how much cache would help.

use std::process::ExitCode;

use esker_core::words;

use esker_core::Ratio;
use esker_tier::mrc::{CurveBuilder, CurveMethod, CurveObjects, CurveSettings, MissRatioCurve, PAGE_BYTES};
use esker_trace::{Characteriser, CharacteriserSettings, DenseMap, Operation, Spool, TraceReader};
use serde_json::{Value, json};

use super::trace::{check_given_once, no_requests, read_options};
use crate::args::{Common, MrcArguments};
use crate::failure::Failure;
use crate::output::Outputs;
use crate::progress::Progress;
use crate::table::Table;
use crate::{cancel, output};

/// Draws the curve.
pub(crate) fn run(arguments: &MrcArguments, common: &Common) -> Result<ExitCode, Failure> {
    check(arguments)?;
    let json = Outputs::of_traces(arguments.json.force, &arguments.traces)?.json(&arguments.json)?;
    let (spool, map) = read(arguments, common)?;
    let first_seed = common.seed.unwrap_or(1);
    let mut curves = Vec::new();
    let mut method = String::new();
    for seed in first_seed..first_seed + u64::from(arguments.seeds) {
        let settings = CurveSettings {
            method: arguments.sample.map_or(CurveMethod::Exact, |rate| CurveMethod::Shards { rate }),
            objects: if arguments.start_block { CurveObjects::StartBlock } else { CurveObjects::Pages },
            seed,
        };
        method = settings.method.describe();
        curves.push(curve(&spool, &map, &settings)?);
    }
    match json {
        Some(json) => json.write_json(&value(arguments, &method, &curves))?,
        None => output::print(&render(arguments, &method, &curves))?,
    }
    Ok(ExitCode::SUCCESS)
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

/// Reads the trace; volumes are laid side by side, so that their pages differ.
fn read(arguments: &MrcArguments, common: &Common) -> Result<(Spool, DenseMap), Failure> {
    check_given_once(&arguments.traces)?;
    let mut reader = TraceReader::open(&arguments.traces, &read_options(&arguments.read))?;
    let bar = Progress::new(common.quiet, "B");
    bar.say("reading");
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

/// Sizes at which the curves are shown: where the first one bends, so that nothing is missed between two points.
fn sizes(arguments: &MrcArguments, curves: &[MissRatioCurve]) -> Vec<u64> {
    curves[0].thinned(arguments.points).points.iter().map(|point| point.objects).collect()
}

/// Lowest, mean and highest miss ratio over the seeds.
fn spread(curves: &[MissRatioCurve], objects: u64) -> (f64, f64, f64) {
    let ratios: Vec<f64> = curves.iter().map(|curve| curve.miss_ratio_at(objects)).collect();
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    (lowest, mean, ratios.iter().copied().fold(0.0, f64::max))
}

fn value(arguments: &MrcArguments, method: &str, curves: &[MissRatioCurve]) -> Value {
    let points: Vec<Value> = sizes(arguments, curves)
        .into_iter()
        .map(|objects| {
            let (lowest, mean, highest) = spread(curves, objects);
            let mut point = json!({ "objects": objects, "miss_ratio": mean });
            if !arguments.start_block {
                point["bytes"] = json!(objects * PAGE_BYTES);
            }
            if curves.len() > 1 {
                point["miss_ratio_lowest"] = json!(lowest);
                point["miss_ratio_highest"] = json!(highest);
            }
            point
        })
        .collect();
    json!({
        "method": method,
        "objects_are": if arguments.start_block { "start blocks" } else { "4 KiB pages" },
        "accesses": curves[0].accesses,
        "objects": curves[0].objects,
        "seeds": curves.len(),
        "points": points,
    })
}

fn render(arguments: &MrcArguments, method: &str, curves: &[MissRatioCurve]) -> String {
    let what = if arguments.start_block { "start blocks" } else { "4 KiB pages" };
    let several = curves.len() > 1;
    let mut heads = vec![what, "cache size", "miss ratio"];
    if several {
        heads.extend(["lowest", "highest"]);
    }
    let mut table = Table::new(&heads);
    for objects in sizes(arguments, curves) {
        let (lowest, mean, highest) = spread(curves, objects);
        let size = if arguments.start_block { "-".into() } else { words::bytes((objects * PAGE_BYTES) as f64) };
        let mut row = vec![words::count(objects), size, format!("{mean:.4}")];
        if several {
            row.extend([format!("{lowest:.4}"), format!("{highest:.4}")]);
        }
        table.row(row);
    }
    format!(
        "{} accesses to {} {what}; least recently used out first; {method}\n\n{}",
        words::count(curves[0].accesses),
        words::count(curves[0].objects),
        table.render()
    )
}
