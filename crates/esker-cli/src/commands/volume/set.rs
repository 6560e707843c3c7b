//! `esker volume set`: the policy of a volume, and the limits of what moves in the background.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use esker_core::{Ratio, words};
use esker_serve::{BackgroundStatus, ChangedLimits, ChangedSettings, MoveLimits, VolumeOperation};
use esker_sim::read_range_map;
use serde_json::{Map, Value};

use super::doer::Doer;
use super::policy::refuse_simulated;
use super::session::Serving;
use crate::args::{Common, VolumeSetArguments};
use crate::commands::assignments::with_policy;
use crate::failure::Failure;
use crate::output;

/// Changes the settings, and prints what is in effect.
pub(super) fn run(arguments: &VolumeSetArguments, common: &Common) -> Result<ExitCode, Failure> {
    if let Some(map) = &arguments.map {
        // A mistake in it is found before anything is done, and a pipe is waited for here.
        read_range_map(map)?;
    }
    let policy = policy(arguments)?;
    let brings_policy = policy.is_some() || arguments.map.is_some();
    let serving = if brings_policy { Serving::without_map() } else { Serving::default() };
    let mut doer = Doer::find_serving(&arguments.volume, serving, common)?;
    let settings = ChangedSettings {
        policy,
        paused: (arguments.pause || arguments.resume).then_some(arguments.pause),
        moved_bytes_per_day: arguments.moved_bytes_per_day,
        limits: changed_limits(arguments),
    };
    doer.perform(&match &arguments.map {
        None => VolumeOperation::Set { settings },
        // The server may be in another folder.
        Some(map) => VolumeOperation::SetMap { place: absolute(map)?, settings },
    })?;
    let background = doer.status()?.background.unwrap_or_default();
    doer.end();
    output::print(&format!("{}\n", limits(&background)))?;
    Ok(ExitCode::SUCCESS)
}

/// The policy that the arguments name, with the keys that they set.
fn policy(arguments: &VolumeSetArguments) -> Result<Option<Value>, Failure> {
    let mut table = with_policy(&arguments.set, arguments.policy.as_deref(), "policy.life=5y")?;
    refuse_simulated(&table)?;
    let policy = table.remove("policy");
    if let Some(key) = table.keys().next() {
        return Err(Failure::input(format!("--set {key}: a volume keeps what it was made with"))
            .with_hint("set keys of another policy: --policy NAME --set policy.KEY=VALUE"));
    }
    policy.map(serde_json::to_value).transpose().map_err(Failure::work)
}

/// The limits of devices that the arguments change. Of several for one device, the last one counts.
fn changed_limits(arguments: &VolumeSetArguments) -> BTreeMap<String, ChangedLimits> {
    let mut limits: BTreeMap<String, ChangedLimits> = BTreeMap::new();
    for (name, share) in &arguments.leave_above {
        limits.entry(name.clone()).or_default().leave_above = Some(*share);
    }
    for (name, after) in &arguments.asleep_after {
        limits.entry(name.clone()).or_default().asleep_after = Some(*after);
    }
    limits
}

/// The path of a map from the root on, as text.
fn absolute(map: &Path) -> Result<String, Failure> {
    let path = std::path::absolute(map).map_err(Failure::input)?;
    let shown = path.display().to_string();
    path.into_os_string().into_string().map_err(|_| Failure::input(format!("{shown}: the path is no text")))
}

/// The policy, and what it may move.
pub(super) fn limits(background: &BackgroundStatus) -> String {
    let BackgroundStatus { policy, policy_settings, paused, moved_bytes_per_day, limits, .. } = background;
    let budget = match moved_bytes_per_day {
        Some(bytes) => format!("up to {} a day", words::bytes(*bytes as f64)),
        None => "any number of bytes a day".to_string(),
    };
    let paused = if *paused { "paused" } else { "at work" };
    let limits: String = limits.iter().map(|(name, limits)| limits_of(name, limits)).collect();
    let keys = keys(policy_settings);
    format!("policy {policy}{keys}; background {paused}; moves {budget}{limits}")
}

/// The keys of a policy, as those of an experiment: ` (life 5y, weights [1,3])`.
fn keys(settings: &Map<String, Value>) -> String {
    let mut all: Vec<String> = settings.iter().map(|(key, value)| format!("{key} {}", in_words(value))).collect();
    all.sort();
    if all.is_empty() { String::new() } else { format!(" ({})", all.join(", ")) }
}

/// A value of a key; of a table that names something, its name and the other keys.
fn in_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(table) if table.get("kind").is_some_and(Value::is_string) => {
            let mut others = table.clone();
            let kind = others.remove("kind").unwrap_or_default();
            in_words(&kind) + &keys(&others)
        }
        other => other.to_string(),
    }
}

/// The limits of a device.
fn limits_of(name: &str, limits: &MoveLimits) -> String {
    let leaves = match limits.leave_above {
        Ratio::ZERO => String::new(),
        share => format!("; data leave {name} above {}", share.to_string().replace('%', " %")),
    };
    let sleeps =
        limits.asleep_after.map(|after| format!("; {name} sleeps after {}", words::duration(after.as_secs_f64())));
    leaves + &sleeps.unwrap_or_default()
}

/// A line of a status about what moves in the background.
pub(super) fn describe(background: &BackgroundStatus) -> String {
    let now = match (background.copies, &background.held) {
        (0, None) => "idle: nothing has to move".to_string(),
        (0, Some(why)) => format!("idle: {why}"),
        (copies, _) => format!("{} extents on the way", words::count(copies.into())),
    };
    let moved = words::bytes(background.moved_bytes as f64);
    let in_day = words::bytes(background.moved_bytes_in_day as f64);
    format!("{}\n{now}; {moved} moved, {in_day} in the last day\n", limits(background))
}

#[cfg(test)]
mod tests {
    use esker_core::Nanos;

    use super::*;

    #[test]
    fn a_status_says_what_is_in_effect_and_why_nothing_moves() {
        let mut background = BackgroundStatus { policy: "wardrop".to_string(), ..BackgroundStatus::default() };
        let free = "policy wardrop; background at work; moves any number of bytes a day\n";
        assert_eq!(describe(&background), format!("{free}idle: nothing has to move; 0 B moved, 0 B in the last day\n"));
        background.copies = 3;
        assert_eq!(describe(&background), format!("{free}3 extents on the way; 0 B moved, 0 B in the last day\n"));
        (background.copies, background.held) = (0, Some("no room on fast".to_string()));
        assert_eq!(describe(&background), format!("{free}idle: no room on fast; 0 B moved, 0 B in the last day\n"));
        (background.paused, background.moved_bytes_per_day) = (true, Some(100 << 30));
        assert_eq!(limits(&background), "policy wardrop; background paused; moves up to 100 GiB a day");
        background.policy = "pinned".to_string();
        let rest = serde_json::json!({ "kind": "wardrop", "interval": "1s" });
        let keys = serde_json::json!({ "weights": [1, 3], "life": "5y", "rest": rest });
        background.policy_settings = keys.as_object().unwrap().clone();
        let said = limits(&background);
        assert!(said.starts_with("policy pinned (life 5y, rest wardrop (interval 1s), weights [1,3]); "), "{said}");
        let of_flash = MoveLimits { leave_above: Ratio::percent(80), asleep_after: None };
        let of_disk = MoveLimits { leave_above: Ratio::ZERO, asleep_after: Some(Nanos::from_secs(540)) };
        background.limits = [("disk", of_disk), ("flash", of_flash)].map(|(name, of)| (name.to_string(), of)).into();
        let said = limits(&background);
        assert!(said.ends_with("100 GiB a day; disk sleeps after 9 minutes; data leave flash above 80 %"), "{said}");
    }
}
