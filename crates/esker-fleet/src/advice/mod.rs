//! Advice for servers that run already: which drives wear out when, and whether balancing is worth its own writes.
//!
//! Samples of drives ([`AdviceInputs`]: `smartctl --json`, or what Ceph keeps of it) give what a drive is written in a
//! day; the catalogue, the drive's own count or the user say what it may be written in all. What cannot be judged is
//! said to be so, with the reason, and no plan rests on it. docs/advise.md has the rules.
//!
//! In a host, drives may change places (`host`). In a Ceph cluster, the policy `life` of [`esker_cluster::BALANCERS`]
//! chooses placement groups, and scripts move them and take them back (`balance`). Nothing is changed here.
//!
//! ```
//! use esker_catalogue::Catalogue;
//! use esker_fleet::advice::{AdviceInputs, AdviceSettings, advise};
//!
//! let mut inputs = AdviceInputs::default();
//! for (day, units) in [(0, 300_000_000), (30, 310_000_000)] {
//!     let sample = format!(
//!         r#"{{"json_format_version": [1, 0], "smartctl": {{"version": [7, 3]}},
//!         "local_time": {{"time_t": {}}}, "device": {{"name": "/dev/nvme0", "protocol": "NVMe"}},
//!         "model_name": "Samsung SSD 990 PRO 1TB", "serial_number": "S1",
//!         "nvme_total_capacity": 1000204886016,
//!         "nvme_smart_health_information_log": {{"data_units_written": {units}}}}}"#,
//!         1_780_000_000 + day * 86_400
//!     );
//!     inputs.read("sample.json", sample.as_bytes()).unwrap();
//! }
//! let advice = advise(&inputs, &AdviceSettings::default(), &Catalogue::builtin("current").unwrap()).unwrap();
//! let drive = &advice.drives[0];
//! // 10 million units of 512,000 bytes in 30 days.
//! assert_eq!(drive.written_bytes_per_day.unwrap().likely.round(), 170_666_666_667.0);
//! assert!(drive.worn_out.is_some() && drive.not_judged.is_none());
//! ```

mod balance;
mod ceph;
mod collect;
mod drive;
mod endurance;
mod error;
mod figures;
mod host;
mod json;
mod judged;
mod smart;
mod time;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use esker_catalogue::Catalogue;
use esker_core::Bytes;
use esker_results::advice::{AdviceVerdict, ClusterAdvice, DriveAdvice, DriveExchange};

pub use balance::UpmapScripts;
pub use collect::AdviceInputs;
pub use error::AdviceError;
pub use smart::drive_wear;
pub use time::day_in_words;

use drive::DriveHistory;
use judged::JudgedDrive;

/// What the user wants.
#[derive(Clone, Debug, PartialEq)]
pub struct AdviceSettings {
    /// The years that are looked ahead.
    pub horizon_years: f64,
    /// What moves may copy; `None` for a twentieth of what is stored.
    pub budget: Option<Bytes>,
    /// What drives may be written in all, by a part of their model's name.
    pub ratings: Vec<(String, Bytes)>,
    /// What another drive costs, by a part of its model's name, in the catalogue's currency.
    pub prices: Vec<(String, f64)>,
}

impl Default for AdviceSettings {
    /// Five years, as most warranties.
    fn default() -> Self {
        Self { horizon_years: 5.0, budget: None, ratings: Vec::new(), prices: Vec::new() }
    }
}

/// An advice.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// Every drive.
    pub drives: Vec<DriveAdvice>,
    /// Drives of a host that should change places.
    pub exchanges: Vec<DriveExchange>,
    /// What concerns the Ceph cluster.
    pub cluster: Option<ClusterAdvice>,
    /// What it comes to.
    pub verdict: AdviceVerdict,
    /// Scripts for the moves of `cluster`; `None` if nothing should move.
    pub scripts: Option<UpmapScripts>,
    /// Disks that were passed over: writes do not wear them.
    pub disks: u64,
}

/// Judges everything that was read.
pub fn advise(inputs: &AdviceInputs, settings: &AdviceSettings, catalogue: &Catalogue) -> Result<Advice, AdviceError> {
    let histories = DriveHistory::of_all(&inputs.samples);
    check_options(&histories, settings)?;
    if histories.is_empty() && !has_dumps(inputs) {
        let found = if inputs.disks > 0 { "only disks, which writes do not wear" } else { "no sample of a drive" };
        return Err(AdviceError::new("the inputs", format!("there is {found}")));
    }
    let (mut drives, mut judged, mut by_osd) = (Vec::new(), Vec::new(), BTreeMap::new());
    let mut names = BTreeSet::new();
    for history in &histories {
        let osds = osds_of(inputs, &history.last().serial);
        let name = name_of(history, &osds, &mut names);
        let (advice, drive) = judged::judge(history, name, settings, catalogue);
        drives.push(advice);
        judged.extend(drive.clone());
        for osd in &osds {
            by_osd.entry(*osd).or_insert_with(Vec::new).push((osds.len(), drive.clone()));
        }
    }
    let mut advice = Advice {
        exchanges: Vec::new(),
        cluster: None,
        verdict: verdict::of_drives(&drives),
        drives,
        scripts: None,
        disks: inputs.disks,
    };
    if has_dumps(inputs) {
        let balanced = balance::advise(inputs, by_osd, settings);
        (advice.cluster, advice.verdict, advice.scripts) = (balanced.advice, balanced.verdict, balanced.scripts);
    } else {
        let devices: BTreeSet<&str> = histories.iter().map(|history| history.last().device.as_str()).collect();
        // Drives of the same name are in different hosts, or one has come for the other.
        let is_one_host = devices.len() == histories.len();
        advise_host(&mut advice, &judged, settings, &catalogue.currency, is_one_host);
    }
    Ok(advice)
}

fn advise_host(
    advice: &mut Advice,
    judged: &[JudgedDrive],
    settings: &AdviceSettings,
    currency: &str,
    is_one_host: bool,
) {
    if judged.is_empty() {
        return;
    }
    if is_one_host {
        advice.exchanges = host::exchanges(judged, settings.horizon_years);
    }
    advice.verdict =
        verdict::of_host(&advice.drives, judged, (&advice.exchanges, is_one_host), settings.horizon_years, currency);
    if !is_one_host {
        let reason =
            "drives have the same device name: give samples of one host alone to know what should change places";
        advice.verdict.reasons.push(reason.into());
    }
}

/// Whether there is anything of a Ceph cluster beside samples of drives.
fn has_dumps(inputs: &AdviceInputs) -> bool {
    inputs.osd_map.is_some()
        || inputs.tree.is_some()
        || !inputs.pg_dumps.is_empty()
        || !inputs.devices.is_empty()
        || inputs.has_metrics
}

/// The OSDs that use the drive with this serial number. Ceph writes "_" for blanks in the names of devices.
fn osds_of(inputs: &AdviceInputs, serial: &str) -> Vec<u64> {
    let ending = serial.replace(' ', "_");
    let is_its = |id: &str| id.strip_suffix(&ending).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'));
    let uses = inputs.devices.iter().filter(|device| is_its(&device.id));
    let osds: BTreeSet<u64> = uses.flat_map(|device| device.osds.iter().copied()).collect();
    osds.into_iter().collect()
}

/// A name for a drive that no other has.
fn name_of(history: &DriveHistory, osds: &[u64], taken: &mut BTreeSet<String>) -> String {
    let last = history.last();
    let mut name = match osds {
        [] if last.device.is_empty() => last.serial.clone(),
        [] => last.device.clone(),
        osds => osds.iter().map(|osd| format!("osd.{osd}")).collect::<Vec<_>>().join("+"),
    };
    if !taken.insert(name.clone()) {
        name = format!("{name} ({})", last.serial);
        taken.insert(name.clone());
    }
    name
}

/// Refuses ratings and prices of models that no drive is of.
fn check_options(histories: &[DriveHistory], settings: &AdviceSettings) -> Result<(), AdviceError> {
    let models: BTreeSet<&str> = histories.iter().map(|history| history.last().model.as_str()).collect();
    let ratings = settings.ratings.iter().map(|(model, _)| ("--rated", model));
    for (option, model) in ratings.chain(settings.prices.iter().map(|(model, _)| ("--price", model))) {
        if !models.iter().any(|known| endurance::is_model(model, known)) {
            let known = models.iter().map(|model| format!("`{model}`")).collect::<Vec<_>>().join(", ");
            let hint = format!("a part of the name of one of these models: {known}");
            return Err(AdviceError::new(format!("{option} {model}"), "no drive is of this model").with_hint(hint));
        }
    }
    Ok(())
}
