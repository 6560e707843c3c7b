//! The ring of consistent hashing: which servers hold a partition.

use crate::fnv::fnv1a_of;
use crate::id::{FailureDomain, ServerId};

/// Points of servers on the circle of 64-bit hashes. Each server has several, its virtual nodes, so that shares are
/// even, and what a server leaves is spread over the others. Thesis, section 6.1, after DHT and CHT.
#[derive(Clone, Debug, Default)]
pub struct Ring {
    /// Sorted by point.
    points: Vec<(u64, ServerId)>,
}

impl Ring {
    /// Adds a server with as many points as it has virtual nodes. What falls to it grows with their number.
    pub fn add(&mut self, server: ServerId, virtual_nodes: u32) {
        self.extend([(server, virtual_nodes)]);
    }

    /// Adds many servers, each with its virtual nodes, and sorts once.
    pub fn extend(&mut self, servers: impl IntoIterator<Item = (ServerId, u32)>) {
        for (server, virtual_nodes) in servers {
            // Twice: FNV-1a of numbers that differ in one byte are a constant apart, so that after one round the points
            // of servers follow each other in step, and shares are uneven.
            let point = |node: u32| (fnv1a_of(fnv1a_of(u64::from(server.0) << 32 | u64::from(node))), server);
            self.points.extend((0..virtual_nodes).map(point));
        }
        // Stable: what is there is sorted already, and is merged with what comes.
        self.points.sort();
    }

    /// Removes a server. What it held falls to the next servers clockwise, and nothing else changes.
    pub fn remove(&mut self, server: ServerId) {
        self.points.retain(|(_, other)| *other != server);
    }

    /// Goes round the circle once, clockwise from `point`. Servers come as often as they have points.
    pub fn walk(&self, point: u64) -> impl Iterator<Item = ServerId> + '_ {
        let first = self.points.partition_point(|(at, _)| *at < point);
        self.points[first..].iter().chain(&self.points[..first]).map(|(_, server)| *server)
    }

    /// Goes round the circle once, against the clock, from the point before `point`. Servers come with their points.
    pub fn walk_back(&self, point: u64) -> impl Iterator<Item = (u64, ServerId)> + '_ {
        let first = self.points.partition_point(|(at, _)| *at < point);
        self.points[..first].iter().rev().chain(self.points[first..].iter().rev()).copied()
    }

    /// Returns the points of a server.
    pub fn points_of(&self, server: ServerId) -> impl Iterator<Item = u64> + '_ {
        self.points.iter().filter(move |(_, other)| *other == server).map(|(point, _)| *point)
    }

    /// Returns the first `count` servers clockwise from `point` of which no two share a failure domain; fewer if there
    /// are fewer domains.
    pub fn homes(&self, point: u64, count: usize, domain: impl Fn(ServerId) -> FailureDomain) -> Vec<ServerId> {
        let mut homes: Vec<ServerId> = Vec::with_capacity(count);
        for server in self.walk(point) {
            if homes.len() == count {
                break;
            }
            if homes.iter().all(|home| domain(*home) != domain(server)) {
                homes.push(server);
            }
        }
        homes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTITIONS: u64 = 4096;

    fn ring(servers: u16) -> Ring {
        let mut ring = Ring::default();
        (0..servers).for_each(|server| ring.add(ServerId(server), 128));
        ring
    }

    fn own_domain(server: ServerId) -> FailureDomain {
        FailureDomain(u32::from(server.0))
    }

    fn table(ring: &Ring) -> Vec<ServerId> {
        let first = |partition: u64| ring.homes(partition * (u64::MAX / PARTITIONS), 1, own_domain)[0];
        (0..PARTITIONS).map(first).collect()
    }

    #[test]
    fn shares_are_even_within_a_third() {
        let mut counts = [0u32; 50];
        table(&ring(50)).iter().for_each(|server| counts[server.index()] += 1);
        let mean = PARTITIONS as u32 / 50;
        assert!(counts.iter().all(|count| *count > mean * 2 / 3 && *count < mean * 4 / 3), "{counts:?}");
    }

    #[test]
    fn a_server_that_joins_takes_its_share_and_nothing_else_moves() {
        let (mut ring, before) = (ring(20), table(&ring(20)));
        ring.add(ServerId(20), 128);
        let changed: Vec<_> = before.iter().zip(table(&ring)).filter(|(old, new)| **old != *new).collect();
        assert!(changed.iter().all(|(_, new)| *new == ServerId(20)));
        let share = changed.len() as f64 / PARTITIONS as f64;
        assert!((0.03..0.07).contains(&share), "{share}, where one of 21 servers should take 0.048");
        ring.remove(ServerId(20));
        assert_eq!(table(&ring), before);
    }

    #[test]
    fn many_at_once_are_those_one_by_one_and_both_ways_go_round() {
        let mut at_once = Ring::default();
        at_once.extend((0..20).map(|server| (ServerId(server), 128)));
        assert_eq!(at_once.points, ring(20).points);
        let forward: Vec<_> = at_once.walk(1 << 60).collect();
        let mut back: Vec<_> = at_once.walk_back(1 << 60).map(|(_, server)| server).collect();
        back.reverse();
        assert_eq!(forward, back);
        assert!(at_once.walk_back(1 << 60).next().is_some_and(|(point, _)| point < 1 << 60));
        assert_eq!(at_once.points_of(ServerId(3)).count(), 128);
    }

    #[test]
    fn twice_the_points_are_twice_the_share() {
        let mut ring = ring(10);
        ring.add(ServerId(10), 256);
        let count = table(&ring).iter().filter(|server| **server == ServerId(10)).count();
        let share = count as f64 / PARTITIONS as f64;
        assert!((0.13..0.21).contains(&share), "{share}, where 2 of 12 shares should be 0.167");
    }

    #[test]
    fn homes_share_no_failure_domain() {
        let ring = ring(12);
        for point in (0..1000).map(fnv1a_of) {
            let homes = ring.homes(point, 3, |server| FailureDomain(u32::from(server.0) % 3));
            let mut domains: Vec<_> = homes.iter().map(|home| home.0 % 3).collect();
            domains.sort_unstable();
            assert_eq!(domains, [0, 1, 2]);
            assert_eq!(ring.homes(point, 3, |_| FailureDomain(0)).len(), 1);
        }
    }
}
