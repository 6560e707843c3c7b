mod gain;

use std::cell::RefCell;

use esker_core::Rng;
use proptest::prelude::*;

use super::*;
use crate::{ParameterValue, PoolBlock};

#[derive(Clone, Copy, Debug)]
enum Step {
    Close {
        block: PoolBlock,
        valid: u32,
    },
    Supersede {
        index: usize,
    },
    Revive {
        index: usize,
    },
    Remove {
        index: usize,
    },
    Take,
    /// Skips the blocks of a bit set, and stops after `patience` offers.
    TakeWhere {
        spared: u32,
        patience: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..SHAPE.blocks, 0u32..=8).prop_map(|(block, valid)| Step::Close { block: PoolBlock(block), valid }),
        4 => any::<usize>().prop_map(|index| Step::Supersede { index }),
        2 => any::<usize>().prop_map(|index| Step::Revive { index }),
        1 => any::<usize>().prop_map(|index| Step::Remove { index }),
        2 => Just(Step::Take),
        3 => (any::<u32>(), 1usize..30).prop_map(|(spared, patience)| Step::TakeWhere { spared, patience }),
    ]
}

pub(super) const SHAPE: PoolShape = PoolShape { blocks: 24, data_pages_per_block: 8 };
/// A closed block.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClosedBlock {
    pub(super) block: PoolBlock,
    pub(super) valid: u32,
}

/// Something that the test reported to a policy.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// The block was filled.
    Filled(PoolBlock),
    /// A page of the block was superseded.
    Superseded(PoolBlock),
}

/// What happened to the blocks. Rules tell from it what a policy may offer.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// Closed blocks in the order of filling.
    pub(super) closed: Vec<ClosedBlock>,
    /// Events, oldest first, including those of blocks that are no longer closed.
    pub(super) events: Vec<Event>,
}

/// The order in which a policy offers blocks, told from what happened to them.
pub(super) struct Rule {
    /// The policy, with parameters that suit [`SHAPE`].
    pub(super) choice: fn() -> Choice,
    /// Returns the blocks that the policy may offer next. The blocks left are in the order of filling, and there is at
    /// least one.
    pub(super) best: fn(&Model, &[ClosedBlock]) -> Vec<PoolBlock>,
}

/// The choice of a policy with one parameter.
pub(super) fn with(policy: &str, name: &str, value: ParameterValue) -> Choice {
    let mut choice = Choice::named(policy);
    choice.parameters.insert(name.into(), value);
    choice
}

/// The one block that a rule allows.
pub(super) fn only(found: Option<&ClosedBlock>) -> Vec<PoolBlock> {
    found.map(|closed| closed.block).into_iter().collect()
}

/// A policy and the rule that it has to follow.
struct Trial<'a> {
    policy: &'a mut dyn VictimPolicy,
    /// `None` for a policy that may offer any block.
    rule: Option<&'a Rule>,
    model: Model,
}

impl Trial<'_> {
    fn place(&self, block: PoolBlock) -> Option<usize> {
        self.model.closed.iter().position(|closed| closed.block == block)
    }

    /// Does one step. Returns an error that says how the policy breaks its rule.
    fn step(&mut self, step: Step) -> Result<(), String> {
        match step {
            Step::Close { block, valid } => self.close(block, valid),
            Step::Supersede { index } => self.supersede(index),
            Step::Revive { index } => self.revive(index),
            Step::Remove { index } => {
                if let Some(last) = self.model.closed.len().checked_sub(1) {
                    self.policy.remove(self.model.closed.remove(index % (last + 1)).block);
                }
            }
            Step::Take => return self.take(),
            Step::TakeWhere { spared, patience } => return self.take_where(spared, patience),
        }
        Ok(())
    }

    fn close(&mut self, block: PoolBlock, valid: u32) {
        if self.place(block).is_none() {
            self.model.closed.push(ClosedBlock { block, valid });
            self.model.events.push(Event::Filled(block));
            self.policy.closed(block, valid);
        }
    }

    fn supersede(&mut self, index: usize) {
        let with_pages: Vec<&mut ClosedBlock> =
            self.model.closed.iter_mut().filter(|closed| closed.valid > 0).collect();
        let count = with_pages.len().max(1);
        if let Some(closed) = with_pages.into_iter().nth(index % count) {
            closed.valid -= 1;
            self.model.events.push(Event::Superseded(closed.block));
            self.policy.superseded(closed.block, closed.valid);
        }
    }

    fn revive(&mut self, index: usize) {
        let full = SHAPE.data_pages_per_block;
        let with_room: Vec<&mut ClosedBlock> =
            self.model.closed.iter_mut().filter(|closed| closed.valid < full).collect();
        let count = with_room.len().max(1);
        if let Some(closed) = with_room.into_iter().nth(index % count) {
            closed.valid += 1;
            self.policy.revived(closed.block, closed.valid);
        }
    }

    fn take(&mut self) -> Result<(), String> {
        let taken = self.policy.take();
        if !self.allows(&[], taken) {
            return Err(format!("{taken:?} was taken of {:?}", self.model));
        }
        self.forget(taken);
        Ok(())
    }

    /// Skips the blocks of the bit set `spared`, and stops after `patience` offers.
    fn take_where(&mut self, spared: u32, patience: usize) -> Result<(), String> {
        let offered = RefCell::new(Vec::new());
        let taken = self.policy.take_where(&mut |block| {
            offered.borrow_mut().push(block);
            match spared >> block.0 & 1 == 1 {
                false => VictimAnswer::Take,
                true if offered.borrow().len() == patience => VictimAnswer::Stop,
                true => VictimAnswer::Skip,
            }
        });
        let offered = offered.into_inner();
        for (count, block) in offered.iter().enumerate() {
            if !self.allows(&offered[..count], Some(*block)) {
                return Err(format!("{offered:?} were offered of {:?}", self.model));
            }
        }
        let last = offered.last().copied().filter(|block| spared >> block.0 & 1 == 0);
        let ended = last.is_some() || offered.len() == patience || self.allows(&offered, None);
        if taken != last || !ended {
            return Err(format!("{taken:?} was taken of {offered:?}, which were offered of {:?}", self.model));
        }
        self.forget(taken);
        Ok(())
    }

    fn forget(&mut self, taken: Option<PoolBlock>) {
        taken.and_then(|block| self.place(block)).map(|place| self.model.closed.remove(place));
    }

    /// Returns true if the policy may offer `offered`, or nothing, after it has offered `spared`.
    fn allows(&self, spared: &[PoolBlock], offered: Option<PoolBlock>) -> bool {
        let closed = self.model.closed.iter().copied();
        let left: Vec<ClosedBlock> = closed.filter(|closed| !spared.contains(&closed.block)).collect();
        match (offered, self.rule) {
            (None, _) => left.is_empty(),
            (Some(offered), _) if !left.iter().any(|closed| closed.block == offered) => false,
            (Some(offered), Some(rule)) => (rule.best)(&self.model, &left).contains(&offered),
            (Some(_), None) => true,
        }
    }
}

/// Returns the policy called `name`, and its rule.
fn policy(name: &str) -> (Box<dyn VictimPolicy>, Option<&'static Rule>) {
    let rule = RULES.iter().find(|rule| (rule.choice)().kind == name);
    let choice = rule.map_or_else(|| Choice::named(name), |rule| (rule.choice)());
    (build(&choice, &SHAPE, 3).unwrap(), rule)
}

/// Does `steps`, then takes the remaining blocks. Returns the first error.
fn follow(policy: &mut dyn VictimPolicy, rule: Option<&Rule>, steps: &[Step]) -> Result<(), String> {
    let mut trial = Trial { policy, rule, model: Model::default() };
    let all = (0..SHAPE.blocks).map(|_| Step::Take);
    steps.iter().copied().chain(all).try_for_each(|step| trial.step(step))
}

proptest! {
    /// A policy hands out each closed block once, and nothing else, in the order of its rule. Skipped blocks keep their
    /// place in that order.
    #[test]
    fn every_policy_takes_each_closed_block_once_and_in_order(steps in prop::collection::vec(step(), 1..200)) {
        for entry in VICTIM_POLICIES {
            let (mut policy, rule) = policy(entry.name);
            let outcome = follow(&mut *policy, rule, &steps);
            prop_assert!(outcome.is_ok(), "{}: {}", entry.name, outcome.unwrap_err());
        }
    }
}

/// Skips blocks by taking them and giving them back as if they had just been filled.
#[derive(Clone, Debug)]
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
    fn revived(&mut self, block: PoolBlock, valid: u32) {
        self.valid[block.index()] = valid;
        self.inner.revived(block, valid);
    }
    fn take_where(&mut self, judge: &mut dyn FnMut(PoolBlock) -> VictimAnswer) -> Option<PoolBlock> {
        let (mut spared, mut taken) = (Vec::new(), None);
        while let Some(block) = self.inner.take() {
            match judge(block) {
                VictimAnswer::Take => taken = Some(block),
                judgement => {
                    spared.push(block);
                    if judgement == VictimAnswer::Skip {
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
fn every_rule_is_that_of_one_policy() {
    let mut names: Vec<String> = RULES.iter().map(|rule| (rule.choice)().kind).collect();
    assert!(names.iter().all(|name| registry::names(VICTIM_POLICIES).any(|known| known == name)), "{names:?}");
    names.sort();
    names.dedup();
    assert_eq!(names.len(), RULES.len(), "a policy has two rules");
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
            let (inner, rule) = policy(name);
            let mut twin = GivesBack { inner, valid: vec![0; 24] };
            follow(&mut twin, rule, &steps).is_err()
        })
    };
    assert_eq!(["fifo", "windowed", "cost-benefit"].map(&mut caught), [true; 3]);
    assert!(!caught("greedy"), "greedy does not go by age");
}

#[test]
fn many_choices_are_greedy() {
    let mut choice = Choice::named("d-choices");
    choice.parameters.insert("d".into(), ParameterValue::Integer(1000));
    let mut policy = build(&choice, &SHAPE, 1).unwrap();
    for block in 0..20 {
        policy.closed(PoolBlock(block), 8 - (block == 13) as u32);
    }
    assert_eq!(policy.take(), Some(PoolBlock(13)));
}

#[test]
fn unknown_names_and_parameters_are_refused_with_the_nearest() {
    let error = build(&Choice::named("gredy"), &SHAPE, 0).unwrap_err();
    let names: Vec<&str> = registry::names(VICTIM_POLICIES).collect();
    assert!(error.to_string().contains("`gredy`") && error.to_string().contains(&names.join(", ")), "{error}");
    assert_eq!(esker_core::Hint::hint(&error).as_deref(), Some("did you mean `greedy`?"));
    let mut choice = Choice::named("greedy");
    choice.parameters.insert("d".into(), ParameterValue::Integer(3));
    assert_eq!(
        build(&choice, &SHAPE, 0).unwrap_err().to_string(),
        "`cleaning.victim` of kind `greedy` has no parameter `d`"
    );
    choice.kind = "d-choices".into();
    choice.parameters.insert("d".into(), ParameterValue::Integer(0));
    let error = build(&choice, &SHAPE, 0).unwrap_err();
    assert_eq!(error.to_string(), "`cleaning.victim.d` is 0; expected a whole number from 1 to 1000000");
}

#[test]
fn the_registry_is_sound() {
    assert_eq!(registry::check(VICTIM_POLICIES), Vec::<String>::new());
    for entry in VICTIM_POLICIES {
        let policy = build(&Choice::named(entry.name), &SHAPE, 1).unwrap();
        let known = policy.compares().is_some();
        assert_eq!(known, entry.can(VictimCapability::KnownSteady), "{}", entry.name);
    }
}
