//! `ceph osd dump`: pools, ratios, and what already moves placement groups off where CRUSH puts them.

use std::collections::{BTreeMap, BTreeSet};

use super::PgId;
use crate::advice::json::{Fault, Node};

/// The map of OSDs.
#[derive(Clone, Debug, Default)]
pub(in crate::advice) struct OsdMap {
    pub(in crate::advice) fsid: String,
    pub(in crate::advice) epoch: u64,
    /// The share of an OSD's room from which on Ceph warns.
    pub(in crate::advice) nearfull_ratio: f64,
    /// The oldest release whose clients may connect: "luminous".
    pub(in crate::advice) oldest_client: String,
    pub(in crate::advice) flags: String,
    pub(in crate::advice) pools: BTreeMap<u64, Pool>,
    /// OSDs that are up and in.
    pub(in crate::advice) serving: BTreeSet<u64>,
    /// Pairs of OSDs, from and to, by placement group.
    pub(in crate::advice) upmap_items: BTreeMap<PgId, Vec<(u64, u64)>>,
    /// Placement groups whose OSDs are all set by hand.
    pub(in crate::advice) upmaps: BTreeSet<PgId>,
}

/// A pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::advice) struct Pool {
    pub(in crate::advice) name: String,
    /// Copies, or shards of an erasure code.
    pub(in crate::advice) size: u64,
    /// Shards that hold data; one in pools of copies.
    pub(in crate::advice) data_shards: u64,
    pub(in crate::advice) rule: u64,
    /// Its placement groups.
    pub(in crate::advice) pgs: u64,
}

pub(in crate::advice) fn read_osd_map(node: &Node<'_>) -> Result<OsdMap, Fault> {
    let mut map = OsdMap {
        fsid: node.field("fsid")?.text()?.to_string(),
        epoch: node.field("epoch")?.whole()?,
        nearfull_ratio: node.get("nearfull_ratio").map_or(Ok(0.0), |ratio| ratio.number())?,
        oldest_client: text_or_empty(node, "require_min_compat_client")?,
        flags: text_or_empty(node, "flags")?,
        ..OsdMap::default()
    };
    let is_name = map.fsid.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    if map.fsid.is_empty() || !is_name {
        return Err(node.field("fsid")?.fault("is no identifier of a cluster"));
    }
    if !(0.0..=1.0).contains(&map.nearfull_ratio) {
        return Err(node.field("nearfull_ratio")?.fault("is no share"));
    }
    for pool in node.field("pools")?.items()? {
        let read = read_pool(node, &pool)?;
        if map.pools.insert(pool.field("pool")?.whole()?, read).is_some() {
            return Err(pool.fault("this pool is there twice"));
        }
    }
    for osd in node.field("osds")?.items()? {
        if osd.field("up")?.whole()? == 1 && osd.field("in")?.whole()? == 1 {
            map.serving.insert(osd.field("osd")?.whole()?);
        }
    }
    read_upmaps(node, &mut map)?;
    Ok(map)
}

fn text_or_empty(node: &Node<'_>, name: &str) -> Result<String, Fault> {
    node.get(name).map_or(Ok(String::new()), |text| text.text().map(str::to_string))
}

fn read_pool(map: &Node<'_>, pool: &Node<'_>) -> Result<Pool, Fault> {
    const ERASURE: u64 = 3;
    let data_shards = if pool.field("type")?.whole()? == ERASURE {
        let profile = pool.field("erasure_code_profile")?;
        let known = map.get("erasure_code_profiles").and_then(|all| all.get(profile.text().ok()?));
        let shards = known.ok_or_else(|| profile.fault("the dump has no such profile"))?.field("k")?;
        let count = shards.text()?.parse::<u64>().ok().filter(|count| (1..=64).contains(count));
        count.ok_or_else(|| shards.fault("is no number of shards"))?
    } else {
        1
    };
    let size = pool.field("size")?;
    if !(1..=64).contains(&size.whole()?) || size.whole()? < data_shards {
        return Err(size.fault("is no number of copies or shards"));
    }
    Ok(Pool {
        name: pool.field("pool_name")?.text()?.to_string(),
        size: size.whole()?,
        data_shards,
        pgs: pool.field("pg_num")?.whole()?,
        rule: pool.get("crush_rule").map_or_else(|| pool.field("crush_ruleset"), Ok)?.whole()?,
    })
}

fn read_upmaps(node: &Node<'_>, map: &mut OsdMap) -> Result<(), Fault> {
    let id = |entry: &Node<'_>| {
        let id = entry.field("pgid")?;
        PgId::parse(id.text()?).ok_or_else(|| id.fault("is no placement group"))
    };
    if let Some(list) = node.get("pg_upmap") {
        for entry in list.items()? {
            map.upmaps.insert(id(&entry)?);
        }
    }
    if let Some(list) = node.get("pg_upmap_items") {
        for entry in list.items()? {
            let mut pairs = Vec::new();
            for pair in entry.field("mappings")?.items()? {
                pairs.push((pair.field("from")?.whole()?, pair.field("to")?.whole()?));
            }
            map.upmap_items.insert(id(&entry)?, pairs);
        }
    }
    Ok(())
}
