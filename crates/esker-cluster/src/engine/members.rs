//! Servers that join or are drained while requests are served.

use esker_tier::{DeviceIndex, Effect, Reshape, ReshapeError};

use super::epochs::ServerEpoch;
use super::store::ServerStore;
use super::{ClusterEngine, ClusterServer};
use crate::id::{FailureDomain, ServerId};
use crate::route::RouterInput;
use crate::servers::ServerState;

impl ClusterEngine {
    pub(super) fn check_members(&self, reshape: Reshape) -> Result<(), ReshapeError> {
        match reshape {
            // A cluster whose servers have changed cannot be restored from its settings yet.
            Reshape::Join { .. } | Reshape::Drain { .. } if !self.may_change_members => Err(ReshapeError::Unsupported),
            Reshape::Join { .. } if self.stores.len() == usize::from(u16::MAX) => Err(ReshapeError::Unsupported),
            Reshape::Join { .. } => Ok(()),
            Reshape::Drain { device } if usize::from(device.0) >= self.stores.len() => {
                Err(ReshapeError::Device(device.0))
            }
            Reshape::Drain { .. } => Ok(()),
            _ => Err(ReshapeError::Unsupported),
        }
    }

    pub(super) fn change_members(&mut self, reshape: Reshape) -> Result<(), ReshapeError> {
        self.check_members(reshape)?;
        match reshape {
            Reshape::Join { capacity } => {
                // A new server shares nothing with those that there are.
                let domain =
                    self.settings.servers.iter().map(|server| server.domain.0).max().map_or(0, |last| last + 1);
                let server = ClusterServer { capacity, domain: FailureDomain(domain) };
                let spec = self.settings.joining(server);
                self.settings.servers.push(server);
                self.stores.push(ServerStore::new(*self.router.map().shape(), spec.room));
                self.health.add_device();
                self.durability.add_device();
                self.epochs.servers.push(ServerEpoch::default());
                self.counts.servers.push(Default::default());
                self.inputs.push_back(RouterInput::Join(spec));
            }
            Reshape::Drain { device } => {
                self.draining.push(ServerId(device.0));
                self.inputs.push_back(RouterInput::Drain(ServerId(device.0)));
            }
            _ => return Err(ReshapeError::Unsupported),
        }
        self.epochs.members_change();
        Ok(())
    }

    /// Reports servers that were drained and hold nothing any more.
    pub(super) fn report_drained(&mut self, effects: &mut Vec<Effect>) {
        let router = &self.router;
        self.draining.retain(|server| {
            let state = router.servers().get(*server);
            let is_empty = state.state == ServerState::Draining && state.used == 0;
            effects.extend(is_empty.then_some(Effect::Drained(DeviceIndex(server.0))));
            !is_empty
        });
    }
}
