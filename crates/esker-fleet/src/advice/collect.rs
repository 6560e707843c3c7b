//! Files of any kind, each recognised by what is in it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::AdviceError;
use super::ceph::{
    CrushRule, CrushTree, DeviceUse, OsdMap, PgDump, read_devices, read_osd_map, read_pgs, read_rules, read_tree,
};
use super::json::{Fault, Node};
use super::smart::{self, DriveSample};
use super::time;

/// All that was read.
#[derive(Clone, Debug, Default)]
pub struct AdviceInputs {
    pub(super) samples: Vec<DriveSample>,
    /// The newest map.
    pub(super) osd_map: Option<OsdMap>,
    /// The tree that was read last.
    pub(super) tree: Option<CrushTree>,
    pub(super) pg_dumps: Vec<PgDump>,
    pub(super) devices: Vec<DeviceUse>,
    pub(super) rules: Option<BTreeMap<u64, Option<CrushRule>>>,
    /// Whether there are samples that Ceph has kept.
    pub(super) has_metrics: bool,
    /// Disks, which writes do not wear.
    pub(super) disks: u64,
}

const KINDS: &str = "give the output of `smartctl --json -x`, or of Ceph with `-f json`: `osd dump`, `osd df tree`, \
                     `osd crush rule dump`, `pg dump`, `device ls`, `device get-health-metrics`";

impl AdviceInputs {
    /// Adds all that a file holds: one document or several, one after the other. `name` is for errors.
    pub fn read(&mut self, name: &str, bytes: &[u8]) -> Result<(), AdviceError> {
        let mut documents = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
        let mut count = 0;
        for document in &mut documents {
            let document = document.map_err(|error| {
                let cut = if error.is_eof() { "the file is cut off" } else { "is no JSON" };
                AdviceError::new(name, format!("line {}, column {}: {cut}: {error}", error.line(), error.column()))
                    .with_hint(KINDS)
            })?;
            self.add(&document).map_err(|fault| AdviceError {
                name: name.to_string(),
                message: fault.message,
                hint: fault.hint,
            })?;
            count += 1;
        }
        if count == 0 {
            return Err(AdviceError::new(name, "the file is empty").with_hint(KINDS));
        }
        Ok(())
    }

    fn add(&mut self, document: &Value) -> Result<(), Fault> {
        let node = Node::top(document);
        if smart::is_sample(document) {
            return self.add_sample(&node, None);
        }
        match document {
            Value::Array(items) if items.iter().any(smart::is_sample) => {
                for item in node.items()? {
                    self.add_sample(&item, None)?;
                }
            }
            Value::Array(items) if items.iter().any(|item| item.get("devid").is_some()) => {
                self.devices.extend(read_devices(&node)?);
            }
            Value::Array(items) if items.iter().any(|item| item.get("rule_id").is_some()) => {
                self.rules = Some(read_rules(&node)?);
            }
            Value::Object(_) => self.add_object(&node)?,
            _ => return Err(unknown(&node)),
        }
        Ok(())
    }

    fn add_object(&mut self, node: &Node<'_>) -> Result<(), Fault> {
        let has = |names: &[&str]| names.iter().all(|name| node.get(name).is_some());
        if has(&["osds", "pools", "epoch"]) {
            let map = read_osd_map(node)?;
            if let Some(known) = self.osd_map.as_ref().filter(|known| known.fsid != map.fsid) {
                return Err(node
                    .fault(format!("cluster {} here, cluster {} in another file", map.fsid, known.fsid))
                    .with_hint("give the dumps of one cluster"));
            }
            if self.osd_map.as_ref().is_none_or(|known| map.epoch >= known.epoch) {
                self.osd_map = Some(map);
            }
        } else if has(&["nodes", "stray"]) {
            self.tree = Some(read_tree(node)?);
        } else if has(&["pg_map"]) || has(&["pg_stats", "stamp"]) {
            let dump = read_pgs(node)?;
            self.pg_dumps.retain(|known| known.unix_s != dump.unix_s);
            self.pg_dumps.push(dump);
            self.pg_dumps.sort_by_key(|dump| dump.unix_s);
        } else if has(&["devices", "rules", "buckets"]) {
            self.rules = Some(read_rules(&node.field("rules")?)?);
        } else if is_health_metrics(node)? {
            self.has_metrics = true;
            for (key, sample) in node.entries()? {
                self.add_metrics(&sample, time::parse(key))?;
            }
        } else {
            return Err(unknown(node));
        }
        Ok(())
    }

    /// Samples that Ceph keeps. Where a scrape has failed, it keeps the error, which says nothing of wear.
    fn add_metrics(&mut self, sample: &Node<'_>, key_s: Option<i64>) -> Result<(), Fault> {
        if smart::is_sample(sample.value) && sample.get("model_name").is_some() {
            self.add_sample(sample, key_s)?;
        }
        Ok(())
    }

    fn add_sample(&mut self, node: &Node<'_>, key_s: Option<i64>) -> Result<(), Fault> {
        match smart::read(node, key_s)? {
            Some(sample) => self.samples.push(sample),
            None => self.disks += 1,
        }
        Ok(())
    }
}

/// Whether all keys are times, as in `ceph device get-health-metrics`.
fn is_health_metrics(node: &Node<'_>) -> Result<bool, Fault> {
    let mut entries = node.entries()?.peekable();
    Ok(entries.peek().is_some()
        && entries.all(|(key, sample)| key.len() == 15 && time::parse(key).is_some() && sample.value.is_object()))
}

fn unknown(node: &Node<'_>) -> Fault {
    let what = match node.value {
        Value::Object(fields) => {
            let names: Vec<String> =
                fields.keys().take(5).map(|name| format!("`{}`", name.chars().take(40).collect::<String>())).collect();
            if names.is_empty() {
                "an empty object".to_string()
            } else {
                format!("an object with {}", names.join(", "))
            }
        }
        Value::Array(items) => format!("a list of {} items", items.len()),
        other => other.to_string().chars().take(60).collect(),
    };
    node.fault(format!("neither a sample of a drive nor a dump of Ceph: found {what}")).with_hint(KINDS)
}
