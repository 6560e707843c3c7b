//! `esker mrc`: how much cache would help.

use std::process::ExitCode;

use esker_core::{Ratio, words};

use esker_curves::{CurveBuilder, CurveMethod, CurveObjects, CurveSettings, MissRatioCurve};
use serde_json::{Value, json};

use super::transfers::{Transfers, check_sample, check_warm_up, objects, parse_cache_size};
use crate::args::{Common, CurveMethodName, MrcArguments};
use crate::failure::Failure;
use crate::output;
use crate::output::{Outputs, json};
use crate::table::Table;

/// Computes and prints the curve.
pub(crate) fn run(arguments: &MrcArguments, common: &Common) -> Result<ExitCode, Failure> {
    check(arguments)?;
    let chosen = chosen_method(arguments)?;
    let json = Outputs::of_traces(arguments.json.force, &arguments.traces)?.json(&arguments.json, &json::CURVE)?;
    let objects = if arguments.start_block { CurveObjects::StartBlock } else { objects(arguments.object) };
    let asked =
        arguments.at.iter().map(|size| parse_cache_size("--at", size, objects)).collect::<Result<Vec<u64>, _>>()?;
    let transfers = Transfers::read(&arguments.traces, &arguments.read, arguments.sample.is_some(), common)?;
    let first_seed = common.seed.unwrap_or(1);
    let mut curves = Vec::new();
    let mut method = String::new();
    for index in 0..u64::from(arguments.seeds) {
        let seed = first_seed.wrapping_add(index);
        let settings = CurveSettings { method: chosen, objects, seed };
        method = settings.method.describe();
        curves.push(curve(&transfers, &settings, arguments.warm_up)?);
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

fn check(arguments: &MrcArguments) -> Result<(), Failure> {
    check_sample(arguments.sample, arguments.seeds, "an exact curve")?;
    check_warm_up(arguments.warm_up)?;
    if arguments.warm_up.is_some() && arguments.method == Some(CurveMethodName::Aet) {
        return Err(Failure::input(
            "--warm-up does not go with `--method aet`, which has one curve for the whole trace",
        )
        .with_hint("leave out one of them"));
    }
    if arguments.seeds == 0 || arguments.points < 2 {
        return Err(Failure::input("there has to be at least one seed and two points"));
    }
    Ok(())
}

fn chosen_method(arguments: &MrcArguments) -> Result<CurveMethod, Failure> {
    match (arguments.method, arguments.sample) {
        (None, None) | (Some(CurveMethodName::Exact), None) => Ok(CurveMethod::Exact),
        (None | Some(CurveMethodName::Shards), Some(rate)) => Ok(CurveMethod::Shards { rate }),
        (Some(CurveMethodName::Aet), None) => Ok(CurveMethod::Aet),
        (Some(CurveMethodName::Shards), None) => {
            Err(Failure::input("--method shards needs the size of its sample").with_hint("add --sample 1%"))
        }
        (Some(_), Some(_)) => Err(Failure::input("--sample is the sample of `--method shards`")
            .with_hint("leave out --sample or --method: the other methods look at every access")),
    }
}

/// The curve of all requests, or of those after a warm-up.
fn curve(transfers: &Transfers, settings: &CurveSettings, warm_up: Option<Ratio>) -> Result<MissRatioCurve, Failure> {
    let mut builder = CurveBuilder::new(settings);
    let (warm, mut requests, mut warming) = (transfers.warm_up(warm_up), 0, None);
    transfers.for_each(|transfer| {
        if warm > 0 && requests == warm {
            warming = Some(builder.so_far());
        }
        builder.request(transfer.offset, transfer.length);
        requests += 1;
        Ok(())
    })?;
    let all = builder.finish();
    Ok(match warming {
        Some(warming) => all.since(&warming),
        None => all,
    })
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
