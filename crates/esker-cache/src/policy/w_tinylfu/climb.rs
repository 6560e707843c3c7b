//! The size of the window: hill climbing by the hit ratio.

/// Climbs like Caffeine: after every ten accesses per object of a full cache, it compares the hit ratio with that of
/// the accesses before. If the ratio has not fallen, it continues in the same direction, otherwise it turns. Steps
/// become smaller. A change of the ratio by five hundredths or more makes them as large as at first.
#[derive(Debug)]
pub(super) struct Climb {
    capacity: u32,
    accesses: u64,
    hits: u64,
    hit_share_before: f64,
    /// Number of objects that the next step adds to the window if the hit ratio does not fall. If negative, the step
    /// removes objects.
    step: f64,
}

/// Accesses between two steps, per object that the cache has room for.
const ACCESSES: u64 = 10;

/// The first step, as a share of the cache.
const FIRST_STEP: f64 = 0.0625;

/// Size of a step in proportion to the one before.
const DECAY: f64 = 0.98;

/// A change of the hit ratio that counts as a new workload.
const RESTART: f64 = 0.05;

impl Climb {
    /// Starts with a step that makes the window smaller.
    pub(super) fn new(capacity: u32) -> Self {
        let step = -FIRST_STEP * f64::from(capacity);
        Self { capacity, accesses: 0, hits: 0, hit_share_before: 0.0, step }
    }

    pub(super) fn set_capacity(&mut self, capacity: u32) {
        *self = Self::new(capacity);
    }

    /// Records an access to a full cache. Returns by how many objects the window should grow, or shrink if negative.
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
