//! What a balancer is told.

use esker_core::Bytes;

use super::codes::CodeGroups;
use crate::id::{FailureDomain, ServerId, SliceId};
use crate::shape::REPLICAS_MAX;
use crate::wear::FlashLoad;

/// The cluster at the end of an epoch.
#[derive(Clone, Copy, Debug)]
pub struct ClusterView<'a> {
    /// All servers by number.
    pub servers: &'a [ServerView],
    /// All slices by number.
    pub slices: &'a [SliceView],
    /// Which slices are kept as erasure codes.
    pub codes: &'a CodeGroups,
    /// Objects of each slice.
    pub objects_per_slice: u32,
    /// Size of an object.
    pub object: Bytes,
    /// Size of the pages in which writes are counted.
    pub page: Bytes,
    /// What may be copied in this round. A plan expects to copy no more.
    pub budget: Bytes,
}

/// A server at the end of an epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerView {
    /// What it fails together with.
    pub domain: FailureDomain,
    /// Whether it serves requests. Others count for nothing.
    pub serves: bool,
    /// Whether replicas may come, up to its room.
    pub takes_more: bool,
    /// More replicas that fit.
    pub room: u32,
    /// Erases since it was new, by its own count or a wear model.
    pub erases: f64,
    /// Pages that it can still be written before its rated life is used up.
    pub life_left_pages: f64,
    /// Pages that it can be written in an epoch without being too slow; infinite if unknown.
    pub pages_most: f64,
    /// Erases for each page that was written to it lately, by its own count; `None` if it counts none, or has not
    /// cleaned for a whole epoch yet.
    pub erases_per_page: Option<f64>,
    /// Its flash, and what the host wrote to it in this epoch.
    pub flash: FlashLoad,
}

/// A slice at the end of an epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceView {
    /// The servers of its replicas. Only as many count as it has replicas.
    pub homes: [ServerId; REPLICAS_MAX as usize],
    /// `P_s`, equation 4.8.
    pub popularity: f32,
    /// Pages that the host wrote to each replica in this epoch.
    pub pages: f32,
    /// Objects that count as hot by [`super::Balancer::hot_threshold`]. The others are cold.
    pub hot: u32,
    /// Replicas that it has.
    pub replicas: u8,
    /// True if a replica is in motion, so that none may be moved.
    pub in_motion: bool,
}

impl SliceView {
    /// The servers that hold replicas of it.
    pub fn homes(&self) -> &[ServerId] {
        &self.homes[..usize::from(self.replicas)]
    }
}

impl ClusterView<'_> {
    /// The servers that hold replicas of a slice.
    pub fn homes(&self, slice: SliceId) -> &[ServerId] {
        self.slices[slice.index()].homes()
    }

    /// Returns whether a replica of a slice may be moved: none is in motion, and the parity of its code is written.
    pub fn may_move(&self, slice: SliceId) -> bool {
        !self.slices[slice.index()].in_motion && self.codes.is_written(slice)
    }

    /// The size of a slice in pages.
    pub fn slice_pages(&self) -> f64 {
        self.object.0 as f64 * f64::from(self.objects_per_slice) / self.page.0 as f64
    }

    /// The size of a slice.
    pub fn slice_bytes(&self) -> Bytes {
        Bytes(self.object.0 * u64::from(self.objects_per_slice))
    }
}

/// Number, sum and sum of squares of the servers' wear. One manager serves ten servers in the thesis, but mean and
/// deviation are those of the cluster: managers tell this, and it adds up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WearSum {
    count: u64,
    sum: f64,
    squares: f64,
}

impl WearSum {
    /// The sum over some servers.
    pub fn of(wear: impl IntoIterator<Item = f64>) -> Self {
        wear.into_iter().fold(Self::default(), |sum, wear| sum.with(Self { count: 1, sum: wear, squares: wear * wear }))
    }

    /// The sum over the servers of both.
    pub fn with(self, other: Self) -> Self {
        Self { count: self.count + other.count, sum: self.sum + other.sum, squares: self.squares + other.squares }
    }

    /// The mean; zero without servers.
    pub fn mean(&self) -> f64 {
        self.sum / self.count.max(1) as f64
    }

    /// `sigma`: the standard deviation over all servers.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        (self.squares / self.count.max(1) as f64 - mean * mean).max(0.0).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Point 14.
    #[test]
    fn sums_of_managers_add_up_to_the_cluster() {
        let wear: Vec<f64> = (0..53).map(|server| f64::from(server * server % 101)).collect();
        let managers = wear.chunks(10).map(|chunk| WearSum::of(chunk.iter().copied()));
        let (all, whole) = (managers.fold(WearSum::default(), WearSum::with), WearSum::of(wear.iter().copied()));
        assert_eq!(all, whole);
        let mean = wear.iter().sum::<f64>() / 53.0;
        let variance = wear.iter().map(|wear| (wear - mean).powi(2)).sum::<f64>() / 53.0;
        assert!((all.mean() - mean).abs() < 1e-9 && (all.deviation() - variance.sqrt()).abs() < 1e-9);
        // What each manager finds by itself is another thing.
        let own = WearSum::of(wear[..10].iter().copied());
        assert!((own.mean() - mean).abs() > 5.0);
    }
}
