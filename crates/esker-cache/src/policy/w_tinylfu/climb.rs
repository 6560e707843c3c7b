//! How large the window is to be: hill climbing by the share of hits.

/// Climbs as Caffeine does: after every ten accesses for each object of a full cache it compares the share of hits with
/// that of the accesses before, goes on in the same direction if it has not fallen, and else turns. Steps become
/// smaller; a share that changes by five hundredths or more makes them as large as at first.
#[derive(Debug)]
pub(super) struct Climb {
    capacity: u32,
    accesses: u64,
    hits: u64,
    hit_share_before: f64,
    /// Objects that the next step adds to the window, if the share of hits does not fall; it takes some away if
    /// negative.
    step: f64,
}

/// Accesses between two steps, for each object that the cache has room for.
const ACCESSES: u64 = 10;

/// The first step, as a share of the cache.
const FIRST_STEP: f64 = 0.0625;

/// What is left of a step in the next one.
const DECAY: f64 = 0.98;

/// A change of the share of hits that is a new workload.
const RESTART: f64 = 0.05;

impl Climb {
    /// The first step makes the window smaller.
    pub(super) fn new(capacity: u32) -> Self {
        let step = -FIRST_STEP * f64::from(capacity);
        Self { capacity, accesses: 0, hits: 0, hit_share_before: 0.0, step }
    }

    pub(super) fn set_capacity(&mut self, capacity: u32) {
        *self = Self::new(capacity);
    }

    /// An access to a full cache. Returns by how many objects the window is to grow, or, if negative, to shrink.
    pub(super) fn access(&mut self, hit: bool) -> i64 {
        self.accesses += 1;
        self.hits += u64::from(hit);
        if self.accesses < ACCESSES * u64::from(self.capacity) {
            return 0;
        }
        let hit_share = self.hits as f64 / self.accesses as f64;
        let change = hit_share - self.hit_share_before;
        let amount = if change >= 0.0 { self.step } else { -self.step };
        self.step = if change.abs() >= RESTART {
            FIRST_STEP * f64::from(self.capacity) * amount.signum()
        } else {
            DECAY * amount
        };
        (self.accesses, self.hits, self.hit_share_before) = (0, 0, hit_share);
        amount as i64
    }
}
