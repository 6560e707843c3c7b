use std::cell::RefCell;

use esker_core::Rng;
use proptest::prelude::*;

use super::*;
use crate::PoolBlock;

#[derive(Clone, Copy, Debug)]
enum Step {
    Close {
        block: PoolBlock,
        valid: u32,
    },
    Supersede {
        index: usize,
    },
    Remove {
        index: usize,
    },
    Take,
    /// Spares the blocks of a set of bits, and stops after some of them.
    TakeWhere {
        spared: u32,
        patience: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..SHAPE.blocks, 0u32..=8).prop_map(|(block, valid)| Step::Close { block: PoolBlock(block), valid }),
        4 => any::<usize>().prop_map(|index| Step::Supersede { index }),
        1 => any::<usize>().prop_map(|index| Step::Remove { index }),
        2 => Just(Step::Take),
        3 => (any::<u32>(), 1usize..30).prop_map(|(spared, patience)| Step::TakeWhere { spared, patience }),
    ]
}

const SHAPE: PoolShape = PoolShape { blocks: 24, data_pages_per_block: 8 };
const WINDOW: usize = 3;

/// What a policy offers next, told from the rules alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// The fewest valid pages, then the lowest block.
    Greedy,
    Fifo,
    /// The fewest valid pages of the oldest [`WINDOW`].
    Windowed,
    CostBenefit,
    /// The fewest valid pages, whichever block of those.
    Emptiest,
    /// Any block.
    Any,
}

/// The rule of a policy, and the parameters with which it holds.
fn rule(name: &str) -> (Choice, Rule) {
    let mut choice = Choice::named(name);
    let rule = match name {
        "greedy" => Rule::Greedy,
        "fifo" => Rule::Fifo,
        "cost-benefit" => Rule::CostBenefit,
        "windowed" => {
            choice.parameters.insert("window".into(), crate::Parameter::Integer(WINDOW as u64));
            Rule::Windowed
        }
        "search-fraction" => {
            choice.parameters.insert("fraction".into(), crate::Parameter::Text("100%".into()));
            Rule::Emptiest
        }
        _ => Rule::Any,
    };
    (choice, rule)
}

#[derive(Clone, Copy, Debug)]
struct Closed {
    block: PoolBlock,
    valid: u32,
    changed: u64,
}

/// Closed blocks in the order of filling, and how often anything changed.
#[derive(Debug, Default)]
struct Model {
    closed: Vec<Closed>,
    changes: u64,
}

impl Model {
    fn place(&self, block: PoolBlock) -> Option<usize> {
        self.closed.iter().position(|closed| closed.block == block)
    }

    fn change(&mut self, place: usize, valid: u32) {
        self.changes += 1;
        (self.closed[place].valid, self.closed[place].changed) = (valid, self.changes);
    }

    /// Whether the policy may offer `offered`, or nothing, once it has offered `spared`.
    fn allows(&self, rule: Rule, spared: &[PoolBlock], offered: Option<PoolBlock>) -> bool {
        let left: Vec<Closed> = self.closed.iter().filter(|closed| !spared.contains(&closed.block)).copied().collect();
        let Some(found) = left.iter().find(|closed| Some(closed.block) == offered) else {
            return left.is_empty() && offered.is_none();
        };
        let fewest = |among: &[Closed]| among.iter().min_by_key(|closed| closed.valid).map(|closed| closed.block);
        let expected = match rule {
            Rule::Any => return true,
            Rule::Emptiest => return left.iter().all(|closed| closed.valid >= found.valid),
            Rule::Greedy => left.iter().min_by_key(|closed| (closed.valid, closed.block)).map(|closed| closed.block),
            Rule::Fifo => left.first().map(|closed| closed.block),
            Rule::Windowed => fewest(&left[..left.len().min(WINDOW)]),
            Rule::CostBenefit => {
                let merit = |closed: &Closed| {
                    let gain = f64::from(SHAPE.data_pages_per_block - closed.valid);
                    let benefit = gain * (self.changes - closed.changed + 1) as f64;
                    if closed.valid == 0 { 1e9 * benefit } else { benefit / f64::from(closed.valid) }
                };
                let best = left.iter().map(merit).fold(0.0, f64::max);
                left.iter().find(|closed| merit(closed) == best).map(|closed| closed.block)
            }
        };
        offered == expected
    }
}

/// Does `steps`, then takes what is left. Says the first thing that is not as `rule` has it.
fn follow(policy: &mut dyn VictimPolicy, rule: Rule, steps: &[Step]) -> Result<(), String> {
    let mut model = Model::default();
    let all = (0..SHAPE.blocks).map(|_| Step::Take);
    for step in steps.iter().copied().chain(all) {
        match step {
            Step::Close { block, valid } if model.place(block).is_none() => {
                model.closed.push(Closed { block, valid, changed: 0 });
                model.change(model.closed.len() - 1, valid);
                policy.closed(block, valid);
            }
            Step::Close { .. } => {}
            Step::Supersede { index } => {
                let with_pages: Vec<usize> =
                    (0..model.closed.len()).filter(|place| model.closed[*place].valid > 0).collect();
                if let Some(count) = with_pages.len().checked_sub(1) {
                    let place = with_pages[index % (count + 1)];
                    model.change(place, model.closed[place].valid - 1);
                    policy.superseded(model.closed[place].block, model.closed[place].valid);
                }
            }
            Step::Remove { index } => {
                if let Some(count) = model.closed.len().checked_sub(1) {
                    policy.remove(model.closed.remove(index % (count + 1)).block);
                }
            }
            Step::Take => {
                let taken = policy.take();
                if !model.allows(rule, &[], taken) {
                    return Err(format!("{taken:?} was taken of {model:?}"));
                }
                taken.and_then(|block| model.place(block)).map(|place| model.closed.remove(place));
            }
            Step::TakeWhere { spared, patience } => {
                let offered = RefCell::new(Vec::new());
                let taken = policy.take_where(&mut |block| {
                    offered.borrow_mut().push(block);
                    match spared >> block.0 & 1 == 1 {
                        false => Judgement::Take,
                        true if offered.borrow().len() == patience => Judgement::Stop,
                        true => Judgement::Spare,
                    }
                });
                let offered = offered.into_inner();
                for (count, block) in offered.iter().enumerate() {
                    if !model.allows(rule, &offered[..count], Some(*block)) {
                        return Err(format!("{offered:?} were offered of {model:?}"));
                    }
                }
                let last = offered.last().copied().filter(|block| spared >> block.0 & 1 == 0);
                let ended = last.is_some() || offered.len() == patience || model.allows(rule, &offered, None);
                if taken != last || !ended {
                    return Err(format!("{taken:?} was taken of {offered:?}, which were offered of {model:?}"));
                }
                taken.and_then(|block| model.place(block)).map(|place| model.closed.remove(place));
            }
        }
    }
    Ok(())
}

proptest! {
    /// A policy hands out each closed block once, and nothing else, in the order that its rule has; blocks that it was
    /// asked to spare keep their place in it.
    #[test]
    fn every_policy_takes_each_closed_block_once_and_in_order(steps in prop::collection::vec(step(), 1..200)) {
        for entry in VICTIM_POLICIES {
            let (choice, rule) = rule(entry.name);
            let mut policy = build(&choice, &SHAPE, 3).unwrap();
            let outcome = follow(&mut *policy, rule, &steps);
            prop_assert!(outcome.is_ok(), "{}: {}", entry.name, outcome.unwrap_err());
        }
    }
}

/// Spares blocks by taking them and giving them back as if they were just filled.
#[derive(Debug)]
struct GivesBack {
    inner: Box<dyn VictimPolicy>,
    valid: Vec<u32>,
}

impl VictimPolicy for GivesBack {
    fn closed(&mut self, block: PoolBlock, valid: u32) {
        self.valid[block.index()] = valid;
        self.inner.closed(block, valid);
    }
    fn superseded(&mut self, block: PoolBlock, valid: u32) {
        self.valid[block.index()] = valid;
        self.inner.superseded(block, valid);
    }
    fn take_where(&mut self, judge: &mut dyn FnMut(PoolBlock) -> Judgement) -> Option<PoolBlock> {
        let (mut spared, mut taken) = (Vec::new(), None);
        while let Some(block) = self.inner.take() {
            match judge(block) {
                Judgement::Take => taken = Some(block),
                judgement => {
                    spared.push(block);
                    if judgement == Judgement::Spare {
                        continue;
                    }
                }
            }
            break;
        }
        spared.into_iter().for_each(|block| self.inner.closed(block, self.valid[block.index()]));
        taken
    }
    fn remove(&mut self, block: PoolBlock) {
        self.inner.remove(block);
    }
    fn memory_bytes(&self) -> usize {
        self.inner.memory_bytes()
    }
}

#[test]
fn policies_that_go_by_age_may_not_be_given_back_what_they_spared() {
    let mut rng = Rng::new(1);
    let mut caught = |name: &str| {
        (0..100).any(|_| {
            let steps: Vec<Step> = (0..60)
                .map(|_| match rng.below(4) {
                    0 | 1 => Step::Close { block: PoolBlock(rng.below(24) as u32), valid: rng.below(9) as u32 },
                    2 => Step::Supersede { index: rng.below(24) as usize },
                    _ => Step::TakeWhere { spared: rng.below(1 << 24) as u32, patience: 1 + rng.below(20) as usize },
                })
                .collect();
            let (choice, rule) = rule(name);
            let mut twin = GivesBack { inner: build(&choice, &SHAPE, 3).unwrap(), valid: vec![0; 24] };
            follow(&mut twin, rule, &steps).is_err()
        })
    };
    assert_eq!(["fifo", "windowed", "cost-benefit"].map(&mut caught), [true; 3]);
    assert!(!caught("greedy"), "greedy does not go by age");
}

#[test]
fn many_choices_are_greedy() {
    let mut choice = Choice::named("d-choices");
    choice.parameters.insert("d".into(), crate::Parameter::Integer(1000));
    let mut policy = build(&choice, &SHAPE, 1).unwrap();
    for block in 0..20 {
        policy.closed(PoolBlock(block), 8 - (block == 13) as u32);
    }
    assert_eq!(policy.take(), Some(PoolBlock(13)));
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

#[test]
fn the_registry_is_sound() {
    assert_eq!(esker_core::registry::check(VICTIM_POLICIES), Vec::<String>::new());
    for entry in VICTIM_POLICIES {
        let policy = build(&Choice::named(entry.name), &SHAPE, 1).unwrap();
        let known = policy.compares().is_some();
        assert_eq!(known, entry.can(VictimCapability::KnownSteady), "{}", entry.name);
    }
}
