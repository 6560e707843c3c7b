//! Settings of a cluster as one device, and how much it can offer.

use esker_core::registry::Choice;
use esker_core::{Bytes, Hint, Nanos, Ratio};
use thiserror::Error;

use crate::id::FailureDomain;
use crate::route::Router;
use crate::shape::{ClusterShape, ServerSpec, ShapeError};
use crate::wear::SettingsError;

/// The settings of a [`ClusterEngine`](super::ClusterEngine).
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterSettings {
    /// Size of an object: whole sectors. The thesis has 256 KiB, the size of a flash block.
    pub object: Bytes,
    /// Objects of a slice, which moves as a whole.
    pub objects_per_slice: u32,
    /// Ranges of the hash space that the ring gives to servers as a whole.
    pub partitions: u32,
    /// Copies of each slice.
    pub replicas: u8,
    /// The servers: device 0 is the first one.
    pub servers: Vec<ClusterServer>,
    /// How many of them there were when the cluster was new; the others joined later. `None` for all.
    pub founders: Option<usize>,
    /// Capacity offered to the host, in whole slices; `None` for as much as leaves every server its reserve.
    pub capacity: Option<Bytes>,
    /// Share of each server's slots that its share of the ring leaves free, so that slices can come.
    pub reserve: Ratio,
    /// The policy of balancing, one of [`BALANCERS`](crate::BALANCERS).
    pub balancer: Choice,
    /// How erases follow from writes, one of [`WEAR_MODELS`](crate::WEAR_MODELS).
    pub wear: Choice,
    /// How balancing proceeds.
    pub pace: ClusterPace,
    /// What is assumed of the servers' flash.
    pub flash: ClusterFlash,
}

/// A server of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterServer {
    /// Capacity of its device. It is used up to whole slices.
    pub capacity: Bytes,
    /// What it fails together with.
    pub domain: FailureDomain,
}

/// When slices move, and how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterPace {
    /// Length of an epoch, at whose end the policy is asked.
    pub epoch: Nanos,
    /// Share of an epoch during which only writes of the host move objects. Then the rest is copied.
    pub copies_after: Ratio,
    /// Bytes that may be copied in a second.
    pub copied_bytes_per_second: Bytes,
}

/// What is assumed of the servers' flash, where devices do not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterFlash {
    /// Size of a flash page.
    pub page: Bytes,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// How often a device can be written as a whole before its rated life is used up.
    pub rated_fills: u32,
}

/// Why there can be no such cluster.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ClusterError {
    /// There are too few or too many servers.
    #[error("there are {0} servers; a cluster has 1 to 65,535")]
    Servers(usize),
    /// A setting is out of its bounds.
    #[error("`{key}` {what}")]
    Setting {
        /// The key, as configurations name it.
        key: &'static str,
        /// What it has to be.
        what: String,
    },
    /// A server has no room for a slice.
    #[error("server {server} holds {capacity}, less than one slice of {slice}")]
    Small {
        /// The server's number.
        server: usize,
        /// Capacity of its device.
        capacity: Bytes,
        /// The size of a slice.
        slice: Bytes,
    },
    /// The ring gives a server more than it has room for.
    #[error("`capacity` {wanted} is too much: the servers hold {most} with what the ring gives to each")]
    NoRoom {
        /// The capacity that was asked for.
        wanted: Bytes,
        /// The largest that is possible.
        most: Bytes,
    },
    /// Sizes contradict each other.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The balancer or the wear model is unknown, or does not take its parameters.
    #[error(transparent)]
    Component(#[from] SettingsError),
}

impl ClusterError {
    /// Returns the key that the error is about, as configurations name it.
    pub fn key(&self) -> Option<&'static str> {
        match self {
            Self::Setting { key, .. } => Some(key),
            Self::NoRoom { .. } => Some("capacity"),
            Self::Small { .. } => Some("objects_per_slice"),
            Self::Shape(ShapeError::TooFewDomains { .. }) => Some("replicas"),
            Self::Shape(ShapeError::OutOfBounds { key, .. }) => Some(key),
            Self::Servers(_) | Self::Shape(_) | Self::Component(_) => None,
        }
    }
}

impl Hint for ClusterError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Small { .. } => Some("take smaller objects, or fewer in a slice".to_string()),
            Self::NoRoom { most, .. } => Some(format!("`capacity = \"{most}\"` or less would do")),
            Self::Shape(ShapeError::TooFewDomains { .. }) => {
                Some("give fewer `replicas`, or more `domains`".to_string())
            }
            _ => None,
        }
    }
}

/// Points on the ring of the server with the least room. Many make the shares of the ring even.
const POINTS_LEAST: u64 = 128;
const POINTS_MOST: u64 = 1 << 14;

impl ClusterSettings {
    /// Size of a slice.
    pub fn slice(&self) -> Bytes {
        Bytes(self.object.0.saturating_mul(u64::from(self.objects_per_slice)))
    }

    /// Checks what does not depend on how many slices there are.
    pub(super) fn check(&self) -> Result<(), ClusterError> {
        let setting = |key, what: &str| Err(ClusterError::Setting { key, what: what.to_string() });
        if self.servers.is_empty() || self.servers.len() > usize::from(u16::MAX) {
            return Err(ClusterError::Servers(self.servers.len()));
        }
        if !self.object.0.is_multiple_of(512) || self.object.0 == 0 {
            return setting("object", &format!("is {}; it has to be whole sectors of 512B", self.object));
        }
        self.shape(1).check()?;
        if self.pace.epoch == Nanos::ZERO {
            return setting("epoch", "is no time at all");
        }
        let flash = &self.flash;
        let sizes = [
            ("page", flash.page.0),
            ("pages_per_block", flash.pages_per_block.into()),
            ("rated_fills", flash.rated_fills.into()),
        ];
        if let Some((key, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return setting(key, "is 0; it has to be at least 1");
        }
        if self.founders.is_some_and(|founders| founders == 0 || founders > self.servers.len()) {
            return setting("founders", &format!("has to be from 1 to the number of servers, {}", self.servers.len()));
        }
        if self.reserve >= Ratio::ONE {
            return setting("reserve", "leaves nothing; it has to be less than 100%");
        }
        let small = self.servers.iter().position(|server| server.capacity < self.slice());
        small.map_or(Ok(()), |server| {
            let (capacity, slice) = (self.servers[server].capacity, self.slice());
            Err(ClusterError::Small { server, capacity, slice })
        })
    }

    fn shape(&self, slices: u32) -> ClusterShape {
        let Self { objects_per_slice, object, partitions, replicas, .. } = *self;
        ClusterShape { slices, objects_per_slice, object, partitions, replicas }
    }

    /// The servers with which the cluster began: they alone decide where slices were at first.
    pub(super) fn founders(&self) -> usize {
        self.founders.unwrap_or(self.servers.len())
    }

    /// What servers offer. Their points on the ring are in proportion to their room.
    fn specs_of(&self, servers: &[ClusterServer]) -> Vec<ServerSpec> {
        let room = |server: &ClusterServer| u32::try_from(server.capacity.0 / self.slice().0).unwrap_or(u32::MAX);
        let least = servers.iter().map(room).min().unwrap_or(1).max(1);
        let spec = |server: &ClusterServer| {
            let points = u64::from(room(server)) * POINTS_LEAST / u64::from(least);
            let virtual_nodes = points.clamp(1, POINTS_MOST) as u32;
            ServerSpec { domain: server.domain, room: room(server), virtual_nodes }
        };
        servers.iter().map(spec).collect()
    }

    /// What the servers offer that joined later.
    pub(super) fn joined(&self) -> Vec<ServerSpec> {
        self.specs_of(&self.servers).split_off(self.founders())
    }

    /// The specification of one more server, which joins those that there are.
    pub(super) fn joining(&self, joining: ClusterServer) -> ServerSpec {
        let mut all = self.servers.clone();
        all.push(joining);
        *self.specs_of(&all).last().expect("one was added")
    }

    /// Returns a router of the first servers for as many slices as `capacity` asks for, or else as many as leave every
    /// server its reserve.
    pub(super) fn router(&self) -> Result<Router, ClusterError> {
        let specs = self.specs_of(&self.servers[..self.founders()]);
        let with_reserve: Vec<ServerSpec> = specs
            .iter()
            .map(|spec| ServerSpec { room: (spec.room - self.reserve.of(spec.room.into()) as u32).max(1), ..*spec })
            .collect();
        let most = self.most_slices(&with_reserve)?;
        let slices = match self.capacity {
            None => most,
            Some(capacity) => {
                let slices = u32::try_from(capacity.0 / self.slice().0).unwrap_or(u32::MAX);
                if slices == 0 {
                    let what = format!("is {capacity}, less than one slice of {}", self.slice());
                    return Err(ClusterError::Setting { key: "capacity", what });
                }
                slices
            }
        };
        match Router::new(self.shape(slices), &specs) {
            Err(ShapeError::NoRoom { .. } | ShapeError::OutOfBounds { .. }) => {
                let (wanted, most) = (self.capacity.unwrap_or(Bytes::ZERO), Bytes(u64::from(most) * self.slice().0));
                Err(ClusterError::NoRoom { wanted, most })
            }
            other => Ok(other?),
        }
    }

    /// Returns the most slices whose share fits on every server. More slices never make a server's share smaller.
    fn most_slices(&self, specs: &[ServerSpec]) -> Result<u32, ClusterError> {
        let total: u64 = specs.iter().map(|spec| u64::from(spec.room)).sum();
        let bound = (total / u64::from(self.replicas)).min(u64::from(u32::MAX) / u64::from(crate::REPLICAS_MAX));
        let (mut fits, mut beyond) = (0, bound as u32 + 1);
        while beyond - fits > 1 {
            let slices = fits + (beyond - fits) / 2;
            match Router::new(self.shape(slices), specs) {
                Ok(_) => fits = slices,
                Err(ShapeError::NoRoom { .. }) => beyond = slices,
                Err(other) => return Err(other.into()),
            }
        }
        if fits == 0 {
            let what = "leaves no room for a single slice".to_string();
            return Err(ClusterError::Setting { key: "reserve", what });
        }
        Ok(fits)
    }
}
