//! `pg-upmap-items`: pairs of OSDs that Ceph applies, in order, to where CRUSH puts a placement group
//! (docs.ceph.com, "Using pg-upmap"; `OSDMap::_apply_upmap`).

/// Where a placement group is once its pairs are applied to `raw`. A pair does nothing if its target is there already,
/// or its source is not.
pub(super) fn apply(raw: &[u64], items: &[(u64, u64)]) -> Vec<u64> {
    let mut homes = raw.to_vec();
    for (from, to) in items {
        if !homes.contains(to)
            && let Some(at) = homes.iter().position(|home| home == from)
        {
            homes[at] = *to;
        }
    }
    homes
}

/// Where CRUSH puts a placement group that is at `homes` by these pairs; `None` if they do not explain that.
pub(super) fn raw(homes: &[u64], items: &[(u64, u64)]) -> Option<Vec<u64>> {
    let mut raw = homes.to_vec();
    for (from, to) in items.iter().rev() {
        let at = raw.iter().position(|home| home == to)?;
        if raw.contains(from) {
            return None;
        }
        raw[at] = *from;
    }
    (apply(&raw, items) == homes).then_some(raw)
}

/// The pairs that take a placement group from `from` to `to` beside what `items` do already; `None` if no pairs can.
pub(super) fn with_move(homes: &[u64], items: &[(u64, u64)], from: u64, to: u64) -> Option<Vec<(u64, u64)>> {
    let raw = raw(homes, items)?;
    let at = homes.iter().position(|home| *home == from)?;
    let mut wanted = homes.to_vec();
    wanted[at] = to;
    let differs = |(raw, wanted): (&u64, &u64)| (raw != wanted).then_some((*raw, *wanted));
    let pairs: Vec<(u64, u64)> = raw.iter().zip(&wanted).filter_map(differs).collect();
    // One that comes to where another one leaves has to wait for it; those in a ring wait forever.
    let (mut left, mut sorted, mut now) = (pairs, Vec::new(), raw.clone());
    while !left.is_empty() {
        let next = left.iter().position(|(_, to)| !now.contains(to))?;
        let pair = left.remove(next);
        now = apply(&now, &[pair]);
        sorted.push(pair);
    }
    (apply(&raw, &sorted) == wanted && !homes.contains(&to)).then_some(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_undone_and_added_to() {
        assert_eq!(with_move(&[1, 2, 3], &[], 2, 5), Some(vec![(2, 5)]));
        // 2 is there by a pair from 7: CRUSH would have it on 7.
        assert_eq!(raw(&[1, 2, 3], &[(7, 2)]), Some(vec![1, 7, 3]));
        assert_eq!(with_move(&[1, 2, 3], &[(7, 2)], 2, 5), Some(vec![(7, 5)]));
        assert_eq!(with_move(&[1, 2, 3], &[(7, 2)], 2, 7), Some(vec![]));
        assert_eq!(with_move(&[1, 2, 3], &[(7, 2)], 1, 7), Some(vec![(7, 2), (1, 7)]));
        // What comes to 1 has to wait until 1 has left.
        assert_eq!(with_move(&[5, 2, 3], &[(1, 5)], 2, 1), Some(vec![(1, 5), (2, 1)]));
    }

    #[test]
    fn pairs_that_do_nothing_explain_nothing() {
        assert_eq!(raw(&[1, 2, 3], &[(7, 9)]), None);
        assert_eq!(raw(&[1, 2, 3], &[(1, 2)]), None);
        assert_eq!(with_move(&[1, 2, 3], &[(7, 9)], 1, 4), None);
        assert_eq!(with_move(&[1, 2, 3], &[], 1, 3), None);
    }
}
