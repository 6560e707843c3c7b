//! Properties that every scheduler must have, checked for the registry and for the worked example.

use std::collections::BTreeSet;

use esker_core::registry::{self, ParameterSource};
use esker_core::{Nanos, Rng};
use proptest::prelude::*;

use super::*;
use crate::{DiskSettings, PRESETS};

/// The registry with the worked example's line added.
fn entries() -> Vec<SchedulerEntry> {
    SCHEDULERS.iter().copied().chain([worked_example::ENTRY]).collect()
}

pub(super) fn mechanics() -> Mechanics {
    let settings: DiskSettings = toml::from_str(PRESETS[0].toml).unwrap();
    Mechanics::new(&settings).unwrap()
}

/// The mechanics after a read of sector `start`.
pub(super) fn mechanics_at(start: u64) -> Mechanics {
    let mut mechanics = mechanics();
    mechanics.access(Nanos::ZERO, Nanos::ZERO, start, 1, false);
    mechanics
}

/// A command that reads.
pub(super) fn read(start: u64, sequence: u64) -> Waiting {
    Waiting { write: false, ..command(start, sequence) }
}

fn command(start: u64, sequence: u64) -> Waiting {
    Waiting { start, write: sequence.is_multiple_of(2), sequence, came: Nanos::ZERO, slot: sequence as u32 }
}

#[test]
fn the_registry_is_sound() {
    assert_eq!(registry::check(SCHEDULERS), Vec::<String>::new());
    assert_eq!(registry::check(&entries()), Vec::<String>::new());
}

/// Where new commands arrive in the property below.
#[derive(Clone, Copy, Debug)]
enum Arrivals {
    /// Anywhere.
    Random,
    /// At the address of the last command served, so that the arm need never move.
    Near,
    /// One sector after the last command served, always ahead of the arm.
    Ahead,
    /// One sector before the last command served.
    Behind,
}

/// Number of sectors of the disk. Few, so that many commands are for the same sector.
const SECTORS: u64 = 12;

/// Time of an access, and the limit on waits.
const ACCESS: Nanos = Nanos::from_millis(10);
const LIMIT: Nanos = Nanos::from_millis(500);

/// The longest wait of a command: the limit, plus the time of the commands that are even older, of which there are
/// fewer than `waiting`.
fn patience(waiting: usize) -> Nanos {
    LIMIT + ACCESS * waiting as u64
}

/// Serves `rounds` commands with `waiting` commands in the queue. One command arrives for each that is served.
fn serve(entry: &SchedulerEntry, arrivals: Arrivals, waiting: usize, rounds: usize, seed: u64) -> Result<(), String> {
    let (mechanics, mut rng) = (mechanics(), Rng::new(seed));
    let mut queue = Bounded::new((entry.build)(), WaitLimit::after(LIMIT));
    let (mut came, mut served, mut last) = (Vec::<Nanos>::new(), BTreeSet::new(), rng.below(SECTORS));
    for round in 0..rounds + waiting {
        let now = ACCESS * round as u64;
        if round < rounds {
            let start = match arrivals {
                _ if round < waiting => rng.below(SECTORS),
                Arrivals::Random => rng.below(SECTORS),
                Arrivals::Near => last,
                Arrivals::Ahead => (last + 1) % SECTORS,
                Arrivals::Behind => (last + SECTORS - 1) % SECTORS,
            };
            queue.push(Waiting { came: now, ..command(start, came.len() as u64) });
            came.push(now);
        }
        if queue.len() != came.len() - served.len() {
            return Err(format!("it says that {} wait", queue.len()));
        }
        if round < waiting {
            continue;
        }
        let Some(found) = queue.pop(now, &mechanics) else {
            return Err("it serves none though some wait".to_string());
        };
        if found.sequence >= came.len() as u64 || !served.insert(found.sequence) {
            return Err(format!("it makes up {found:?}"));
        }
        let waited = now - came[found.sequence as usize];
        if waited > patience(waiting) {
            return Err(format!("it let {found:?} wait for {waited}"));
        }
        let oldest = (0..).find(|sequence| !served.contains(sequence)).expect("numbers have no end");
        if came.get(oldest as usize).is_some_and(|came| now - *came > patience(waiting)) {
            return Err(format!("it leaves command {oldest} waiting"));
        }
        last = found.start;
    }
    match queue.pop(Nanos::ZERO, &mechanics) {
        None if queue.is_empty() => Ok(()),
        rest => Err(format!("it holds {rest:?} still")),
    }
}

/// Number of rounds within which a command that waits forever would be noticed.
fn rounds(waiting: usize) -> usize {
    3 * (patience(waiting).0 / ACCESS.0) as usize
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![Just(Arrivals::Random), Just(Arrivals::Near), Just(Arrivals::Ahead), Just(Arrivals::Behind)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_command_is_served_once_and_none_waits_for_ever(
        arrivals in arrivals(),
        waiting in 1..24usize,
        seed: u64,
    ) {
        for entry in entries() {
            let result = serve(&entry, arrivals, waiting, rounds(waiting), seed);
            prop_assert!(result.is_ok(), "{}: {}", entry.name, result.unwrap_err());
        }
    }
}

/// A broken scheduler: nearest first, but it says that no command waits for long, or takes the newest for the oldest,
/// or loses a command.
#[derive(Default)]
struct Wrong {
    mistake: Mistake,
    waiting: Vec<Waiting>,
    arm: u64,
}

#[derive(Clone, Copy, Default)]
enum Mistake {
    #[default]
    NewestIsOldest,
    NobodyIsOldest,
    Loses,
}

impl Scheduler for Wrong {
    fn push(&mut self, command: Waiting) {
        match self.mistake {
            Mistake::Loses if command.sequence == 30 => {}
            _ => self.waiting.push(command),
        }
    }
    fn pop(&mut self, _: Nanos, _: &Mechanics) -> Option<Waiting> {
        let distance = |index: &usize| self.waiting[*index].start.abs_diff(self.arm);
        let nearest = (0..self.waiting.len()).min_by_key(distance)?;
        let command = self.waiting.remove(nearest);
        self.arm = command.start;
        Some(command)
    }
    fn oldest(&self) -> Option<Waiting> {
        match self.mistake {
            Mistake::NewestIsOldest => self.waiting.last().copied(),
            Mistake::NobodyIsOldest => None,
            Mistake::Loses => self.waiting.first().copied(),
        }
    }
    fn pop_oldest(&mut self) -> Option<Waiting> {
        match self.mistake {
            Mistake::NewestIsOldest => self.waiting.pop(),
            Mistake::NobodyIsOldest => None,
            Mistake::Loses => (!self.waiting.is_empty()).then(|| self.waiting.remove(0)),
        }
    }
    fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[test]
fn schedulers_that_starve_or_lose_a_command_are_found_out() {
    let wrong = |build| SchedulerEntry {
        name: "wrong",
        summary: "wrong",
        source: "none",
        parameters: ParameterSource::NONE,
        capabilities: &[],
        build,
    };
    let newest = wrong(|| Box::new(Wrong::default()));
    let nobody = wrong(|| Box::new(Wrong { mistake: Mistake::NobodyIsOldest, ..Wrong::default() }));
    let loses = wrong(|| Box::new(Wrong { mistake: Mistake::Loses, ..Wrong::default() }));
    let found = |entry, arrivals| serve(&entry, arrivals, 8, rounds(8), 1).unwrap_err();
    assert!(found(newest, Arrivals::Near).contains("waiting"));
    assert!(found(nobody, Arrivals::Near).contains("waiting"));
    assert!(found(loses, Arrivals::Random).contains("says that"));
}
