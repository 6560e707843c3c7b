//! Renders the page of a study. The template `report.html` reads these types field by field, and does not compile if a
//! field has another name.

use askama::Template;
use esker_core::words;
use esker_core::words::page;
use esker_results::profile::BusiestWindow;
use esker_results::study::{
    Budgets, Candidate, CandidateOutcome, Endurance, Level, MarketAnswer, Measured, ReplayMode, StudyReport,
    TranslationLayer, WorkloadStudy,
};
use esker_results::{FlashReport, LatencySummary, PageOperations, RecoveryWay, RequestClass, SteadyOrigin};

use crate::answer::{
    because, carries_nothing, drive_writes, findings, grade_meaning, headroom, in_short, is_equal, life, price,
    price_note, sources, worst_p99_us,
};
use crate::bars::{self, Bars};
use crate::chart::{self, Chart};
use crate::columns::Columns;
use crate::config;
use crate::dies::{self, Dies};
use crate::error::RenderError;
use crate::families::{FamilyRow, families};
use crate::filters;
use crate::glossary::{self, Term};
use crate::misalignment::{pages_of, times_of};
use crate::page::Frame;
use crate::plan::PlanSection;
use crate::prices::{self, Prices};
use crate::purchase::{capacity_on_sale, market_word, money, on_sale, on_sale_about, size};
use crate::ruled_out::{self, Group};
use crate::standing::{self, Standing, standing};
use crate::stretch::{self, SlowStretch};

/// The page of a study.
#[derive(Template)]
#[template(path = "report.html", whitespace = "minimize")]
struct StudyPage<'a> {
    frame: Frame<'a>,
    study: &'a StudyReport,
    workloads: &'a [WorkloadPage<'a>],
    terms: Vec<Term>,
}

/// The parts of the page about one workload: its study, and the pictures drawn from it.
struct WorkloadPage<'a> {
    /// Prefix of ids in the page: "w1".
    id: String,
    data: &'a WorkloadStudy,
    charts: Vec<Chart>,
    /// Price against response time.
    prices: Option<Prices>,
    /// The designs that were not simulated.
    ruled_out: Vec<Group<'a>>,
    /// The cheapest mix of devices.
    plan: Option<PlanSection<'a>>,
    /// Flash lifetimes and write amplification.
    bars: Vec<Bars>,
    /// The slowest request and those around it.
    slowest: Option<SlowStretch>,
    /// How busy each die was.
    dies: Vec<Dies>,
}

/// Renders the report of `study`: one HTML file that loads nothing. The same study always gives the same bytes.
///
/// # Errors
/// [`RenderError`], which is a bug.
pub fn render(study: &StudyReport) -> Result<String, RenderError> {
    let mut columns = Columns::default();
    let mut workloads = Vec::new();
    for (index, data) in study.workloads.iter().enumerate() {
        let id = format!("w{}", index + 1);
        let charts = chart::charts(study, data, &id, &mut columns);
        let currency = data.candidates.first().map_or("USD", |candidate| &candidate.cost.currency);
        workloads.push(WorkloadPage {
            plan: data.plan.as_deref().map(|plan| PlanSection { id: id.clone(), plan, currency }),
            id,
            data,
            charts,
            prices: prices::prices(data),
            ruled_out: ruled_out::ruled_out(data),
            bars: bars::lifetime(study, data),
            slowest: stretch::slow_stretch(data),
            dies: dies::dies(data),
        });
    }
    let charts: Vec<&Chart> = workloads.iter().flat_map(|workload: &WorkloadPage<'_>| &workload.charts).collect();
    let frame = Frame::new(&study.version, study.seed, study, &charts, columns)?;
    let page = StudyPage { frame, study, workloads: &workloads, terms: glossary::sorted(glossary::TERMS) };
    Ok(page.render()?)
}

/// Which sections exist. The contents, the links of the verdict and the sections themselves use these, so that they
/// agree.
impl WorkloadPage<'_> {
    fn has_requests(&self) -> bool {
        self.data.profile.requests > 0
    }

    fn has_designs(&self) -> bool {
        !self.data.candidates.is_empty() || self.data.measured.is_some()
    }

    fn has_prices(&self) -> bool {
        self.prices.is_some()
    }

    /// The best designs of all families, if there are several.
    fn families(&self) -> Vec<FamilyRow<'_>> {
        families(self.data)
    }

    fn has_ruled_out(&self) -> bool {
        !self.ruled_out.is_empty()
    }

    fn has_other_markets(&self) -> bool {
        !self.data.verdict.other_markets.is_empty()
    }

    fn has_flash(&self) -> bool {
        self.data.candidates.iter().any(|candidate| candidate.endurance.is_some())
    }

    fn has_cache(&self) -> bool {
        !self.data.miss_ratio_curve.points.is_empty()
    }

    fn has_misalignments(&self) -> bool {
        !self.data.misalignments.is_empty()
    }

    /// Name of the section for findings of this topic.
    fn section(&self, topic: &str) -> Option<&'static str> {
        match topic {
            "workload" if self.has_requests() => Some("the workload"),
            "price" if self.has_prices() => Some("the prices"),
            "performance" if self.has_designs() => Some("the designs"),
            "lifetime" if self.has_flash() => Some("wear"),
            "cache" if self.has_cache() => Some("the curve"),
            _ => None,
        }
    }
}

impl WorkloadPage<'_> {
    fn candidate(&self, name: &str) -> Option<&Candidate> {
        self.data.candidates.iter().find(|candidate| candidate.name == name)
    }

    fn recommended(&self) -> Option<&Candidate> {
        self.candidate(self.data.verdict.recommended.as_ref()?)
    }

    fn is_recommended(&self, candidate: &Candidate) -> bool {
        self.data.verdict.recommended.as_ref() == Some(&candidate.name)
    }

    /// The design that the verdict is about: the recommended one, else the nearest.
    fn answer(&self) -> Option<&Candidate> {
        self.recommended().or_else(|| self.candidate(self.data.verdict.nearest.as_ref()?))
    }

    /// The design that is the answer of another market.
    fn answer_of(&self, other: &MarketAnswer) -> Option<&Candidate> {
        self.candidate(other.recommended.as_ref().or(other.nearest.as_ref())?)
    }

    /// The market of the verdict, for people.
    fn market(&self) -> &str {
        match market_word(&self.data.verdict.market) {
            "On-premises" => "on-premises",
            word => word,
        }
    }

    /// Returns the designs with their places in the study, which select colours: first the recommended one, then the
    /// others that keep every budget, then those that cannot be judged.
    fn ranked(&self) -> Vec<(usize, &Candidate)> {
        let mut ranked: Vec<(usize, &Candidate)> = self.data.candidates.iter().enumerate().collect();
        ranked.sort_by_key(|(_, candidate)| (!self.is_recommended(candidate), standing(candidate)));
        ranked
    }

    /// Whether paper has only the first rows of the tables of designs. The style sheet knows the same number.
    fn is_cut_on_paper(&self) -> bool {
        self.data.candidates.len() > 9
    }

    fn has_headroom(&self) -> bool {
        self.data.candidates.iter().any(|candidate| candidate.headroom.is_some())
    }

    /// Whether the writes a day that makers warrant are known of any design.
    fn has_warranted_writes(&self) -> bool {
        let mut endurances = self.data.candidates.iter().filter_map(|candidate| candidate.endurance.as_ref());
        endurances.any(|endurance| endurance.drive_writes_per_day_sold.is_some())
    }

    /// The currency of the prices, before which a comma.
    fn currency(&self) -> String {
        self.data.candidates.first().map_or_else(String::new, |first| format!(", {}", first.cost.currency))
    }

    /// Columns for designs that only "today" leaves empty.
    fn columns_after_times(&self) -> usize {
        3 + usize::from(self.grows()) + usize::from(self.has_headroom())
    }

    /// Lifetime of the recommended design.
    fn recommended_life(&self) -> Option<&Endurance> {
        self.recommended()?.endurance.as_ref()
    }

    /// The percentile that the recommended design was judged by.
    fn recommended_p99_us(&self) -> Option<f64> {
        worst_p99_us(self.recommended()?)
    }

    /// Number of designs that keep the budgets.
    fn within(&self) -> usize {
        self.data.candidates.iter().filter(|candidate| standing(candidate) == Standing::Kept).count()
    }

    /// Whether any design was simulated under the load at the end of the budgeted years.
    fn grows(&self) -> bool {
        self.data.candidates.iter().any(|candidate| candidate.grown.is_some())
    }

    fn is_closed(&self) -> bool {
        self.data.replay.mode == ReplayMode::Closed
    }

    /// First arrival on the clock of the runs, in nanoseconds since 1970; 0 if replay has its own time.
    fn runs_begin_ns(&self) -> u64 {
        if self.is_closed() { 0 } else { self.first_arrival_ns() }
    }

    /// Time from the first arrival to the last, if the trace has times.
    fn duration_s(&self) -> Option<f64> {
        self.data.profile.duration_s.filter(|duration| *duration > 0.0)
    }

    /// The busiest windows that are not longer than the trace, with their terms.
    fn busiest_windows(&self) -> Vec<(&'static str, &'static str, BusiestWindow)> {
        let profile = &self.data.profile;
        let windows = [
            ("busiest_minute", "Busiest minute", profile.busiest_minute),
            ("busiest_hour", "Busiest hour", profile.busiest_hour),
        ];
        let long_enough =
            |window: &BusiestWindow| self.duration_s().is_some_and(|duration| duration >= window.length_s);
        windows.into_iter().filter_map(|(key, word, window)| Some((key, word, window.filter(long_enough)?))).collect()
    }

    /// First arrival in nanoseconds since 1970, if the trace has such a clock.
    fn first_arrival_ns(&self) -> u64 {
        self.data.profile.first_arrival_ns
    }

    fn has_clock(&self) -> bool {
        words::is_clock(self.first_arrival_ns())
    }

    fn has_charts(&self, section: &str) -> bool {
        self.charts.iter().any(|chart| chart.section == section)
    }

    fn has_limits(&self) -> bool {
        self.data.candidates.iter().any(|candidate| !candidate.limits.is_empty())
    }

    fn has_served(&self) -> bool {
        self.data.candidates.iter().any(|candidate| candidate.requests.is_some())
    }

    /// Reads and writes of the designs that served any.
    fn classes(&self) -> Vec<(&Candidate, &'static str, &RequestClass)> {
        let mut classes = Vec::new();
        for candidate in &self.data.candidates {
            let Some(requests) = &candidate.requests else { continue };
            let kinds = [("reads", &requests.read), ("writes", &requests.write)];
            let kinds = kinds.into_iter().filter(|(_, class)| class.count > 0);
            classes.extend(kinds.map(|(kind, class)| (candidate, kind, class)));
        }
        classes
    }

    /// Flash designs by translation layer, if these differ.
    fn layers(&self) -> Vec<(&Candidate, &TranslationLayer)> {
        let candidates = self.data.candidates.iter();
        let layers: Vec<_> =
            candidates.filter_map(|candidate| Some((candidate, candidate.translation_layer.as_ref()?))).collect();
        let differ = layers.iter().any(|(_, layer)| layer.name != layers[0].1.name);
        if differ { layers } else { Vec::new() }
    }

    /// The designs with their experiment files.
    fn configurations(&self) -> Vec<(&Candidate, String)> {
        let candidates = self.data.candidates.iter();
        candidates.map(|candidate| (candidate, config::as_toml(&candidate.name, &candidate.config))).collect()
    }
}

/// The values of the row "today".
fn measured_times(measured: &Measured) -> [f64; 5] {
    let Measured { all, busiest_hour_p99_us, .. } = measured;
    [all.p50_us, all.p99_us, all.p999_us, all.max_us, *busiest_hour_p99_us]
}

/// Page operations of a drive, with their names.
fn operations(flash: &FlashReport) -> [(&'static str, PageOperations); 2] {
    [("Page reads", flash.reads), ("Page programs", flash.programs)]
}

/// What a design misses, without that it did not serve its requests: its row says so anyway.
fn reasons(candidate: &Candidate, budgets: &Budgets) -> Vec<String> {
    let mut reasons = standing::reasons(candidate, budgets);
    if candidate.outcome != CandidateOutcome::Served && !reasons.is_empty() {
        reasons.remove(0);
    }
    reasons
}

/// The values of a design's row; absent if it did not serve its requests.
fn response_times(candidate: &Candidate) -> [Option<f64>; 5] {
    let times = candidate.counted_response();
    let of = |value: fn(&LatencySummary) -> f64| times.as_ref().map(value);
    let worst = worst_p99_us(candidate);
    [of(|times| times.p50_us), of(|times| times.p99_us), of(|times| times.p999_us), of(|times| times.max_us), worst]
}

fn mean_us(candidate: &Candidate) -> Option<f64> {
    Some(candidate.counted_response()?.mean_us)
}

fn p99_us(candidate: &Candidate) -> Option<f64> {
    Some(candidate.counted_response()?.p99_us)
}

fn devices_of(candidate: Option<&Candidate>) -> Option<u32> {
    Some(candidate?.device_count)
}

fn saturates_when_grown(candidate: &Candidate) -> bool {
    candidate.grown.is_some_and(|grown| !grown.keeps_up)
}

fn grown_p99_us(candidate: &Candidate) -> Option<f64> {
    candidate.grown?.busiest_hour_p99_us
}

/// Start of the busiest interval of the resource that limits a design; absent if nothing was recorded over time.
fn peak_at_s(candidate: &Candidate) -> Option<f64> {
    candidate.limits.first().filter(|_| !candidate.series.is_empty()).map(|limit| limit.peak_s)
}

/// Head of the column for the grown load.
fn after_years(study: &StudyReport) -> String {
    format!("after {}", page::years(study.budgets.years).text())
}
