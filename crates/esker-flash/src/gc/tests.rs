use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    Close { block: u32, valid: u32 },
    Supersede { index: usize },
    Take,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u32..24, 0u32..=8).prop_map(|(block, valid)| Step::Close { block, valid }),
        any::<usize>().prop_map(|index| Step::Supersede { index }),
        Just(Step::Take),
    ]
}

const SHAPE: PoolShape = PoolShape { blocks: 24, data_pages_per_block: 8 };

proptest! {
    /// Whatever a policy prefers, it hands out each closed block once, and nothing else.
    #[test]
    fn every_policy_takes_each_closed_block_once(steps in prop::collection::vec(step(), 1..200)) {
        for entry in VICTIM_POLICIES {
            let mut policy = build(&Choice::named(entry.name), &SHAPE, 3).unwrap();
            let mut closed = BTreeMap::new();
            let mut order = Vec::new();
            for step in &steps {
                match *step {
                    Step::Close { block, valid } => {
                        if closed.contains_key(&block) {
                            continue;
                        }
                        closed.insert(block, valid);
                        order.push(block);
                        policy.closed(block, valid);
                    }
                    Step::Supersede { index } => {
                        let with_pages: Vec<u32> = closed.iter().filter(|(_, v)| **v > 0).map(|(b, _)| *b).collect();
                        if with_pages.is_empty() {
                            continue;
                        }
                        let block = with_pages[index % with_pages.len()];
                        *closed.get_mut(&block).unwrap() -= 1;
                        policy.superseded(block, closed[&block]);
                    }
                    Step::Take => {
                        let lowest = closed.values().min().copied();
                        let taken = policy.take();
                        prop_assert_eq!(taken.is_some(), !closed.is_empty(), "{}", entry.name);
                        let Some(block) = taken else { continue };
                        let valid = closed.remove(&block).expect("a block was taken that is not closed");
                        if entry.name == "greedy" {
                            prop_assert_eq!(Some(valid), lowest);
                        }
                        if entry.name == "fifo" {
                            prop_assert_eq!(block, order[0]);
                        }
                        order.retain(|other| *other != block);
                    }
                }
            }
        }
    }
}

#[test]
fn many_choices_are_greedy() {
    let mut choice = Choice::named("d-choices");
    choice.parameters.insert("d".into(), crate::Parameter::Integer(1000));
    let mut policy = build(&choice, &SHAPE, 1).unwrap();
    for block in 0..20 {
        policy.closed(block, 8 - (block == 13) as u32);
    }
    assert_eq!(policy.take(), Some(13));
}

#[test]
fn unknown_names_and_parameters_are_refused_with_the_nearest() {
    let error = build(&Choice::named("gredy"), &SHAPE, 0).unwrap_err();
    assert!(error.to_string().contains("`gredy`") && error.to_string().contains("greedy, fifo, random, d-choices"));
    assert_eq!(esker_core::Hint::hint(&error).as_deref(), Some("did you mean `greedy`?"));
    let mut choice = Choice::named("greedy");
    choice.parameters.insert("d".into(), crate::Parameter::Integer(3));
    assert_eq!(
        build(&choice, &SHAPE, 0).unwrap_err().to_string(),
        "`cleaning.victim` of kind `greedy` has no parameter `d`"
    );
    choice.kind = "d-choices".into();
    choice.parameters.insert("d".into(), crate::Parameter::Integer(0));
    let error = build(&choice, &SHAPE, 0).unwrap_err();
    assert_eq!(error.to_string(), "`cleaning.victim.d` is 0; expected a whole number from 1 to 1000000");
}
