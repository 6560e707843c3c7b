//! How many slots lines may take while the cache is about to be smaller.

/// Slots that lines may take. A cache that has become smaller holds more than it may until they have left; of two lines
/// that leave meanwhile, one makes room for another, so that requests go on and the cache still shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Room {
    slots: u32,
    /// Slots beyond these that may be taken for now.
    beyond: u32,
    /// Whether the next line that leaves takes one of them with it.
    takes: bool,
}

impl Room {
    /// Room for lines in so many slots.
    pub(super) fn of(slots: u32) -> Self {
        Self { slots, beyond: 0, takes: false }
    }

    /// Room for lines in so many slots from now on, of which `used` are taken now, and some more so that requests need
    /// not wait for the first ones to leave.
    pub(in super::super) fn resize(&mut self, slots: u32, used: u32, more: u32) {
        let beyond = used.saturating_sub(slots);
        *self = Self { slots, beyond: if beyond > 0 { beyond + more } else { 0 }, takes: false };
    }

    /// How many slots can be taken while `used` are.
    pub(in super::super) fn left(&self, used: u32) -> u32 {
        (self.slots + self.beyond).saturating_sub(used)
    }

    /// A line has left.
    pub(in super::super) fn line_left(&mut self) {
        self.takes = !self.takes;
        if !self.takes {
            self.beyond = self.beyond.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines come in whenever they can, and the cache has its size after twice as many have left.
    #[test]
    fn a_cache_shrinks_while_lines_come_in() {
        let mut room = Room::of(1000);
        room.resize(600, 1000, 8);
        let (mut used, mut came) = (1000, 0);
        for _ in 0..2 * 408 {
            while room.left(used) > 0 {
                used += 1;
                came += 1;
            }
            used -= 1;
            room.line_left();
        }
        assert_eq!((used, came), (600, 416));
        assert_eq!(room, Room::of(600));
        room.resize(800, 600, 8);
        assert_eq!(room.left(600), 200);
    }
}
