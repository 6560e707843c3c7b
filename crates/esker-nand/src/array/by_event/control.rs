//! Control lines shared by the packages of a gang: when commands may be issued, and which transfers run together.

use super::ByEvent;
use super::bus::Ask;
use super::phases::Phase;
use crate::GangControl;
use crate::array::tally::Direction;

/// The control lines of one gang.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// Transfers under way on the strobes. They all began at the same time and go in the same direction.
    transfers: u32,
    direction: Direction,
    since: u64,
    /// With [`GangControl::Rounds`], the number of dies that still work on the current round.
    working: u32,
}

impl Control {
    /// Returns true if the strobes are occupied by transfers begun before `now`. Transfers that begin at `now` come
    /// after commands at `now`, which take no time.
    fn is_held(&self, now: u64) -> bool {
        self.transfers > 0 && self.since < now
    }
}

impl ByEvent {
    /// Returns true if commands and transfers of a channel take turns on control lines.
    #[inline]
    pub(super) fn shares_strobes(&self) -> bool {
        self.gang_control == Some(GangControl::Strobes)
    }

    fn control_of(&self, index: usize) -> usize {
        self.dies[index].channel as usize
    }

    /// Returns true if a command to die `index` has to wait.
    #[inline]
    pub(super) fn waits_for_control(&self, index: usize, now: u64) -> bool {
        self.shares_strobes() && self.controls[self.control_of(index)].is_held(now)
    }

    /// Returns true if a transfer of die `index` would have to wait.
    pub(super) fn transfer_would_wait(&self, index: usize) -> bool {
        match self.shares_strobes() {
            true => self.controls[self.control_of(index)].transfers > 0,
            false => self.buses[self.bus_of(index)].taken,
        }
    }

    /// Starts operations on the idle dies of `channel`, and grants its buses or control lines.
    #[inline(always)]
    pub(super) fn decide(&mut self, channel: u32, now: u64) {
        match self.gang_control {
            None => self.decide_on_bus(channel as usize, now),
            Some(GangControl::Commands) => {
                for package in self.layout.packages_of_channel(channel) {
                    self.decide_on_bus(package as usize, now);
                }
            }
            // What a die may begin depends on the transfers of all others.
            Some(GangControl::Strobes) => {
                let dies = self.layout.dies_of_channel(channel);
                while self.pick_all(dies.clone(), now) | self.grant_together(channel, now) {}
                self.all_decided(channel);
            }
            Some(GangControl::Rounds) => {
                if self.controls[channel as usize].working == 0 {
                    self.begin_round(channel, now);
                }
                for die in self.layout.dies_of_channel(channel) {
                    if self.dies[die as usize].phase == Phase::Asking {
                        let bus = self.bus_of(die as usize);
                        self.buses[bus].remove_ask(die as usize);
                        self.begin_transfer(die as usize, now);
                    }
                }
                self.all_decided(channel);
            }
        }
        #[cfg(test)]
        self.check_decided(self.layout.dies_of_channel(channel), now);
    }

    /// Records that nothing is left to decide for the dies of `channel`, whose packages have buses of their own.
    fn all_decided(&mut self, channel: u32) {
        for bus in self.layout.packages_of_channel(channel) {
            self.buses[bus as usize].undecided = false;
            for die in self.buses[bus as usize].awake.drain(..) {
                self.dies[die as usize].awake = false;
            }
        }
    }

    /// Grants the strobes of `channel` to the die that asked first, and to all others that ask for the same direction
    /// now and whose package's data lines are free. Returns true if a transfer began.
    fn grant_together(&mut self, channel: u32, now: u64) -> bool {
        let control = &self.controls[channel as usize];
        if control.is_held(now) {
            return false;
        }
        let mut direction = (control.transfers > 0).then_some(control.direction);
        let packages = self.layout.packages_of_channel(channel);
        let buses = &self.buses[packages.start as usize..packages.end as usize];
        let mut asks: Vec<Ask> = buses.iter().flat_map(|bus| &bus.asks).copied().collect();
        asks.sort_unstable();
        let mut any = false;
        for ask in asks {
            let wanted = self.ops[ask.op].step.direction();
            if direction.is_some_and(|direction| direction != wanted) || self.buses[self.bus_of(ask.die as usize)].taken
            {
                continue;
            }
            direction = Some(wanted);
            let bus = self.bus_of(ask.die as usize);
            self.buses[bus].remove_ask(ask.die as usize);
            self.grant_transfer(ask, now);
            any = true;
        }
        any
    }

    /// Occupies the strobes for a transfer of die `index` from `now` on.
    #[inline]
    pub(super) fn take_strobes(&mut self, index: usize, direction: Direction, now: u64) {
        if self.shares_strobes() {
            let gang = self.control_of(index);
            let control = &mut self.controls[gang];
            control.transfers += 1;
            (control.direction, control.since) = (direction, now);
        }
    }

    /// Ends a transfer of die `index` in `direction`, begun at `since`.
    #[inline]
    pub(super) fn release_strobes(&mut self, index: usize, direction: Direction, since: u64, now: u64) {
        if self.shares_strobes() {
            let gang = self.control_of(index);
            self.controls[gang].transfers -= 1;
            self.audit.strobes(gang, direction, since, now);
        }
    }

    /// Records a command to die `index`.
    #[inline]
    pub(super) fn command(&mut self, index: usize, now: u64) {
        if self.shares_strobes() {
            let gang = self.control_of(index);
            self.audit.command(gang, now);
        }
    }

    /// Begins the next round: in each package, the oldest operation that may begin. The previous round must have ended.
    fn begin_round(&mut self, channel: u32, now: u64) {
        let mut candidates: Vec<(u64, u32, u32)> = (self.layout.dies_of_channel(channel))
            .filter_map(|index| {
                let op = self.choose(index as usize)?;
                Some((self.ops[op].sequence, index, op))
            })
            .collect();
        candidates.sort_unstable();
        let mut packages = Vec::new();
        for (_, index, op) in candidates {
            let package = self.layout.package_of(index);
            if !packages.contains(&package) {
                packages.push(package);
                self.begin(index as usize, op, now, now);
            }
        }
        self.controls[channel as usize].working = packages.len() as u32;
    }

    /// Records that die `index` has ended its operation of the round.
    #[inline]
    pub(super) fn end_of_round(&mut self, index: usize) {
        if self.gang_control == Some(GangControl::Rounds) {
            let gang = self.control_of(index);
            self.controls[gang].working -= 1;
        }
    }
}
