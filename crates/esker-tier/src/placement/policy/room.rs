//! Makes room on devices that fill up: their coldest extents move to other devices while those are idle.

use esker_core::{DeviceState, Linked, Links, List, Nanos, Ratio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{DeviceView, Event, MoveOutcome, PlacementError, WishedMove, Wishes};
use crate::extent::{DeviceIndex, LogicalExtent};

/// Settings of [`RoomMaker`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RoomSettings {
    /// With less than this part of its extents free, a device fills up.
    below: Ratio,
    /// Its coldest extents move until this part is free.
    until: Ratio,
    /// An extent moves when both devices have had nothing to do for the host for this time.
    idle: Nanos,
}

impl Default for RoomSettings {
    fn default() -> Self {
        Self { below: Ratio::percent(5), until: Ratio::percent(10), idle: Nanos::from_millis(10) }
    }
}

impl RoomSettings {
    /// Checks the settings, which are the key `key` of a policy.
    pub(super) fn check(&self, key: &str) -> Result<(), PlacementError> {
        let Self { below, until, .. } = self;
        if *below > *until || *until >= Ratio::ONE {
            let message =
                format!("from `below` {below} to `until` {until}: the second is not less, and less than 100%");
            return Err(PlacementError::new(&format!("{key}.until"), message));
        }
        Ok(())
    }
}

/// The device of an extent, and its links in the list of that device's extents by last use.
#[derive(Clone, Copy, Debug)]
struct ListedExtent {
    links: Links,
    device: u16,
}

/// Device of an extent that has no place.
const NOWHERE: u16 = u16::MAX;

impl Linked for ListedExtent {
    fn links(&self) -> &Links {
        &self.links
    }
    fn links_mut(&mut self) -> &mut Links {
        &mut self.links
    }
}

/// Keeps the extents of each device in the order of their last use (twelve bytes for each). When a device has few free
/// places, its least recently used extents move away, one at a time, while the host leaves both devices alone. So new
/// and hot extents find room.
#[derive(Debug)]
pub(super) struct RoomMaker {
    settings: RoomSettings,
    /// The extents, by number.
    extents: Vec<ListedExtent>,
    /// The extents of each device, coldest first.
    lists: Vec<List>,
    /// Time at which the last request of the host to each device ended.
    used_at: Vec<Nanos>,
    /// Whether each device is making room now.
    filling: Vec<bool>,
    /// The extent that is moving.
    moving: Option<LogicalExtent>,
    /// Time at which devices may have been idle for long enough.
    timer: Option<Nanos>,
}

impl RoomMaker {
    pub(super) fn new(settings: RoomSettings, devices: usize) -> Self {
        let (extents, moving, timer) = (Vec::new(), None, None);
        let mut room =
            Self { settings, extents, lists: Vec::new(), used_at: Vec::new(), filling: Vec::new(), moving, timer };
        room.devices_joined(devices);
        room
    }

    pub(super) fn devices_joined(&mut self, devices: usize) {
        self.lists.resize(devices, List::EMPTY);
        self.used_at.resize(devices, Nanos::ZERO);
        self.filling.resize(devices, false);
    }

    /// Notes where `extent` is now.
    pub(super) fn placed(&mut self, LogicalExtent(extent): LogicalExtent, device: Option<DeviceIndex>) {
        if self.extents.len() <= extent as usize {
            self.extents.resize(extent as usize + 1, ListedExtent { links: Links::NONE, device: NOWHERE });
        }
        let before = std::mem::replace(&mut self.extents[extent as usize].device, NOWHERE);
        if before != NOWHERE {
            self.lists[usize::from(before)].remove(&mut self.extents, extent);
        }
        if let Some(DeviceIndex(device)) = device {
            self.lists[usize::from(device)].push_back(&mut self.extents, extent);
            self.extents[extent as usize].device = device;
        }
    }

    /// Notes a use of `extent`: it is the hottest of its device now.
    fn touch(&mut self, LogicalExtent(extent): LogicalExtent) {
        let Some(&ListedExtent { device, .. }) = self.extents.get(extent as usize) else { return };
        if device != NOWHERE {
            let list = &mut self.lists[usize::from(device)];
            list.remove(&mut self.extents, extent);
            list.push_back(&mut self.extents, extent);
        }
    }

    /// Returns the extent that would have to leave `device` if another one came; `None` if enough extents are free.
    pub(super) fn would_leave(&self, device: DeviceIndex, view: &DeviceView) -> Option<LogicalExtent> {
        let is_short = u64::from(view.free_extents) < self.settings.until.of(u64::from(view.extents));
        let coldest = self.lists[usize::from(device.0)].first().filter(|_| is_short);
        coldest.map(LogicalExtent)
    }

    /// Takes an event, and asks for a move if one is due. `may_go` tells whether cold extents of the first device may
    /// go to the second one.
    pub(super) fn observe(
        &mut self,
        now: Nanos,
        event: &Event<'_>,
        devices: &[DeviceView],
        may_go: impl Fn(usize, usize) -> bool,
        wishes: &mut Wishes,
    ) {
        match *event {
            Event::Request { first, extents, .. } => {
                (first.0..first.0 + extents).for_each(|extent| self.touch(LogicalExtent(extent)));
            }
            // Nothing moves while the host is idle: only the end of a request sets the timer again.
            Event::Completed(done) if done.for_host => {
                self.used_at[usize::from(done.device.0)] = now;
                if self.timer.is_none() && self.moving.is_none() && self.any_fills(devices) {
                    self.wake(now + self.settings.idle, wishes);
                }
            }
            Event::Moved { extent, outcome } if self.moving == Some(extent) => {
                self.moving = None;
                match outcome {
                    MoveOutcome::Done => self.move_one(now, devices, may_go, wishes),
                    // Another extent may be able to move.
                    MoveOutcome::NothingToDo => {
                        self.touch(extent);
                        self.move_one(now, devices, may_go, wishes);
                    }
                    MoveOutcome::NoRoom | MoveOutcome::Held | MoveOutcome::Failed => {}
                }
            }
            Event::Timer => match self.timer {
                Some(at) if at > now => wishes.wake(at),
                Some(_) => {
                    self.timer = None;
                    self.move_one(now, devices, may_go, wishes);
                }
                None => {}
            },
            _ => {}
        }
    }

    fn wake(&mut self, at: Nanos, wishes: &mut Wishes) {
        self.timer = Some(at);
        wishes.wake(at);
    }

    /// Notes which devices are making room. Returns true if any is.
    fn any_fills(&mut self, devices: &[DeviceView]) -> bool {
        let RoomSettings { below, until, .. } = self.settings;
        for (fills, device) in self.filling.iter_mut().zip(devices) {
            let mark = if *fills { until } else { below };
            *fills = u64::from(device.free_extents) < mark.of(u64::from(device.extents));
        }
        self.filling.contains(&true)
    }

    /// Moves the coldest extent of a device that makes room, or waits until devices have been idle for long enough.
    fn move_one(
        &mut self,
        now: Nanos,
        devices: &[DeviceView],
        may_go: impl Fn(usize, usize) -> bool,
        wishes: &mut Wishes,
    ) {
        if self.moving.is_some() || !self.any_fills(devices) {
            return;
        }
        let mut next = None;
        for from in (0..devices.len()).filter(|&from| self.filling[from]) {
            // Nothing moves away from a failed device. Of the devices that have room, the one with the most free
            // extents is taken.
            let takes = |&to: &usize| to != from && may_go(from, to) && devices[to].has_room() && !self.filling[to];
            let to = (0..devices.len()).filter(takes).max_by_key(|&to| devices[to].free_extents);
            let Some(to) = to.filter(|_| devices[from].state != DeviceState::Failed) else { continue };
            let Some(coldest) = self.lists[from].first() else { continue };
            // The end of a request sets the timer.
            if devices[from].under_way > 0 || devices[to].under_way > 0 {
                continue;
            }
            let at = self.used_at[from].max(self.used_at[to]) + self.settings.idle;
            if at <= now {
                let extent = LogicalExtent(coldest);
                self.moving = Some(extent);
                wishes.moves.push(WishedMove::in_background(extent, DeviceIndex(to as u16)));
                return;
            }
            next = Some(next.map_or(at, |next: Nanos| next.min(at)));
        }
        if let Some(at) = next {
            self.wake(at, wishes);
        }
    }
}

#[cfg(test)]
mod tests {
    use esker_core::{Bytes, Lba, Request, RequestKind};

    use super::super::Completed;
    use super::*;

    /// Two devices of ten and of a hundred extents, with settings that keep two to four extents of the first one free.
    struct RoomWorld {
        room: RoomMaker,
        devices: [DeviceView; 2],
        wishes: Wishes,
    }

    impl RoomWorld {
        fn new(extents: u32) -> Self {
            let settings = r#"{"below":"20%","until":"40%","idle":"10ms"}"#;
            let mut room = RoomMaker::new(serde_json::from_str(settings).unwrap(), 2);
            (0..extents).for_each(|extent| room.placed(LogicalExtent(extent), Some(DeviceIndex(0))));
            let view = |extents, free_extents| DeviceView {
                extents,
                free_extents,
                state: DeviceState::Online,
                drained: false,
                is_held: false,
                under_way: 0,
            };
            Self { room, devices: [view(10, 10 - extents), view(100, 100)], wishes: Wishes::default() }
        }

        fn tell(&mut self, millis: u64, event: Event<'_>) {
            let now = Nanos::from_millis(millis);
            self.room.observe(now, &event, &self.devices, |from, to| from < to, &mut self.wishes);
        }

        /// Reports a read of `extent`, which ends at this time.
        fn read(&mut self, millis: u64, extent: u32) {
            let (request, first) = (Request::read(Lba(0), Bytes(512)), LogicalExtent(extent));
            self.tell(millis, Event::Request { request: &request, first, extents: 1 });
            let at = Nanos::from_millis(millis);
            let (device, kind, length) = (DeviceIndex(0), RequestKind::Read, Bytes(512));
            let (extents, for_host, ok) = (1, true, true);
            self.tell(
                millis,
                Event::Completed(Completed { device, first, extents, kind, length, sent: at, at, for_host, ok }),
            );
        }

        /// Returns the extent that the policy moves, and reports that it has moved.
        fn moved(&mut self, millis: u64) -> Option<u32> {
            let WishedMove { extent, to, priority } = self.wishes.moves.pop()?;
            assert_eq!((to, priority), (DeviceIndex(1), esker_core::Priority::BACKGROUND));
            self.room.placed(extent, Some(to));
            self.devices[0].free_extents += 1;
            self.tell(millis, Event::Moved { extent, outcome: MoveOutcome::Done });
            Some(extent.0)
        }
    }

    #[test]
    fn the_coldest_extents_move_between_the_marks_when_nothing_else_is_to_do() {
        let mut world = RoomWorld::new(9);
        world.read(0, 0);
        world.read(3, 2);
        assert_eq!(world.wishes.wake_at.take(), Some(Nanos::from_millis(10)));
        // Until 13 ms, the device has not been idle for long enough.
        world.tell(10, Event::Timer);
        assert_eq!((world.wishes.moves.len(), world.wishes.wake_at.take()), (0, Some(Nanos::from_millis(13))));
        world.tell(13, Event::Timer);
        // Then four extents are free.
        assert_eq!([(); 4].map(|()| world.moved(14)), [Some(1), Some(3), Some(4), None]);
        // Three free extents are no reason to begin again; one is.
        world.devices[0].free_extents = 3;
        world.read(20, 5);
        assert_eq!(world.wishes.wake_at.take(), None);
        world.devices[0].free_extents = 1;
        world.read(30, 5);
        assert_eq!(world.wishes.wake_at.take(), Some(Nanos::from_millis(40)));
    }

    #[test]
    fn requests_of_the_host_hold_moves_up() {
        let mut world = RoomWorld::new(9);
        world.read(0, 0);
        world.devices[1].under_way = 1;
        world.tell(10, Event::Timer);
        assert!(world.wishes.moves.is_empty());
        world.devices[1].under_way = 0;
        world.read(50, 0);
        world.tell(60, Event::Timer);
        world.devices[0].under_way = 1;
        assert_eq!((world.moved(61), world.moved(61)), (Some(1), None));
    }

    #[test]
    fn what_cannot_move_is_passed_over_and_what_was_freed_forgotten() {
        let mut world = RoomWorld::new(9);
        world.room.placed(LogicalExtent(0), None);
        world.read(0, 8);
        world.tell(10, Event::Timer);
        let first = world.wishes.moves.pop().unwrap().extent;
        world.tell(10, Event::Moved { extent: first, outcome: MoveOutcome::NothingToDo });
        assert_eq!((first.0, world.moved(10)), (1, Some(2)));
        world.wishes.moves.clear();
        world.tell(10, Event::Moved { extent: LogicalExtent(3), outcome: MoveOutcome::Failed });
        assert!(world.wishes.moves.is_empty());
        world.devices[0].state = DeviceState::Failed;
        world.read(20, 8);
        world.tell(30, Event::Timer);
        assert!(world.wishes.moves.is_empty());
    }

    #[test]
    fn marks_are_checked() {
        let check = |text: &str| serde_json::from_str::<RoomSettings>(text).unwrap().check("make_room");
        assert!(check("{}").is_ok() && check(r#"{"below":"10%"}"#).is_ok());
        let message = check(r#"{"below":"30%"}"#).unwrap_err().to_string();
        assert_eq!(
            message,
            "make_room.until: from `below` 30% to `until` 10%: the second is not less, and less than 100%"
        );
    }
}
