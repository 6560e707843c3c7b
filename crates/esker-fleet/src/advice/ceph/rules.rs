//! `ceph osd crush rule dump`: what may hold copies of a placement group.

use std::collections::BTreeMap;

use crate::advice::json::{Fault, Node};

/// A rule that takes one OSD out of each of several buckets of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::advice) struct CrushRule {
    /// The bucket that all OSDs are in.
    pub(in crate::advice) root: String,
    /// The class that all OSDs are of; `None` for any.
    pub(in crate::advice) class: Option<String>,
    /// The kind of buckets that hold one copy at most: "host"; "osd" if copies may share everything else.
    pub(in crate::advice) domain: String,
}

/// Rules by number; `None` for those that are not of this simple form.
pub(in crate::advice) fn read_rules(node: &Node<'_>) -> Result<BTreeMap<u64, Option<CrushRule>>, Fault> {
    let mut rules = BTreeMap::new();
    for rule in node.items()? {
        let mut steps = Vec::new();
        for step in rule.field("steps")?.items()? {
            if !step.field("op")?.text()?.starts_with("set_") {
                steps.push(step);
            }
        }
        rules.insert(rule.field("rule_id")?.whole()?, simple(&steps)?);
    }
    Ok(rules)
}

fn simple(steps: &[Node<'_>]) -> Result<Option<CrushRule>, Fault> {
    let [take, choose, emit] = steps else { return Ok(None) };
    let (take_op, choose_op) = (take.field("op")?.text()?, choose.field("op")?.text()?);
    if take_op != "take" || emit.field("op")?.text()? != "emit" {
        return Ok(None);
    }
    let domain = match choose_op {
        "chooseleaf_firstn" | "chooseleaf_indep" => choose.field("type")?.text()?,
        "choose_firstn" | "choose_indep" if choose.field("type")?.text()? == "osd" => "osd",
        _ => return Ok(None),
    };
    // Another number than 0 leaves some copies to further steps, or to nobody.
    if choose.field("num")?.signed()? != 0 {
        return Ok(None);
    }
    let taken = take.field("item_name")?.text()?;
    let (root, class) = taken.split_once('~').map_or((taken, None), |(root, class)| (root, Some(class.to_string())));
    Ok(Some(CrushRule { root: root.to_string(), class, domain: domain.to_string() }))
}
