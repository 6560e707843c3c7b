//! Checks for tests: what the scheduler updates step by step must equal what a search of all operations finds.

use std::collections::BTreeSet;
use std::ops::Range;

use super::bus::Ask;
use super::op::{Op, Touch};
use super::phases::Phase;
use super::{ByEvent, NOBODY};
use crate::array::tally::DieStep;
use crate::{Gang, GangControl, MultiPlane, Scheduling};

/// The pages touched by operations that were passed over. Operations that conflict with them must not overtake.
#[derive(Default)]
struct PassedOver(Vec<Touch>);

impl PassedOver {
    fn add(&mut self, op: &Op) {
        self.0.push(op.touches);
        self.0.extend(op.also);
    }

    /// Returns true if `op` may overtake all operations that were passed over.
    fn lets_pass(&self, op: &Op) -> bool {
        let stops =
            |touch: &Touch| op.touches.conflicts_with(touch) || op.also.is_some_and(|also| also.conflicts_with(touch));
        op.may_begin() && !self.0.iter().any(stops)
    }
}

impl ByEvent {
    fn queue_of(&self, index: usize) -> Vec<u32> {
        let queue = &self.dies[index].queue;
        let all: Vec<u32> = std::iter::successors(queue.first(), |op| self.ops.next_in_queue(*op)).collect();
        assert_eq!(all.len(), queue.len() as usize);
        assert!(all.is_sorted_by_key(|op| self.ops[*op].sequence));
        all
    }

    fn first_host_read(&self, index: usize) -> Option<u32> {
        let limit = self.dies[index].suspended.as_ref().map_or(u64::MAX, |suspended| suspended.reads_before);
        let may_begin = |op: &Op| op.is_host_read() && op.may_begin() && op.sequence < limit;
        self.queue_of(index).into_iter().find(|op| may_begin(&self.ops[*op]))
    }

    fn choice(&self, index: usize) -> Option<u32> {
        let queue = self.queue_of(index);
        let mut passed = PassedOver::default();
        match self.settings.scheduling {
            Scheduling::Fifo => queue.first().copied().filter(|op| self.ops[*op].may_begin()),
            Scheduling::ReadsFirst => self.first_host_read(index).or_else(|| {
                let first = queue.iter().position(|op| {
                    let op = &self.ops[*op];
                    if op.is_host_read() {
                        passed.add(op);
                    }
                    !op.is_host_read()
                })?;
                passed.lets_pass(&self.ops[queue[first]]).then_some(queue[first])
            }),
            Scheduling::OutOfOrder => {
                let taken = self.transfer_would_wait(index);
                let mut would_wait = None;
                for number in queue {
                    let op = &self.ops[number];
                    if passed.lets_pass(op) {
                        if !(op.asks_first() && taken) {
                            return Some(number);
                        }
                        would_wait = would_wait.or(Some(number));
                    }
                    passed.add(op);
                }
                would_wait
            }
        }
    }

    /// Asserts that `chosen` is what die `index` begins next.
    pub(super) fn check_choice(&self, index: usize, chosen: Option<u32>) {
        assert_eq!(chosen, self.choice(index), "die {index}, {:?}", self.settings.scheduling);
    }

    /// Asserts that the group of die `index`, which is about to begin, contains all operations that the die does
    /// together.
    pub(super) fn check_join(&self, index: usize) {
        let group = Vec::from_iter(self.dies[index].group.iter());
        let (queue, die) = (self.queue_of(index), &self.dies[index]);
        let position = queue.iter().position(|op| *op == group[0]).expect("it waits");
        let leader = &self.ops[queue[position]];
        let mut joined = vec![queue[position]];
        let most = match self.settings.multi_plane {
            _ if leader.step == DieStep::ReadAgain => 1,
            MultiPlane::Off => 1,
            MultiPlane::Pairs => 2,
            MultiPlane::Any => self.layout.planes_per_die() as usize,
        };
        let mut planes = vec![leader.plane];
        let held = self.finds_page(index, leader);
        let mut passed = PassedOver::default();
        let limit = die.suspended.as_ref().map_or(u64::MAX, |suspended| suspended.reads_before);
        die.suspended.iter().flat_map(|suspended| suspended.group.iter()).for_each(|op| passed.add(&self.ops[op]));
        let reads_apart = self.settings.scheduling == Scheduling::ReadsFirst || die.suspended.is_some();
        queue.iter().take(position).for_each(|op| passed.add(&self.ops[*op]));
        for number in queue.into_iter().skip(position + 1) {
            if joined.len() == most {
                break;
            }
            let op = &self.ops[number];
            let plane = match self.settings.multi_plane {
                MultiPlane::Pairs => op.plane == leader.plane ^ 1,
                _ => !planes.contains(&op.plane),
            };
            let fits = op.step.command() == leader.step.command() && op.pages == leader.pages && plane;
            let fits = fits && op.mode == leader.mode && self.finds_page(index, op) == held;
            let class = !reads_apart || op.is_host_read() == leader.is_host_read();
            if fits && class && op.sequence < limit && passed.lets_pass(op) {
                joined.push(number);
                planes.push(op.plane);
                continue;
            }
            let may_skip = match self.settings.scheduling {
                Scheduling::Fifo => false,
                Scheduling::ReadsFirst => leader.is_host_read() || op.is_host_read(),
                Scheduling::OutOfOrder => true,
            };
            if !may_skip {
                break;
            }
            passed.add(op);
        }
        assert_eq!(group, joined, "die {index}, {:?}, {:?}", self.settings.scheduling, self.settings.multi_plane);
    }

    /// Asserts that `op`, which was just pushed, waits for `after` and for all other operations that have to end before
    /// it.
    pub(super) fn check_ties(&self, op: u32, after: u32) {
        if self.settings.scheduling == Scheduling::Fifo || self.tracked.is_some() || !self.beside.is_empty() {
            return;
        }
        let pushed = &self.ops[op];
        let touches = |op: &Op| [Some(op.touches), op.also].into_iter().flatten();
        let has_to_end = |number: u32| {
            let other = &self.ops[number];
            let conflicts = || touches(pushed).any(|touch| touches(other).any(|also| touch.conflicts_with(&also)));
            let copies = pushed.step == DieStep::Erase && other.source == pushed.touches.block;
            number == after || copies || pushed.is_host_read() && other.die == pushed.die && conflicts()
        };
        let expected: BTreeSet<u32> =
            self.ops.live().filter(|other| *other != op).filter(|other| has_to_end(*other)).collect();
        let waits: BTreeSet<u32> = self.ops.live().filter(|other| self.ops.followers(*other).contains(&op)).collect();
        assert_eq!(waits, expected, "{pushed:?}");
        assert!(after == NOBODY || expected.contains(&after));
    }

    /// Returns the transfer that die `index` asks for.
    fn ask_of(&self, index: usize) -> Option<Ask> {
        let state = &self.dies[index];
        let op = match state.phase {
            Phase::Asking => state.group.member(state.turn),
            Phase::Idle => state.wants?,
            _ => return None,
        };
        Some(Ask { since: state.since, sequence: self.ops[op].sequence, die: index as u32, op })
    }

    /// Asserts that there is nothing left to decide for `dies` at `now`.
    pub(super) fn check_decided(&self, dies: Range<u32>, now: u64) {
        for index in dies.map(|die| die as usize) {
            let die = &self.dies[index];
            assert!(!die.awake, "die {index} has not decided");
            let asked: Vec<Ask> =
                self.buses.iter().flat_map(|bus| &bus.asks).filter(|ask| ask.die as usize == index).copied().collect();
            assert_eq!(asked, Vec::from_iter(self.ask_of(index)), "die {index} asks");
            let asks = !asked.is_empty();
            if self.settings.gang == Gang::SharedControl && self.settings.gang_control != GangControl::Commands {
                continue;
            }
            assert!(!asks || self.buses[self.bus_of(index)].taken, "die {index} waits for a bus that is free");
            match die.phase {
                Phase::Idle => {
                    assert!(die.suspended.is_none(), "die {index} reads or resumes");
                    let choice = self.choice(index);
                    assert!(choice.is_none_or(|op| self.ops[op].asks_first()), "die {index} could begin {choice:?}");
                    assert_eq!(die.wants, choice, "die {index}");
                }
                Phase::After => {
                    let leader = &self.ops[die.group.leader()];
                    let may_suspend = self.settings.suspend.is_some_and(|rules| {
                        (leader.asks_first() || leader.step == DieStep::Erase)
                            && leader.suspensions < rules.limit
                            && die.rest(now) > rules.suspend.0
                    });
                    assert!(!may_suspend || self.first_host_read(index).is_none(), "die {index} could be suspended");
                }
                _ => {}
            }
        }
    }
}
