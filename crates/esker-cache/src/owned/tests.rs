use std::collections::{BTreeSet, VecDeque};

use esker_core::{Rng, registry};
use proptest::prelude::*;

use super::queue::{Place, Queue};
use super::*;

/// Reads with locality of both kinds: recent objects, and objects that are read often.
fn reads(seed: u64, objects: u32, count: usize) -> Vec<u32> {
    let mut rng = Rng::new(seed);
    let mut recent = VecDeque::new();
    (0..count)
        .map(|number| {
            let object = match rng.below(4) {
                0 if !recent.is_empty() => recent[rng.below(recent.len() as u64) as usize],
                1 => (rng.below(u64::from(objects)) * rng.below(u64::from(objects)) / u64::from(objects)) as u32,
                2 => number as u32 % objects,
                _ => rng.below(u64::from(objects)) as u32,
            };
            recent.push_front(object);
            recent.truncate(12);
            object
        })
        .collect()
}

fn built(name: &str, shape: &FlashShape) -> Box<dyn FlashPolicy> {
    build_flash_policy(&Choice::named(name), shape).unwrap()
}

#[test]
fn the_registry_is_sound() {
    assert_eq!(registry::check(FLASH_POLICIES), Vec::<String>::new());
}

/// A policy whose suspects are erased at random times.
struct Trial<'a> {
    policy: &'a mut dyn FlashPolicy,
    rng: Rng,
    held: BTreeSet<u32>,
    suspected: BTreeSet<u32>,
    shape: FlashShape,
}

impl Trial<'_> {
    /// Reads `object`, and erases some suspects. Returns what the read found, or a contradiction.
    fn read(&mut self, object: u32) -> Result<Found, String> {
        if self.policy.is_suspected(ObjectId(object)) != self.suspected.contains(&object) {
            return Err(format!("it is wrong about whether {object} is suspected"));
        }
        let mut left = Vec::new();
        let found = self.policy.access(ObjectId(object), &mut left);
        let expected = match (self.held.contains(&object), self.suspected.remove(&object)) {
            (true, _) => Found::Hit,
            (_, true) => Found::Revived,
            _ => Found::Miss,
        };
        if found != expected {
            return Err(format!("{object} was found as {found:?}, not as {expected:?}"));
        }
        self.leave(&left)?;
        self.held.insert(object);
        if self.rng.below(8) == 0 {
            let erased: Vec<u32> = self.suspected.iter().copied().filter(|_| self.rng.below(3) == 0).collect();
            for one in erased {
                self.policy.erased(ObjectId(one));
                self.suspected.remove(&one);
            }
        }
        self.counts_fit()?;
        Ok(found)
    }

    /// Shrinks the cache. Returns a contradiction, if there is one.
    fn shrink(&mut self, capacity: u32, suspects: u32) -> Result<(), String> {
        let mut left = Vec::new();
        self.policy.shrink(capacity, suspects, &mut left);
        self.leave(&left)?;
        self.shape = FlashShape { capacity, suspects, ..self.shape };
        self.counts_fit()
    }

    fn leave(&mut self, left: &[Left]) -> Result<(), String> {
        for left in left {
            let fits = match left {
                Left::Suspected(ObjectId(one)) => self.held.remove(one) && self.suspected.insert(*one),
                Left::Gone(ObjectId(one)) => self.held.remove(one) || self.suspected.remove(one),
            };
            if !fits || self.held.len() as u32 > self.shape.capacity {
                return Err(format!("{left:?} does not fit"));
            }
        }
        Ok(())
    }

    fn counts_fit(&self) -> Result<(), String> {
        let counts = (self.policy.held(), self.policy.suspected());
        if counts != (self.held.len() as u32, self.suspected.len() as u32) {
            return Err(format!("it counts {counts:?} for {:?} and {:?}", self.held, self.suspected));
        }
        if counts.0 > self.shape.capacity || counts.1 > self.shape.suspects {
            return Err(format!("{counts:?} are too many for {:?}", self.shape));
        }
        Ok(())
    }
}

/// Returns what each read finds.
fn follow(policy: &mut dyn FlashPolicy, shape: FlashShape, reads: &[u32], seed: u64) -> Result<Vec<Found>, String> {
    let (held, suspected) = (BTreeSet::new(), BTreeSet::new());
    let mut trial = Trial { policy, rng: Rng::new(seed), held, suspected, shape };
    reads.iter().map(|object| trial.read(*object)).collect()
}

/// ARC as printed in figure 4 of Megiddo and Modha 2003. The least recently used entry of each list stands first.
#[derive(Default)]
struct NaiveArc {
    c: usize,
    p: f64,
    t: [Vec<u32>; 2],
    b: [Vec<u32>; 2],
}

impl NaiveArc {
    fn replace(&mut self, in_b2: bool) {
        let first = self.t[0].len();
        let from = usize::from(!(first > 0 && (first as f64 > self.p || in_b2 && first as f64 == self.p)));
        let object = self.t[from].remove(0);
        self.b[from].push(object);
    }

    fn read(&mut self, object: u32) -> bool {
        for list in &mut self.t {
            if let Some(at) = list.iter().position(|other| *other == object) {
                list.remove(at);
                self.t[1].push(object);
                return true;
            }
        }
        for list in 0..2 {
            let Some(at) = self.b[list].iter().position(|other| *other == object) else { continue };
            let step = (self.b[1 - list].len() as f64 / self.b[list].len() as f64).max(1.0);
            self.p = if list == 0 { (self.p + step).min(self.c as f64) } else { (self.p - step).max(0.0) };
            self.b[list].remove(at);
            self.replace(list == 1);
            self.t[1].push(object);
            return false;
        }
        let all = self.t[0].len() + self.t[1].len() + self.b[0].len() + self.b[1].len();
        if self.t[0].len() + self.b[0].len() == self.c {
            if self.t[0].len() < self.c {
                self.b[0].remove(0);
                self.replace(false);
            } else {
                self.t[0].remove(0);
            }
        } else if all >= self.c {
            if all == 2 * self.c {
                self.b[1].remove(0);
            }
            self.replace(false);
        }
        self.t[0].push(object);
        false
    }
}

/// Plain LRU. The object used last is at the end.
fn lru_hits(capacity: u32, reads: &[u32]) -> Vec<bool> {
    let mut held: Vec<u32> = Vec::new();
    let read = |object: &u32| {
        let at = held.iter().position(|other| other == object);
        if at.is_some() || held.len() as u32 == capacity {
            held.remove(at.unwrap_or(0));
        }
        held.push(*object);
        at.is_some()
    };
    reads.iter().map(read).collect()
}

/// Checks that FLRU's main queue behaves like LRU, and that FLRU hits everything that LRU hits.
fn never_below_lru(policy: &mut dyn FlashPolicy, shape: FlashShape, reads: &[u32], seed: u64) -> Result<u32, String> {
    let found = follow(policy, shape, reads, seed)?;
    for (number, (found, lru)) in found.iter().zip(lru_hits(shape.capacity, reads)).enumerate() {
        if (*found == Found::Hit) != lru {
            return Err(format!("at read {number} LRU hit: {lru}, and it: {found:?}"));
        }
    }
    Ok(found.iter().filter(|found| **found == Found::Revived).count() as u32)
}

proptest! {
    #[test]
    fn flru_is_never_below_lru(seed: u64, capacity in 1u32..40, suspects in 0u32..40, objects in 1u32..90) {
        let shape = FlashShape { capacity, suspects, objects };
        let outcome = never_below_lru(&mut *built("flru", &shape), shape, &reads(seed, objects, 1_500), seed);
        prop_assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
    }

    #[test]
    fn without_suspects_they_are_lru_and_arc(seed: u64, capacity in 1u32..40, objects in 1u32..90) {
        let shape = FlashShape { capacity, suspects: 7, objects };
        let reads = reads(seed, objects, 1_500);
        let hits = |name| follow(&mut *built(name, &shape), shape, &reads, seed)
            .map(|found| found.into_iter().map(|found| found == Found::Hit).collect::<Vec<_>>());
        prop_assert_eq!(hits("lru"), Ok(lru_hits(capacity, &reads)));
        let mut arc = NaiveArc { c: capacity as usize, ..NaiveArc::default() };
        prop_assert_eq!(hits("arc"), Ok(reads.iter().map(|object| arc.read(*object)).collect()));
    }

    /// What policies hold and suspect agrees with what they report, through erases, removals and losses of room.
    #[test]
    fn policies_account_for_every_object(seed: u64, capacity in 1u32..40, suspects in 0u32..40, objects in 1u32..90) {
        let shape = FlashShape { capacity, suspects, objects };
        for entry in FLASH_POLICIES {
            let mut policy = built(entry.name, &shape);
            let (held, suspected) = (BTreeSet::new(), BTreeSet::new());
            let mut trial = Trial { policy: &mut *policy, rng: Rng::new(seed), held, suspected, shape };
            let mut rng = Rng::new(!seed);
            for object in reads(seed, objects, 1_000) {
                let read = trial.read(object);
                prop_assert!(read.is_ok(), "{}: {}", entry.name, read.unwrap_err());
                if rng.below(6) == 0 {
                    let gone = rng.below(u64::from(objects)) as u32;
                    trial.policy.remove(ObjectId(gone));
                    trial.held.remove(&gone);
                    trial.suspected.remove(&gone);
                }
                if rng.below(40) == 0 {
                    let FlashShape { capacity, suspects, .. } = trial.shape;
                    let (capacity, suspects) = (capacity - capacity / 8, suspects - suspects / 6);
                    let shrunk = trial.shrink(capacity.max(1), suspects);
                    prop_assert!(shrunk.is_ok(), "{}: {}", entry.name, shrunk.unwrap_err());
                }
                let suspects = policy_suspects(entry.name);
                prop_assert!(suspects || trial.policy.suspected() == 0, "{} suspects", entry.name);
                let hot = (0..objects).filter(|object| trial.policy.is_hot(ObjectId(*object))).count();
                let halves = trial.policy.held().div_ceil(2) as usize + 1;
                prop_assert!(hot <= halves, "{}: {} are hot", entry.name, hot);
            }
        }
    }

    #[test]
    fn queues_keep_their_order_and_the_head_half_is_at_the_head(seed: u64) {
        let (mut rng, mut places) = (Rng::new(seed), vec![Place::default(); 30]);
        let (mut queue, mut model) = (Queue::new(1), Vec::new());
        for _ in 0..400 {
            let object = rng.below(30) as u32;
            match model.iter().position(|other| *other == object) {
                Some(at) if rng.below(2) == 0 => {
                    model.remove(at);
                    queue.remove(&mut places, object);
                }
                Some(at) => {
                    model.remove(at);
                    model.push(object);
                    queue.renew(&mut places, object);
                }
                None => {
                    model.push(object);
                    queue.push_head(&mut places, object);
                }
            }
            prop_assert_eq!(queue.tail_first(&places), &*model);
            let hot = model.iter().rev().take_while(|object| places[**object as usize].hot).count();
            prop_assert!(hot <= model.len().div_ceil(2));
            prop_assert!(model.iter().rev().skip(hot).all(|object| !places[*object as usize].hot));
        }
    }
}

/// Returns true if the policy remembers the objects that it evicts.
fn policy_suspects(name: &str) -> bool {
    matches!(name, "flru" | "farc")
}

/// A faulty FLRU: objects that it revives stay among the suspects, so that the main queue does not learn of them.
#[derive(Debug)]
struct Forgetful(Box<dyn FlashPolicy>, BTreeSet<u32>);

impl FlashPolicy for Forgetful {
    fn access(&mut self, object: ObjectId, left: &mut Vec<Left>) -> Found {
        if self.1.contains(&object.0) {
            return Found::Revived;
        }
        let found = self.0.access(object, left);
        for left in left.iter() {
            match left {
                Left::Suspected(one) => self.1.insert(one.0),
                Left::Gone(one) => self.1.remove(&one.0),
            };
        }
        found
    }
    fn holds(&self, object: ObjectId) -> bool {
        self.0.holds(object)
    }
    fn is_suspected(&self, object: ObjectId) -> bool {
        self.1.contains(&object.0)
    }
    fn is_hot(&self, object: ObjectId) -> bool {
        self.0.is_hot(object)
    }
    fn remove(&mut self, object: ObjectId) {
        self.0.remove(object);
    }
    fn shrink(&mut self, capacity: u32, suspects: u32, left: &mut Vec<Left>) {
        self.0.shrink(capacity, suspects, left);
    }
    fn erased(&mut self, object: ObjectId) {
        self.1.remove(&object.0);
        self.0.erased(object);
    }
    fn held(&self) -> u32 {
        self.0.held()
    }
    fn suspected(&self) -> u32 {
        self.0.suspected()
    }
    fn memory_bytes(&self) -> usize {
        self.0.memory_bytes()
    }
}

#[test]
fn a_policy_that_forgets_to_move_what_it_revives_is_caught() {
    let shape = FlashShape { capacity: 20, suspects: 10, objects: 60 };
    let reads = reads(3, 60, 2_000);
    let revived = never_below_lru(&mut *built("flru", &shape), shape, &reads, 3).unwrap();
    assert!(revived > 50, "{revived}");
    let mut twin = Forgetful(built("flru", &shape), BTreeSet::new());
    assert!(never_below_lru(&mut twin, shape, &reads, 3).is_err());
}

/// Entries of FARC whose block is erased go to the head of B1, and a read of them moves the target.
#[test]
fn farc_remembers_what_was_erased() {
    let shape = FlashShape { capacity: 4, suspects: 4, objects: 20 };
    let mut farc = farc::Farc::new(&shape);
    let mut left = Vec::new();
    // Two objects of T2, so that there is room for both T1 and B1.
    for object in [0, 0, 1, 1, 2, 3, 4] {
        farc.access(ObjectId(object), &mut left);
    }
    assert_eq!(left, [Left::Suspected(ObjectId(2))]);
    farc.erased(ObjectId(2));
    assert_eq!((farc.suspected(), farc.held()), (0, 4));
    left.clear();
    assert_eq!(farc.access(ObjectId(2), &mut left), Found::Miss);
    assert_eq!(left, [Left::Suspected(ObjectId(3))]);
    // B1 was hit: the target is 1 now, and T1 has one object. The next one leaves T2.
    left.clear();
    farc.access(ObjectId(9), &mut left);
    assert_eq!(left, [Left::Suspected(ObjectId(0))]);
}

#[test]
fn the_bound_of_suspects_is_equation_2_2() {
    // 3 GB with 15, 25, 35 % over-provisioning, and 5 % kept free, in parts per hundred.
    assert_eq!([85, 75, 65].map(|user| suspects_max(100, user, 5)), [10, 20, 30]);
    assert_eq!(suspects_max(100, 97, 5), 0);
}
