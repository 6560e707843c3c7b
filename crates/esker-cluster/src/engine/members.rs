//! Servers that join, are drained, and leave while requests are served.

use std::collections::BTreeMap;

use esker_core::Bytes;
use esker_tier::{DeviceIndex, Effect, Reshape, ReshapeError};

use super::epochs::ServerEpoch;
use super::store::ServerStore;
use super::{ClusterEngine, ClusterServer};
use crate::id::{FailureDomain, ServerId, SliceReplica};
use crate::map::ReplicaPlace;
use crate::route::RouterInput;
use crate::servers::ServerState;
use crate::shape::slices_that_fit;

impl ClusterEngine {
    pub(super) fn check_members(&self, reshape: Reshape) -> Result<(), ReshapeError> {
        let limit = |what: &str| Err(ReshapeError::Limit(what.to_string()));
        if !self.may_change_members {
            return Err(ReshapeError::Unsupported);
        }
        match reshape {
            Reshape::Join { .. } if self.stores.len() == usize::from(u16::MAX) => limit("there are 65,535 servers"),
            Reshape::Join { capacity } if capacity < self.settings.slice() => {
                limit(&format!("a device of {capacity} holds no slice of {}", self.settings.slice()))
            }
            Reshape::Join { .. } => Ok(()),
            Reshape::Drain { device } => {
                self.check_device(device)?;
                if self.router.servers().get(ServerId(device.0)).state == ServerState::Failed {
                    return limit("it has failed, and what was there is copied from others: remove it");
                }
                self.check_room_without(device)
            }
            Reshape::Keep { device } => self.check_device(device),
            Reshape::Remove { device } => self.check_device(device).and_then(|()| self.check_left(device)),
            Reshape::Grow { .. } => limit(
                "a cluster uses of a device what it had when it joined: have a larger device join, and drain this one",
            ),
            Reshape::Offer { .. } => limit(
                "the capacity of a cluster is decided when it is created: make a larger volume, and copy this one",
            ),
            Reshape::Shrink { .. } => Err(ReshapeError::Unsupported),
        }
    }

    fn check_device(&self, device: DeviceIndex) -> Result<(), ReshapeError> {
        if usize::from(device.0) >= self.stores.len() {
            return Err(ReshapeError::Device(device.0));
        }
        if self.health.is_removed(device) { Err(ReshapeError::Removed(device.0)) } else { Ok(()) }
    }

    /// Checks that the servers that stay have room for all slices.
    fn check_room_without(&self, device: DeviceIndex) -> Result<(), ReshapeError> {
        let stays =
            |(id, server): &(ServerId, &crate::servers::Server)| id.0 != device.0 && server.state == ServerState::Up;
        if self.router.servers().iter().filter(stays).count() < usize::from(self.settings.replicas) {
            let what = format!("{} copies of each slice need as many devices", self.settings.replicas);
            return Err(ReshapeError::Limit(what));
        }
        let mut rooms = BTreeMap::<FailureDomain, u64>::new();
        for (_, server) in self.router.servers().iter().filter(stays) {
            *rooms.entry(server.spec.domain).or_default() += u64::from(server.spec.room);
        }
        let (rooms, shape) = (rooms.into_values().collect::<Vec<u64>>(), self.router.map().shape());
        let (slices, fit) = (u64::from(shape.slices), slices_that_fit(&rooms, shape.replicas.into()));
        if slices <= fit {
            return Ok(());
        }
        let bytes = u64::from(shape.replicas) * self.settings.slice().0;
        let [wanted, holds] = [slices, fit].map(|slices| Bytes(slices * bytes));
        Err(ReshapeError::NoRoom { wanted, holds })
    }

    /// Checks that nothing is on a server that was drained, also by records that are durable. All other changes of the
    /// map are durable before the router hears of them.
    fn check_left(&self, device: DeviceIndex) -> Result<(), ReshapeError> {
        let server = self.router.servers().get(ServerId(device.0));
        match (server.state, server.used) {
            (ServerState::Draining, 0) if !self.has_turned(ServerId(device.0)) => {
                Err(ReshapeError::NotDrained { device: device.0, extents: 0 })
            }
            (ServerState::Draining | ServerState::Failed, 0) => Ok(()),
            (_, extents) => Err(ReshapeError::NotDrained { device: device.0, extents }),
        }
    }

    /// Whether it is durable that all that was leaving a server, or on its way there, and turned round has done so.
    fn has_turned(&self, server: ServerId) -> bool {
        self.turned.get(&server).is_none_or(|turned| self.durability.is_recorded(*turned))
    }

    /// Performs a change that was checked.
    pub(super) fn change_members(&mut self, reshape: Reshape) {
        // Slots from which slices have gone are free for those that come now.
        self.inputs.push_back(RouterInput::EpochEnds);
        match reshape {
            Reshape::Join { capacity } => self.join(capacity),
            Reshape::Drain { device } => {
                let server = ServerId(device.0);
                if !self.draining.contains(&server) {
                    self.draining.push(server);
                }
                self.background.drain_begins();
                self.inputs.push_back(RouterInput::Drain(server));
            }
            Reshape::Keep { device } => {
                self.draining.retain(|server| server.0 != device.0);
                self.health.try_again(device);
                self.inputs.push_back(RouterInput::Keep(ServerId(device.0)));
                // What found no place may go there now.
                self.inputs.push_back(RouterInput::EpochEnds);
            }
            Reshape::Remove { device } => self.leave(ServerId(device.0)),
            Reshape::Grow { .. } | Reshape::Offer { .. } | Reshape::Shrink { .. } => unreachable!("it is refused"),
        }
        self.epochs.members_change();
        self.background.members_change();
    }

    fn join(&mut self, capacity: Bytes) {
        // A new server shares nothing with those that there are.
        let domain = self.settings.servers.iter().map(|server| server.domain.0).max().map_or(0, |last| last + 1);
        let server = ClusterServer { capacity, domain: FailureDomain(domain) };
        let spec = self.settings.joining(server);
        self.settings.servers.push(server);
        self.stores.push(ServerStore::new(*self.router.map().shape(), spec.room));
        self.recorded.add_server();
        self.health.add_device();
        self.durability.add_device();
        self.epochs.servers.push(ServerEpoch::default());
        self.counts.servers.push(Default::default());
        self.inputs.push_back(RouterInput::Join(spec));
    }

    /// Takes out a server on which nothing is.
    pub(super) fn leave(&mut self, server: ServerId) {
        self.draining.retain(|other| *other != server);
        self.health.remove(DeviceIndex(server.0));
        self.inputs.push_back(RouterInput::Fail(server));
    }

    /// Records what is on its way to the server that has just joined, so that it goes on when the engine is restored.
    pub(super) fn record_motions_to_last(&mut self, effects: &mut Vec<Effect>) {
        let joined = ServerId((self.stores.len() - 1) as u16);
        let map = self.router.map();
        let comes = |replica: &SliceReplica| match map.place(*replica) {
            ReplicaPlace::Offloading { destination, .. } => destination == Some(joined),
            ReplicaPlace::Complete(_) => false,
        };
        let first = SliceReplica { slice: crate::id::SliceId(0), replica: 0 };
        let coming: Vec<SliceReplica> = map.moving_from(first).filter(comes).collect();
        for replica in coming {
            if self.stores[joined.index()].make_room(replica.slice) {
                self.record_motion(replica, joined, effects);
            }
        }
    }

    /// Reports servers that were drained and hold nothing any more.
    pub(super) fn report_drained(&mut self, effects: &mut Vec<Effect>) {
        let mut draining = std::mem::take(&mut self.draining);
        draining.retain(|server| {
            let state = self.router.servers().get(*server);
            let is_empty = state.state == ServerState::Draining && state.used == 0 && self.has_turned(*server);
            effects.extend(is_empty.then_some(Effect::Drained(DeviceIndex(server.0))));
            !is_empty
        });
        self.draining = draining;
    }
}
