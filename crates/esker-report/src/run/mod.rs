//! The page of one simulated run. The template `run.html` reads the types of results field by field.

mod arm;
mod children;
mod clusters;
mod events;
mod flash_caches;
mod parts;
mod terms;
mod windows;

use askama::Template;
use esker_core::words::{self, page};
use esker_results::{DiskReport, PlacementReport, RequestClass, RunResults};

use crate::chart::{self, Chart};
use crate::columns::Columns;
use crate::config;
use crate::error::RenderError;
use crate::filters;
use crate::glossary::{self, Term};
use crate::page::Frame;
use crate::run_event::RunEvent;
use arm::ArmPicture;
use children::Family;
use children::names;
use clusters::{Cluster, clusters};
use flash_caches::{FlashCache, flash_caches};
use parts::{Parts, parts};
use windows::{Allocation, allocations};

/// The page of a run.
#[derive(Template)]
#[template(path = "run.html", whitespace = "minimize")]
struct RunPage<'a> {
    frame: Frame<'a>,
    run: &'a RunResults,
    target: &'a str,
    headline: String,
    families: Vec<Family<'a>>,
    clusters: Vec<Cluster<'a>>,
    flash_caches: Vec<FlashCache<'a>>,
    allocations: Vec<Allocation<'a>>,
    parts: Vec<Parts<'a>>,
    events: &'a [RunEvent],
    arms: Vec<ArmPicture<'a>>,
    charts: Vec<Chart>,
    config: String,
    terms: Vec<Term>,
}

/// What a child holds at a moment, and what it answered before.
struct MapRow<'a> {
    name: &'a str,
    extents: u64,
    /// Its part of all extents of the host.
    part: f64,
    share: Option<f64>,
    target_share: Option<f64>,
}

/// Renders the page of a run: one HTML file that loads nothing.
///
/// # Errors
/// [`RenderError`], which is a bug.
pub fn render_run(run: &RunResults) -> Result<String, RenderError> {
    let target = target(run);
    let measured_from_s = run.series.first().map_or(0.0, |point| point.start_s);
    let end_s = measured_from_s + lasted_s(run);
    let events = events::of_run(run, measured_from_s, end_s);
    let mut columns = Columns::default();
    let mut charts = chart::of_run(run, &names(run, target), &events, &mut columns);
    let arms = arm::of_run(run);
    let path = |(index, one): (usize, &ArmPicture<'_>)| chart::arm_path(index, one.name, one.timeline, &mut columns);
    charts.extend(arms.iter().enumerate().filter_map(path));
    let clusters = clusters(run);
    let wear = |(index, one): (usize, &Cluster<'_>)| chart::cluster_wear(index, one.name, one.report, &mut columns);
    charts.extend(clusters.iter().enumerate().filter_map(wear));
    let page = RunPage {
        frame: Frame::new(&run.version, run.seed, run, &charts.iter().collect::<Vec<_>>(), columns)?,
        run,
        target,
        headline: headline(run, target),
        families: children::families(run, target),
        clusters,
        flash_caches: flash_caches(run),
        allocations: allocations(run),
        parts: parts(run),
        events: &events,
        arms,
        charts,
        config: config::as_toml(target, &run.config),
        terms: glossary::sorted(terms::TERMS),
    };
    Ok(page.render()?)
}

/// The name of the device that served the requests; empty if the results do not tell.
fn target(run: &RunResults) -> &str {
    let named = run.config["run"]["target"].as_str().filter(|name| run.devices.contains_key(*name));
    let only = || run.devices.keys().next().filter(|_| run.devices.len() == 1).map(String::as_str);
    named.or_else(only).unwrap_or_default()
}

/// How long was measured: as far as the results tell.
fn lasted_s(run: &RunResults) -> f64 {
    let series = run.series.last().zip(run.series.first()).map_or(0.0, |(last, first)| last.start_s - first.start_s);
    let stopped = run.saturated.map_or(0.0, |saturated| saturated.stopped_s);
    run.workload.duration_s.max(series).max(stopped)
}

/// The policy of the target, if it has one.
fn policy<'a>(run: &'a RunResults, target: &str) -> Option<&'a str> {
    run.config["device"][target]["policy"]["kind"].as_str()
}

/// The answer in a sentence.
fn headline(run: &RunResults, target: &str) -> String {
    let kind = run.devices.get(target).map_or("device", |device| device.kind.as_str());
    let policy = policy(run, target).map_or_else(String::new, |policy| format!(", {policy}"));
    let who = if target.is_empty() { "The device".to_string() } else { format!("{target} ({kind}{policy})") };
    if let Some(saturated) = &run.saturated {
        let (since, waiting) = (words::clock(saturated.since_s), words::count(saturated.backlog_requests));
        return format!("{who} cannot keep up: requests pile up from {since} on, and {waiting} waited at the end.");
    }
    let times = &run.requests.all.response_time;
    let rate = page::plain(run.throughput.requests_per_s).text();
    let (mean, p99) = (page::micros(times.mean_us).text(), page::micros(times.p99_us).text());
    let served = page::count(run.workload.requests as f64).text();
    format!("{who} answered {served} requests, {rate} a second, in {mean} on average; 99 % took at most {p99}.")
}

impl RunPage<'_> {
    fn kind(&self) -> &str {
        self.run.devices.get(self.target).map_or("", |device| &device.kind)
    }

    fn policy(&self) -> Option<&str> {
        policy(self.run, self.target)
    }

    fn capacity_bytes(&self) -> Option<u64> {
        Some(self.run.devices.get(self.target)?.capacity_bytes)
    }

    /// What the target moved; absent for devices that place nothing.
    fn placement(&self) -> Option<&PlacementReport> {
        self.run.devices.get(self.target)?.placement.as_ref()
    }

    /// The classes of requests that there were.
    fn classes(&self) -> Vec<(&'static str, &RequestClass)> {
        let requests = &self.run.requests;
        let all = [("all", &requests.all), ("reads", &requests.read), ("writes", &requests.write)];
        all.into_iter().filter(|(_, class)| class.count > 0).collect()
    }

    fn has_charts(&self, section: &str) -> bool {
        self.charts.iter().any(|chart| chart.section == section)
    }

    /// Returns true if there is a map with something to see: it needs a stretch of time besides the start.
    fn has_map(&self) -> bool {
        self.run.placement_map.as_ref().is_some_and(|map| map.frames.len() > 1 && !map.range_extents.is_empty())
    }

    /// The children in the last frame of the map. The script of the page writes the other frames.
    fn map_rows(&self) -> Vec<MapRow<'_>> {
        let Some(map) = &self.run.placement_map else { return Vec::new() };
        let Some(frame) = map.frames.last() else { return Vec::new() };
        let all: u64 = map.range_extents.iter().map(|&extents| u64::from(extents)).sum();
        let last = self.run.series.last();
        let rows = map.children.iter().zip(&frame.extents).map(|(name, counts)| {
            let extents = counts.iter().map(|&extents| u64::from(extents)).sum();
            let child = last.and_then(|point| point.children.get(name));
            MapRow {
                name,
                extents,
                part: extents as f64 / all.max(1) as f64,
                share: child.map(|child| child.share),
                target_share: child.and_then(|child| child.target_share),
            }
        });
        rows.collect()
    }

    /// The disks that took part, by name.
    fn disks(&self) -> Vec<(&str, &DiskReport)> {
        let disks = self.run.devices.iter();
        disks.filter_map(|(name, device)| Some((name.as_str(), device.disk.as_ref()?))).collect()
    }

    fn has_several_devices(&self) -> bool {
        self.run.devices.len() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn the_headline_says_how_fast_it_was_or_that_it_could_not_keep_up() {
        let mut run = samples::run();
        let expected = "volume (hybrid, wardrop) answered 400 requests, 100 a second, in 2\u{a0}ms on \
                        average; 99 % took at most 9\u{a0}ms.";
        assert_eq!(headline(&run, "volume"), expected);
        let (since_s, stopped_s) = (61.0, 70.0);
        run.saturated = Some(esker_results::Saturation { since_s, stopped_s, backlog_requests: 12_000 });
        let expected = "The device cannot keep up: requests pile up from 61 s on, and 12 000 waited at the end.";
        assert_eq!(headline(&run, ""), expected);
    }

    #[test]
    fn the_target_is_the_one_that_the_configuration_names_or_the_only_device() {
        let mut run = samples::run();
        assert_eq!(target(&run), "volume");
        run.config = serde_json::Value::Null;
        assert_eq!(target(&run), "");
        run.devices.retain(|name, _| name == "disk");
        assert_eq!(target(&run), "disk");
    }
}
