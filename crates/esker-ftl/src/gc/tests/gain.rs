//! What is cleaned gains space, whatever the policy looks for.

use super::super::mru::Mru;
use super::*;

/// Returns how many victims `policy` names before the only block that has a superseded page. Each of the others is
/// full again at once, with its own pages. Returns `None` if that goes on for ever.
fn victims_without_gain(policy: &mut dyn VictimPolicy) -> Option<usize> {
    let (full, gaining) = (SHAPE.data_pages_per_block, PoolBlock(7));
    (0..SHAPE.blocks).for_each(|block| policy.closed(PoolBlock(block), full));
    policy.superseded(gaining, full - 1);
    (0..64 * SHAPE.blocks as usize).position(|_| {
        let victim = take_victim(policy, false, |block| block == gaining).expect("blocks are closed");
        if victim != gaining {
            policy.closed(victim, full);
        }
        victim == gaining
    })
}

#[test]
fn cleaning_finds_the_only_block_that_gains_space() {
    for entry in VICTIM_POLICIES {
        let (mut policy, _) = policy(entry.name);
        let alone = policy.decides_alone();
        let found = victims_without_gain(&mut *policy);
        assert!(if alone { found.is_some() } else { found == Some(0) }, "{}: {found:?}", entry.name);
    }
    assert_eq!(victims_without_gain(&mut Mru::declared_wrongly()), None);
}

proptest! {
    /// Unless the policy decides alone, a block that gains no space is cleaned only if all are like that.
    #[test]
    fn a_victim_gains_space_if_any_does(steps in prop::collection::vec(step(), 1..200), gainful: bool) {
        for entry in VICTIM_POLICIES {
            let (mut policy, rule) = policy(entry.name);
            let mut trial = Trial { policy: &mut *policy, rule, model: Model::default() };
            prop_assert_eq!(steps.iter().try_for_each(|step| trial.step(*step)), Ok(()));
            let Trial { model, policy, .. } = trial;
            let gaining: Vec<PoolBlock> = model
                .closed
                .iter()
                .filter(|closed| closed.valid < SHAPE.data_pages_per_block)
                .map(|closed| closed.block)
                .collect();
            let decides_alone = policy.decides_alone();
            let taken = take_victim(policy, gainful, |block| gaining.contains(&block));
            let gains = taken.is_some_and(|block| gaining.contains(&block));
            let name = entry.name;
            prop_assert_eq!(taken.is_none(), model.closed.is_empty() || gainful && !gains, "{}", name);
            prop_assert!(gains || decides_alone || gaining.is_empty(), "{}: {:?}", name, taken);
        }
    }
}
