//! The angle of the platters as a pure function of time, so that nothing drifts.

use esker_core::Nanos;

use crate::RotationSpeed;

/// Platters at constant speed. Angles are integers in units of 2^-60 of a turn. The angle at any time is one wrapping
/// multiplication without rounding, so errors cannot add up. The speed itself is accurate to 1 part in 10^11 (at 7,200
/// turns per minute; 10^9 at 60).
#[derive(Clone, Copy, Debug)]
pub struct Rotation {
    /// Angle passed per nanosecond.
    step: u64,
    /// One turn, rounded down.
    revolution: Nanos,
}

impl Rotation {
    /// One whole turn.
    pub const TURN: u64 = 1 << 60;

    /// Creates platters at `speed`, which is between 60 and 1,000,000 turns per minute (checked where settings are
    /// read).
    pub fn new(speed: RotationSpeed) -> Self {
        // 60e9 ns per minute, 1e3 thousandths.
        const THOUSANDTHS_PER_TURN: u128 = 60_000_000_000_000;
        let thousandths = u128::from(speed.as_thousandths());
        // Rounded down like times, so that times that should be whole numbers are whole.
        let step = u128::from(Self::TURN) * thousandths / THOUSANDTHS_PER_TURN;
        Self { step: step as u64, revolution: Nanos((THOUSANDTHS_PER_TURN / thousandths) as u64) }
    }

    /// Returns the time of a turn, rounded down to whole nanoseconds.
    pub fn revolution(&self) -> Nanos {
        self.revolution
    }

    /// Returns the angle under the heads at `now`, in `0..TURN`. At time zero it is zero.
    #[inline]
    pub fn angle_at(&self, now: Nanos) -> u64 {
        now.0.wrapping_mul(self.step) % Self::TURN
    }

    /// Returns the angle forward from `from` to `to`, in `0..TURN`.
    #[inline]
    pub fn ahead(from: u64, to: u64) -> u64 {
        to.wrapping_sub(from) % Self::TURN
    }

    /// Returns the time to turn by `angle`, at most 16 turns. Rounded down, never past the place: a head that arrives
    /// in time stays in time.
    #[inline]
    pub fn time(&self, angle: u64) -> Nanos {
        Nanos(angle / self.step)
    }

    /// Returns the angle passed in `time`, which has to be short compared with 16 turns.
    #[inline]
    pub fn angle_of(&self, time: Nanos) -> u128 {
        u128::from(time.0) * u128::from(self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_takes_a_minute_over_the_speed() {
        let rotation = Rotation::new(RotationSpeed::rpm(15_000));
        assert_eq!(rotation.revolution(), Nanos::from_millis(4));
        assert_eq!(rotation.time(Rotation::TURN / 2), Nanos::from_millis(2));
    }

    #[test]
    fn the_angle_depends_on_the_time_alone() {
        // 7,200.5 turns per minute: 14,401 turns in two minutes.
        let rotation = Rotation::new("7200.5rpm".parse().unwrap());
        for minutes in [2, 60, 1_440] {
            let angle = rotation.angle_at(Nanos::from_secs(60 * minutes));
            let off = angle.min(Rotation::TURN - angle) as f64 / Rotation::TURN as f64;
            assert!(off < 1e-7 * minutes as f64, "{off} of a turn after {minutes} minutes");
        }
        // After a century, a microsecond is still exactly the same angle.
        let late = Nanos::from_secs(100 * 365 * 86_400);
        let microsecond = |at| Rotation::ahead(rotation.angle_at(at), rotation.angle_at(at + Nanos(1_000)));
        assert_eq!(microsecond(late), microsecond(Nanos::ZERO));
    }
}
