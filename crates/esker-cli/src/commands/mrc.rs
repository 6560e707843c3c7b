//! `esker mrc`: how much cache would help.

use std::process::ExitCode;

use esker_core::{Ratio, words};

use esker_curves::{CurveBuilder, CurveMethod, CurveObjects, CurveSettings, MissRatioCurve};
use serde_json::{Value, json};

use super::sampled::{check_sampled_size, empty_sample, is_too_small};
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
    let by_default = asked.is_empty();
    let bends = || curves[0].thinned(arguments.points).points.into_iter().map(|point| point.objects).collect();
    let mut sizes = if by_default { bends() } else { asked };
    if let Some(rate) = arguments.sample {
        keep_known(&curves, &mut sizes, by_default, rate)?;
    }
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
    if arguments.points < 2 {
        return Err(Failure::input(format!("--points {}: a curve has at least two points", arguments.points))
            .with_hint("--points 2 or more; --at prints a size alone, such as --at 16MiB"));
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

/// Refuses samples that know nothing, or nothing of the smallest cache that was asked for. Such sizes are left out of
/// those by default. A cache of no objects misses whatever the sample.
fn keep_known(curves: &[MissRatioCurve], sizes: &mut Vec<u64>, by_default: bool, rate: Ratio) -> Result<(), Failure> {
    if curves.iter().any(|curve| curve.objects == 0) {
        return Err(empty_sample(rate));
    }
    let too_small = |size: &u64| *size > 0 && is_too_small(*size, rate);
    if by_default && sizes.iter().any(|size| *size > 0 && !too_small(size)) {
        sizes.retain(|size| !too_small(size));
    }
    let mean = curves.iter().map(|curve| curve.objects as f64).sum::<f64>() / curves.len() as f64;
    match sizes.iter().filter(|size| **size > 0).min() {
        Some(smallest) => check_sampled_size(*smallest, rate, mean.round() as u64),
        None => Ok(()),
    }
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
