//! What may be copied in an epoch, and what was.

use std::collections::BTreeMap;

use esker_cluster::ServerId;
use esker_core::{ByteRate, Bytes, Nanos};

use super::settings::CopySettings;

/// Why a replica moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Its server failed.
    Rebuild,
    /// A server joined, or is drained.
    Member,
    /// A balancer wants it elsewhere.
    Balance,
    /// Its slice leaves an erasure code.
    Code,
}

/// What may still be copied: of the whole fleet, and to each server. Of what was granted before, at most one object is
/// left, so that small grants add up and large ones do not pile up while there is nothing to copy.
#[derive(Debug)]
pub(super) struct CopyGrant {
    object: u64,
    fleet: Limit,
    server: Limit,
    /// What is left of each server's limit, of those that were copied to in this epoch or have a rest of the last one.
    servers: BTreeMap<ServerId, u64>,
}

/// Bytes that are granted in each epoch.
#[derive(Clone, Copy, Debug)]
struct Limit {
    granted: u64,
    left: u64,
}

impl Limit {
    fn new(rate: Option<ByteRate>, epoch: Nanos) -> Self {
        let bytes = |rate: ByteRate| u128::from(rate.0) * u128::from(epoch.0) / 1_000_000_000;
        let granted = rate.map_or(u64::MAX, |rate| u64::try_from(bytes(rate)).unwrap_or(u64::MAX));
        Self { granted, left: 0 }
    }

    fn after(self, left: u64, object: u64) -> u64 {
        left.min(object).saturating_add(self.granted)
    }
}

impl CopyGrant {
    pub(super) fn new(settings: &CopySettings, epoch: Nanos, object: Bytes) -> Self {
        let (fleet, server) = (Limit::new(settings.rate, epoch), Limit::new(settings.server_rate, epoch));
        Self { object: object.0, fleet, server, servers: BTreeMap::new() }
    }

    /// What an epoch may copy, in the whole fleet.
    pub(super) fn granted(&self) -> u64 {
        self.fleet.granted
    }

    /// Begins an epoch.
    pub(super) fn begin_epoch(&mut self) {
        let Self { object, fleet, server, servers } = self;
        fleet.left = fleet.after(fleet.left, *object);
        servers.values_mut().for_each(|left| *left = server.after(*left, *object));
    }

    /// Whether not one object more may be copied.
    pub(super) fn is_used_up(&self) -> bool {
        self.fleet.left < self.object
    }

    /// Takes up to `objects` for copies to a server, and returns how many it may copy.
    pub(super) fn take(&mut self, to: ServerId, objects: u64) -> u64 {
        let server = self.servers.entry(to).or_insert(self.server.granted);
        let objects = objects.min(self.fleet.left / self.object).min(*server / self.object);
        let bytes = objects * self.object;
        self.fleet.left -= bytes;
        *server -= bytes;
        objects
    }
}

/// What an epoch copied.
#[derive(Debug, Default)]
pub(super) struct CopiedBytes {
    pub(super) rebuild: u64,
    pub(super) member: u64,
    pub(super) balance: u64,
    /// Parity, and copies of slices that leave a code.
    pub(super) code: u64,
    /// To each server.
    pub(super) to: Vec<u64>,
}

impl CopiedBytes {
    /// Sets all counts to zero, for this number of servers.
    pub(super) fn clear(&mut self, servers: usize) {
        (self.rebuild, self.member, self.balance, self.code) = (0, 0, 0, 0);
        self.to.clear();
        self.to.resize(servers, 0);
    }

    pub(super) fn add(&mut self, cause: Cause, to: ServerId, bytes: u64) {
        *match cause {
            Cause::Rebuild => &mut self.rebuild,
            Cause::Member => &mut self.member,
            Cause::Balance => &mut self.balance,
            Cause::Code => &mut self.code,
        } += bytes;
        self.to[to.index()] += bytes;
    }

    pub(super) fn all(&self) -> u64 {
        self.rebuild + self.member + self.balance + self.code
    }
}

/// What balancers may plan to copy. Of what they have not used, a day's budget is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlanBudget {
    by_day: Option<u64>,
    epoch: Nanos,
    left: u64,
}

impl PlanBudget {
    pub(super) fn new(by_day: Option<Bytes>, epoch: Nanos) -> Self {
        Self { by_day: by_day.map(|bytes| bytes.0), epoch, left: 0 }
    }

    /// Ends an epoch, and returns what a plan may copy.
    pub(super) fn end_epoch(&mut self) -> Bytes {
        let Some(by_day) = self.by_day else { return Bytes(u64::MAX) };
        let granted = u128::from(by_day) * u128::from(self.epoch.0) / u128::from(super::DAY.0);
        let granted = u64::try_from(granted).unwrap_or(u64::MAX);
        self.left = self.left.saturating_add(granted).min(by_day.max(granted));
        Bytes(self.left)
    }

    pub(super) fn spend(&mut self, bytes: Bytes) {
        self.left = self.left.saturating_sub(bytes.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_grants_add_up_and_large_ones_do_not_pile_up() {
        let settings = CopySettings { rate: Some(ByteRate(10)), server_rate: Some(ByteRate(6)), ..Default::default() };
        let mut grant = CopyGrant::new(&settings, Nanos::from_secs(1), Bytes(8));
        let mut taken = Vec::new();
        for _ in 0..12 {
            grant.begin_epoch();
            taken.push((grant.take(ServerId(0), 100), grant.take(ServerId(1), 100)));
        }
        let sum = |of: fn(&(u64, u64)) -> u64| taken.iter().map(of).sum::<u64>() * 8;
        // 12 seconds of 6 bytes to the one. The other gets what is left of 10 bytes a second; two of the first ten are
        // not kept, because an object has 8.
        assert_eq!((sum(|it| it.0), sum(|it| it.1)), (72, 40), "{taken:?}");
        (0..100).for_each(|_| grant.begin_epoch());
        assert_eq!(grant.take(ServerId(0), 100), 1, "six bytes, and at most an object of before");
    }

    #[test]
    fn a_day_of_the_budget_is_kept() {
        let mut budget = PlanBudget::new(Some(Bytes(240)), Nanos::from_secs(3600));
        assert_eq!((budget.end_epoch(), budget.end_epoch()), (Bytes(10), Bytes(20)));
        budget.spend(Bytes(15));
        assert_eq!(budget.end_epoch(), Bytes(15));
        (0..100).for_each(|_| _ = budget.end_epoch());
        assert_eq!(budget.end_epoch(), Bytes(240));
        assert_eq!(PlanBudget::new(None, Nanos::from_secs(1)).end_epoch(), Bytes(u64::MAX));
    }
}
