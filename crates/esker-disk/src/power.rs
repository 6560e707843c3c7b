//! What a disk draws in each mode, and when its platters stop: settings.

use esker_core::{Energy, Nanos, Power};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::DiskError;

/// Power by mode, and what it takes to stop the platters and to bring them up to speed again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerSettings {
    /// While the arm serves a command or reads ahead.
    pub active: Power,
    /// While the arm moves to a command's first sector. Default: `active`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seek: Option<Power>,
    /// While the platters turn and the arm serves nothing.
    pub idle: Power,
    /// While the platters stand still.
    #[serde(default)]
    pub standby: Power,
    /// The platters stop once no command has come and the arm has served none for this long. Default: they never stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spin_down_after: Option<Nanos>,
    /// Time until the platters stand still. A command that comes meanwhile waits for that.
    #[serde(default)]
    pub spin_down_time: Nanos,
    /// Energy that this takes in all.
    #[serde(default)]
    pub spin_down_energy: Energy,
    /// Time to bring the platters up to speed, for the first command that needs the medium.
    #[serde(default)]
    pub spin_up_time: Nanos,
    /// Energy that this takes in all.
    #[serde(default)]
    pub spin_up_energy: Energy,
}

impl PowerSettings {
    /// Leaves one of `count` arms its share of the whole.
    pub(crate) fn share_out(&mut self, count: u32) {
        let share = |power: Power| Power(power.0 / u64::from(count));
        (self.active, self.idle, self.standby) = (share(self.active), share(self.idle), share(self.standby));
        self.seek = self.seek.map(share);
    }

    /// # Errors
    /// More power or energy than any disk draws, platters that stop while the arm may still be at work, or energy
    /// without a time over which it is drawn.
    pub(crate) fn check(&self) -> Result<(), DiskError> {
        let refuse = |key, expected, found: String| Err(DiskError::OutOfRange { key, expected, found });
        let powers = [
            ("power.active", self.active),
            ("power.seek", self.seek.unwrap_or_default()),
            ("power.idle", self.idle),
            ("power.standby", self.standby),
        ];
        for (key, power) in powers {
            if power > MOST_POWER {
                return refuse(key, "at most 1000W", power.to_string());
            }
        }
        if let Some(after) = self.spin_down_after
            && !(LEAST_CALM..=YEAR).contains(&after)
        {
            return refuse("power.spin_down_after", "1s to 1y", after.to_string());
        }
        let stages = [
            ("power.spin_down_time", "power.spin_down_energy", self.spin_down_time, self.spin_down_energy),
            ("power.spin_up_time", "power.spin_up_energy", self.spin_up_time, self.spin_up_energy),
        ];
        for (time_key, energy_key, time, energy) in stages {
            if time > MOST_TIME {
                return refuse(time_key, "at most 1h", time.to_string());
            }
            if energy > MOST_ENERGY {
                return refuse(energy_key, "at most 1000000J", energy.to_string());
            }
            if time == Nanos::ZERO && energy > Energy::default() {
                return refuse(energy_key, "0J, as its time is zero", energy.to_string());
            }
        }
        Ok(())
    }
}

const MOST_POWER: Power = Power(1_000_000_000);
const MOST_ENERGY: Energy = Energy(1_000_000 * 1_000_000_000_000);
const MOST_TIME: Nanos = Nanos::from_secs(3_600);
const LEAST_CALM: Nanos = Nanos::from_secs(1);
const YEAR: Nanos = Nanos::from_secs(365 * 86_400);
