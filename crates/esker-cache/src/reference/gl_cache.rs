//! GL-Cache over vectors: groups that own their objects, and rows that own the objects whose use they wait for.

use std::collections::{BTreeMap, BTreeSet};

use super::Naive;
use crate::Access;
use crate::policy::gl_cache::learner::{Features, Learner};

pub(crate) struct NaiveGlCache<L> {
    pub(crate) capacity: usize,
    pub(crate) group: usize,
    pub(crate) merged: usize,
    /// In percent.
    pub(crate) ranked: usize,
    /// Percent of the capacity.
    pub(crate) training: usize,
    pub(crate) learner: L,
    state: State,
}

#[derive(Default)]
struct State {
    now: u64,
    /// The last one may be open: it has no time yet.
    groups: Vec<Group>,
    made: u64,
    closed_at: u64,
    hand: u64,
    leaving: Vec<u32>,
    ranking: Vec<u64>,
    rows: Vec<Row>,
    waiting: BTreeMap<usize, BTreeSet<u32>>,
    sampled_at: Option<u64>,
}

#[derive(Clone, Default)]
struct Group {
    number: u64,
    formed_at: Option<u64>,
    filled_in: u64,
    written_bytes: Vec<u32>,
    objects: Vec<Held>,
    uses: u64,
}

#[derive(Clone)]
struct Held {
    object: u32,
    used_at: u64,
    active: bool,
}

struct Row {
    features: Features,
    utility: f64,
}

impl Group {
    fn features(&self, now: u64) -> Features {
        let written = self.written_bytes.len() as f64;
        [
            (now - self.formed_at.unwrap()) as f64,
            self.uses as f64,
            self.objects.iter().filter(|held| held.active).count() as f64,
            written / self.filled_in as f64,
            self.written_bytes.iter().map(|bytes| f64::from(*bytes)).sum::<f64>() / written,
        ]
    }
}

impl<L: Learner> NaiveGlCache<L> {
    /// With the defaults of the policy but for how many groups are merged.
    pub(crate) fn new(capacity: usize, merged: usize, learner: L) -> Self {
        Self { capacity, group: 60, merged, ranked: 5, training: 400, learner, state: State::default() }
    }

    fn size(&self) -> usize {
        self.group.min(self.capacity / 100).max(1)
    }

    fn full(&self) -> Vec<Group> {
        self.state.groups.iter().filter(|group| group.formed_at.is_some()).cloned().collect()
    }

    fn write(&mut self, object: u32, bytes: u32) {
        let now = self.state.now;
        if self.state.groups.last().is_none_or(|group| group.formed_at.is_some()) {
            self.state.made += 1;
            self.state.groups.push(Group { number: self.state.made, ..Group::default() });
        }
        let size = self.size();
        let open = self.state.groups.last_mut().unwrap();
        open.objects.push(Held { object, used_at: now, active: false });
        open.written_bytes.push(bytes);
        if open.objects.len() == size {
            self.close();
        }
    }

    fn close(&mut self) {
        let (now, closed_at) = (self.state.now, self.state.closed_at);
        let open = self.state.groups.last_mut().unwrap();
        (open.formed_at, open.filled_in) = (Some(now), now - closed_at);
        self.state.closed_at = now;
    }

    fn learn(&mut self) {
        let state = &self.state;
        let interval = (self.capacity * self.training / 100).max(1_000) as u64;
        if state.sampled_at.is_none_or(|sampled_at| state.now < sampled_at + interval) {
            return;
        }
        let features: Vec<Features> = state.rows.iter().map(|row| row.features).collect();
        let utilities: Vec<f64> = state.rows.iter().map(|row| row.utility).collect();
        self.learner.train(&features, &utilities);
        self.sample();
    }

    /// Of all groups; these are fewer than 512.
    fn sample(&mut self) {
        let full = self.full();
        while self.state.rows.len() > 3 * full.len() {
            self.state.rows.remove(0);
        }
        self.state.waiting.clear();
        for group in full {
            let objects = group.objects.iter().map(|held| held.object).collect();
            self.state.waiting.insert(self.state.rows.len(), objects);
            self.state.rows.push(Row { features: group.features(self.state.now), utility: 0.0 });
        }
        self.state.sampled_at = Some(self.state.now);
    }

    /// The place of the first of those that are to be merged.
    fn chosen(&mut self) -> usize {
        let full = self.full();
        let place = |number: u64| full.iter().position(|group| group.number == number);
        if !self.learner.is_trained() {
            let hand = place(self.state.hand).unwrap_or(0);
            return if hand + self.merged <= full.len() { hand } else { 0 };
        }
        loop {
            while !self.state.ranking.is_empty() {
                if let Some(place) = place(self.state.ranking.remove(0)) {
                    return place;
                }
            }
            let features: Vec<Features> = full.iter().map(|group| group.features(self.state.now)).collect();
            let utilities = self.learner.predict(&features);
            let mut places: Vec<usize> = (0..full.len()).collect();
            places.sort_by(|one, other| utilities[*one].total_cmp(&utilities[*other]));
            places.truncate((full.len() * self.ranked / 100).max(1));
            self.state.ranking = places.into_iter().map(|place| full[place].number).collect();
        }
    }

    fn make_room(&mut self) {
        if self.state.sampled_at.is_none() {
            self.sample();
        }
        while self.state.leaving.is_empty() {
            if self.full().is_empty() {
                self.close();
            }
            let chosen = self.chosen();
            self.merge(chosen);
        }
    }

    fn merge(&mut self, chosen: usize) {
        let count = self.merged.min(self.full().len());
        let first = chosen.min(self.full().len() - count);
        let parts: Vec<Group> = self.state.groups.drain(first..first + count).collect();
        let mut objects: Vec<Held> = parts.iter().flat_map(|part| part.objects.clone()).collect();
        objects.sort_by_key(|held| held.used_at);
        let kept = if count == 1 { 0 } else { self.size().min(objects.len()) };
        let kept = objects.split_off(objects.len() - kept);
        self.state.leaving.extend(objects.iter().map(|held| held.object));
        self.state.hand = self.full().get(first).map_or(0, |group| group.number);
        if kept.is_empty() {
            return;
        }
        self.state.made += 1;
        let merged = Group {
            number: self.state.made,
            formed_at: Some(self.state.now),
            filled_in: parts.iter().map(|part| part.filled_in).sum(),
            written_bytes: parts.iter().flat_map(|part| part.written_bytes.clone()).collect(),
            objects: kept,
            uses: 0,
        };
        self.state.groups.insert(first, merged);
    }

    fn use_once(&mut self, object: u32) {
        let Some(sampled_at) = self.state.sampled_at else { return };
        for (row, waiting) in &mut self.state.waiting {
            if waiting.remove(&object) {
                self.state.rows[*row].utility += 1.0 / (self.state.now - sampled_at) as f64;
            }
        }
    }
}

impl<L: Learner> Naive for NaiveGlCache<L> {
    fn access(&mut self, access: &Access) -> bool {
        let object = access.object.0;
        self.state.now += 1;
        self.use_once(object);
        self.learn();
        let now = self.state.now;
        if let Some(at) = self.state.leaving.iter().position(|left| *left == object) {
            self.state.leaving.remove(at);
            self.write(object, access.bytes);
            return true;
        }
        for group in &mut self.state.groups {
            if let Some(held) = group.objects.iter_mut().find(|held| held.object == object) {
                (held.used_at, held.active) = (now, true);
                group.uses += 1;
                return true;
            }
        }
        let held: usize = self.state.groups.iter().map(|group| group.objects.len()).sum();
        if held + self.state.leaving.len() == self.capacity {
            if self.state.leaving.is_empty() {
                self.make_room();
            }
            self.state.leaving.remove(0);
        }
        self.write(object, access.bytes);
        false
    }
}
