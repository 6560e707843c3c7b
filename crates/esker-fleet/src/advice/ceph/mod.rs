//! What Ceph prints as JSON: `ceph osd dump`, `ceph osd df tree`, `ceph pg dump`, `ceph device ls`,
//! `ceph osd crush rule dump`. Fields are those of Ceph 12 (Luminous) to 19 (Squid); those not named here are passed
//! over.

mod devices;
mod osd_map;
mod pgs;
mod rules;
mod tree;

pub(super) use devices::{DeviceUse, read_devices};
pub(super) use osd_map::{OsdMap, Pool, read_osd_map};
pub(super) use pgs::{PgDump, PgStat, read_pgs};
pub(super) use rules::{CrushRule, read_rules};
pub(super) use tree::{CrushTree, TreeNode, read_tree};

/// A placement group: pool and number. Ceph writes it "2.1f".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PgId {
    pub(super) pool: u64,
    pub(super) number: u32,
}

impl PgId {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (pool, number) = text.split_once('.')?;
        let is_plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_plain(pool) || !is_plain(number) {
            return None;
        }
        Some(Self { pool: pool.parse().ok()?, number: u32::from_str_radix(number, 16).ok()? })
    }
}

impl std::fmt::Display for PgId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:x}", self.pool, self.number)
    }
}
