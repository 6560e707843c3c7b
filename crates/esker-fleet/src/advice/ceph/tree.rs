//! `ceph osd df tree`: where OSDs are, and how full.

use std::collections::BTreeMap;

use crate::advice::json::{Fault, Node};

/// The CRUSH tree with the room of its OSDs.
#[derive(Clone, Debug, Default)]
pub(in crate::advice) struct CrushTree {
    /// OSDs (0 and above) and buckets (below 0), by their numbers.
    pub(in crate::advice) nodes: BTreeMap<i64, TreeNode>,
}

/// An OSD or a bucket.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::advice) struct TreeNode {
    pub(in crate::advice) name: String,
    /// "osd", "host", "rack".
    pub(in crate::advice) kind: String,
    /// The bucket that it is in.
    pub(in crate::advice) parent: Option<i64>,
    /// Its class; empty for buckets.
    pub(in crate::advice) class: String,
    /// The share of it that is in use, from 0 to 1, by `ceph osd reweight`.
    pub(in crate::advice) reweight: f64,
    pub(in crate::advice) room_kib: u64,
    pub(in crate::advice) used_kib: u64,
}

impl CrushTree {
    /// A node and the buckets around it, from the inside to the outside.
    pub(in crate::advice) fn around(&self, id: i64) -> impl Iterator<Item = (i64, &TreeNode)> {
        let next = |id: &i64| self.nodes.get(id).and_then(|node| node.parent);
        // No tree is deeper than it has nodes: a ring of buckets ends, too.
        let ids = std::iter::successors(Some(id), next).take(self.nodes.len());
        ids.filter_map(|id| self.nodes.get(&id).map(|node| (id, node)))
    }

    /// The bucket of this kind that a node is in.
    pub(in crate::advice) fn bucket(&self, id: i64, kind: &str) -> Option<i64> {
        self.around(id).find(|(_, node)| node.kind == kind).map(|(id, _)| id)
    }
}

pub(in crate::advice) fn read_tree(node: &Node<'_>) -> Result<CrushTree, Fault> {
    let mut tree = CrushTree::default();
    let mut parents = BTreeMap::new();
    for entry in node.field("nodes")?.items()? {
        let id = entry.field("id")?.signed()?;
        let whole = |name: &str| entry.get(name).map_or(Ok(0), |value| value.whole());
        let text = |name: &str| entry.get(name).map_or(Ok(String::new()), |text| text.text().map(str::to_string));
        let kind = entry.field("type")?.text()?.to_string();
        if kind == "osd" && entry.get("kb").is_none() {
            let hint = "this is `ceph osd tree`; `ceph osd df tree` is needed";
            return Err(entry.fault("the field `kb` is missing").with_hint(hint));
        }
        if (kind == "osd") != (id >= 0) {
            return Err(entry.fault("numbers of OSDs are 0 or more, those of buckets are below"));
        }
        let read = TreeNode {
            name: entry.field("name")?.text()?.to_string(),
            kind,
            parent: None,
            class: text("device_class")?,
            // Buckets have -1.
            reweight: if id >= 0 { entry.get("reweight").map_or(Ok(1.0), |value| value.number())? } else { 1.0 },
            room_kib: whole("kb")?,
            used_kib: whole("kb_used")?,
        };
        for child in entry.get("children").into_iter().filter_map(|list| list.items().ok()).flatten() {
            parents.insert(child.signed()?, id);
        }
        tree.nodes.insert(id, read);
    }
    for (child, parent) in parents {
        if let Some(child) = tree.nodes.get_mut(&child) {
            child.parent = Some(parent);
        }
    }
    Ok(tree)
}
