//! How many slots the lines may take while the cache is becoming smaller.

/// The slots that lines may take. After the cache has become smaller, it holds more lines than it may until they have
/// left. Meanwhile every second line that leaves makes room for a new one, so that requests go on and the cache still
/// shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotBudget {
    slots: u32,
    /// Number of slots beyond `slots` that may be taken for now.
    excess: u32,
    /// Whether the next line that leaves reduces `excess`.
    takes: bool,
}

impl SlotBudget {
    /// A budget of `slots` slots.
    pub(super) fn of(slots: u32) -> Self {
        Self { slots, excess: 0, takes: false }
    }

    /// Changes the budget to `slots` slots, of which `used` are taken now. If that is too many, `more` further slots
    /// may be taken for now, so that requests need not wait for the first lines to leave.
    pub(super) fn resize(&mut self, slots: u32, used: u32, more: u32) {
        let excess = used.saturating_sub(slots);
        *self = Self { slots, excess: if excess > 0 { excess + more } else { 0 }, takes: false };
    }

    /// Returns how many slots can be taken while `used` are taken.
    pub(super) fn left(&self, used: u32) -> u32 {
        (self.slots + self.excess).saturating_sub(used)
    }

    /// Notes that a line has left.
    pub(super) fn line_left(&mut self) {
        self.takes = !self.takes;
        if !self.takes {
            self.excess = self.excess.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines enter whenever they can, and the cache reaches its new size after twice as many have left as had to.
    #[test]
    fn a_cache_shrinks_while_lines_come_in() {
        let mut budget = SlotBudget::of(1000);
        budget.resize(600, 1000, 8);
        let (mut used, mut came) = (1000, 0);
        for _ in 0..2 * 408 {
            while budget.left(used) > 0 {
                used += 1;
                came += 1;
            }
            used -= 1;
            budget.line_left();
        }
        assert_eq!((used, came), (600, 416));
        assert_eq!(budget, SlotBudget::of(600));
        budget.resize(800, 600, 8);
        assert_eq!(budget.left(600), 200);
    }
}
