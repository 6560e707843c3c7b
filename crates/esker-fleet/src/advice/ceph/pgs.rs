//! `ceph pg dump`: what placement groups hold, where they are, and what was written to them.

use std::collections::BTreeMap;

use super::PgId;
use crate::advice::json::{Fault, Node};
use crate::advice::time;

/// All placement groups at one time.
#[derive(Clone, Debug, Default)]
pub(in crate::advice) struct PgDump {
    pub(in crate::advice) unix_s: i64,
    pub(in crate::advice) pgs: BTreeMap<PgId, PgStat>,
}

/// A placement group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::advice) struct PgStat {
    /// "active+clean".
    pub(in crate::advice) state: String,
    /// The OSDs that should hold it, and those that do. Holes have numbers that no OSD has.
    pub(in crate::advice) up: Vec<u64>,
    pub(in crate::advice) acting: Vec<u64>,
    /// What clients store in it, before copies or codes.
    pub(in crate::advice) stored_bytes: u64,
    /// What clients have written to it since it was made, before copies or codes.
    pub(in crate::advice) written_kib: u64,
}

impl PgStat {
    /// Whether all is where it should be. Scrubs do not matter.
    pub(in crate::advice) fn is_clean(&self) -> bool {
        self.state.starts_with("active+clean") && self.up == self.acting
    }
}

pub(in crate::advice) fn read_pgs(node: &Node<'_>) -> Result<PgDump, Fault> {
    // Before Nautilus there was no `pg_map` around it.
    let map = node.get("pg_map").unwrap_or_else(|| node.clone());
    let stamp = map.field("stamp")?;
    let unix_s = time::parse(stamp.text()?).ok_or_else(|| stamp.fault("is no time of this century"))?;
    let mut pgs = BTreeMap::new();
    for entry in map.field("pg_stats")?.items()? {
        let id = entry.field("pgid")?;
        let pg = PgId::parse(id.text()?).ok_or_else(|| id.fault("is no placement group"))?;
        let sum = entry.field("stat_sum")?;
        let stat = PgStat {
            state: entry.field("state")?.text()?.to_string(),
            up: osds(&entry.field("up")?)?,
            acting: osds(&entry.field("acting")?)?,
            stored_bytes: sum.field("num_bytes")?.whole()?,
            written_kib: sum.field("num_write_kb")?.whole()?,
        };
        if pgs.insert(pg, stat).is_some() {
            return Err(entry.fault(format!("the placement group {pg} is there twice")));
        }
    }
    Ok(PgDump { unix_s, pgs })
}

fn osds(node: &Node<'_>) -> Result<Vec<u64>, Fault> {
    let mut osds = Vec::new();
    for osd in node.items()? {
        osds.push(u64::try_from(osd.signed()?).unwrap_or(u64::MAX));
    }
    Ok(osds)
}
