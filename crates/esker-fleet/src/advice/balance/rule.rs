//! Where copies of a pool's placement groups may be.

use crate::advice::ceph::{CrushRule, CrushTree, Pool};
use crate::advice::collect::AdviceInputs;

use super::pg::PgState;

/// The rule of a pool, from the dump of rules. Without one it is guessed if the tree leaves no doubt: one root, one
/// class, and no kind of bucket between the root and those that keep copies apart.
pub(super) fn rule_of(
    inputs: &AdviceInputs,
    tree: &CrushTree,
    pool: &Pool,
    pgs: &[&PgState],
) -> Result<CrushRule, String> {
    match &inputs.rules {
        Some(rules) => match rules.get(&pool.rule) {
            Some(Some(rule)) => Ok(rule.clone()),
            Some(None) => Err("its CRUSH rule has several steps, which are not followed here".into()),
            None => Err(format!("its CRUSH rule {} is not in the dump of rules", pool.rule)),
        },
        None => guess(tree, pgs).ok_or_else(|| {
            "its CRUSH rule cannot be told from the tree: give `ceph osd crush rule dump -f json`, too".into()
        }),
    }
}

fn guess(tree: &CrushTree, pgs: &[&PgState]) -> Option<CrushRule> {
    let osds = || tree.nodes.iter().filter(|(_, node)| node.kind == "osd");
    let (first, _) = osds().next()?;
    let kinds: Vec<&str> = tree.around(*first).map(|(_, node)| node.kind.as_str()).collect();
    let root = tree.around(*first).last()?.1;
    let class = &tree.nodes.get(first)?.class;
    let is_alike = |(id, node): (&i64, &crate::advice::ceph::TreeNode)| {
        node.class == *class
            && tree.around(*id).map(|(_, node)| node.kind.as_str()).eq(kinds.iter().copied())
            && tree.around(*id).last().is_some_and(|(_, last)| last.name == root.name)
    };
    let [_, domain, _] = kinds[..] else { return None };
    let is_apart = |pg: &&PgState| {
        let mut buckets: Vec<_> = pg.homes.iter().map(|osd| tree.bucket(*osd as i64, domain)).collect();
        buckets.sort_unstable();
        buckets.windows(2).all(|pair| pair[0] != pair[1]) && !buckets.contains(&None)
    };
    (osds().all(is_alike) && pgs.iter().all(is_apart)).then(|| CrushRule {
        root: root.name.clone(),
        class: None,
        domain: domain.to_string(),
    })
}
