//! Control lines that the packages of a gang share: when commands may be issued, and which transfers run together.

use super::ByEvent;
use super::phases::Phase;
use crate::array::tally::Direction;
use crate::{Gang, GangControl};

/// The control lines of one gang.
#[derive(Clone, Debug, Default)]
pub(super) struct Control {
    /// Transfers that the strobes drive: all in one direction, and begun at one moment.
    transfers: u32,
    direction: Direction,
    since: u64,
    /// In rounds, dies that still work on the current one.
    working: u32,
}

impl Control {
    /// Whether the strobes drive something that began before `now`. What begins at `now` comes after the commands of
    /// that moment, which take no time.
    fn is_held(&self, now: u64) -> bool {
        self.transfers > 0 && self.since < now
    }
}

impl ByEvent {
    /// Whether packages hold control lines that they share, and how.
    fn gang_control(&self) -> Option<GangControl> {
        (self.settings.gang == Gang::SharedControl).then_some(self.settings.gang_control)
    }

    /// Whether commands and transfers of a channel take turns on control lines.
    pub(super) fn shares_strobes(&self) -> bool {
        self.gang_control() == Some(GangControl::Strobes)
    }

    fn control_of(&self, index: usize) -> usize {
        self.layout.channel_of(index as u32) as usize
    }

    /// Whether die `index` has to wait with a command.
    pub(super) fn waits_for_control(&self, index: usize, now: u64) -> bool {
        self.shares_strobes() && self.controls[self.control_of(index)].is_held(now)
    }

    /// Whether a transfer of die `index` would have to wait.
    pub(super) fn transfer_would_wait(&self, index: usize) -> bool {
        match self.shares_strobes() {
            true => self.controls[self.control_of(index)].transfers > 0,
            false => self.buses[self.bus_of(index)].taken,
        }
    }

    /// Lets idle dies of `channel` begin, and gives out its buses or control lines.
    pub(super) fn decide(&mut self, channel: u32, now: u64) {
        let dies = self.layout.dies_of_channel(channel);
        match self.gang_control() {
            None => while self.pick_all(dies.clone(), now) | self.grant(dies.clone(), now) {},
            Some(GangControl::Commands) => {
                for package in self.layout.packages_of_channel(channel) {
                    let dies = self.layout.dies_of_package(package);
                    while self.pick_all(dies.clone(), now) | self.grant(dies.clone(), now) {}
                }
            }
            Some(GangControl::Strobes) => while self.pick_all(dies.clone(), now) | self.grant_together(channel, now) {},
            Some(GangControl::Rounds) => {
                if self.controls[channel as usize].working == 0 {
                    self.begin_round(channel, now);
                }
                for die in dies {
                    if self.dies[die as usize].phase == Phase::Asking {
                        self.begin_transfer(die as usize, now);
                    }
                }
            }
        }
    }

    /// Gives the strobes of `channel` to the die that asked first, and to all others that ask for the same direction at
    /// this moment and have the data lines of their package to themselves. Says whether any did.
    fn grant_together(&mut self, channel: u32, now: u64) -> bool {
        let control = &self.controls[channel as usize];
        if control.is_held(now) {
            return false;
        }
        let mut direction = (control.transfers > 0).then_some(control.direction);
        let mut asks: Vec<_> = self.layout.dies_of_channel(channel).filter_map(|die| self.ask_of(die)).collect();
        asks.sort_unstable();
        let mut any = false;
        for ask in asks {
            let wanted = self.ops[ask.op].step.direction();
            if direction.is_some_and(|direction| direction != wanted) || self.buses[self.bus_of(ask.die)].taken {
                continue;
            }
            direction = Some(wanted);
            self.give(ask, now);
            any = true;
        }
        any
    }

    /// The strobes drive a transfer of die `index` from `now` on.
    pub(super) fn take_strobes(&mut self, index: usize, direction: Direction, now: u64) {
        if self.shares_strobes() {
            let gang = self.control_of(index);
            let control = &mut self.controls[gang];
            control.transfers += 1;
            (control.direction, control.since) = (direction, now);
        }
    }

    /// A transfer of die `index` in `direction`, begun at `since`, has ended.
    pub(super) fn release_strobes(&mut self, index: usize, direction: Direction, since: u64, now: u64) {
        if self.shares_strobes() {
            let gang = self.control_of(index);
            self.controls[gang].transfers -= 1;
            self.audit.strobes(gang, direction, since, now);
        }
    }

    /// Die `index` is given a command.
    pub(super) fn command(&mut self, index: usize, now: u64) {
        if self.shares_strobes() {
            let gang = self.control_of(index);
            self.audit.command(gang, now);
        }
    }

    /// The oldest operation that may begin of each package of a gang, which has ended all of the last round.
    fn begin_round(&mut self, channel: u32, now: u64) {
        let mut candidates: Vec<(u64, u32, usize)> = (self.layout.dies_of_channel(channel))
            .filter_map(|index| {
                let position = self.choose(index as usize)?;
                let op = self.dies[index as usize].queue[position];
                Some((self.ops[op].sequence, index, position))
            })
            .collect();
        candidates.sort_unstable();
        let mut packages = Vec::new();
        for (_, index, position) in candidates {
            let package = self.layout.package_of(index);
            if !packages.contains(&package) {
                packages.push(package);
                self.begin(index as usize, position, now, now);
            }
        }
        self.controls[channel as usize].working = packages.len() as u32;
    }

    /// Die `index` has ended what it did.
    pub(super) fn end_of_round(&mut self, index: usize) {
        if self.gang_control() == Some(GangControl::Rounds) {
            let gang = self.control_of(index);
            self.controls[gang].working -= 1;
        }
    }
}
