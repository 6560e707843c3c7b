//! A plan in the making: what the cluster would be like after the moves so far.

use std::collections::BTreeSet;

use esker_core::Bytes;

use crate::id::{ServerId, SliceId};
use crate::plan::{Plan, SliceMove};

use super::ClusterView;

/// A plan in the making.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    view: &'a ClusterView<'a>,
    /// Pages written to each server in an epoch.
    pub(super) pages: Vec<f64>,
    room: Vec<u32>,
    budget: u64,
    /// Whether the plan moves each slice, and groups of codes of which it moves a slice.
    is_moved: Vec<bool>,
    moved_codes: BTreeSet<u32>,
    pub(super) plan: Plan,
}

impl<'a> Draft<'a> {
    pub(super) fn new(view: &'a ClusterView<'a>) -> Self {
        Self {
            view,
            pages: view.servers.iter().map(|server| server.flash.pages).collect(),
            room: view.servers.iter().map(|server| if server.takes_more { server.room } else { 0 }).collect(),
            budget: view.budget.0,
            is_moved: vec![false; view.slices.len()],
            moved_codes: BTreeSet::new(),
            plan: Plan::default(),
        }
    }

    /// Returns whether `copied` bytes are left to copy.
    pub(super) fn affords(&self, copied: Bytes) -> bool {
        copied.0 <= self.budget
    }

    /// Returns whether the replica of a slice on `from` may go to `to`: the plan moves no replica of the slice or of
    /// its code yet, `to` takes more and has room, it is no home of the slice, and it shares a failure domain with no
    /// other home of the slice or its code.
    pub(super) fn may_go(&self, slice: SliceId, from: ServerId, to: ServerId) -> bool {
        let domain = self.view.servers[to.index()].domain;
        let is_apart =
            |other: &ServerId| *other == from || (*other != to && self.view.servers[other.index()].domain != domain);
        to != from
            && !self.moves(slice)
            && self.view.servers[to.index()].serves
            && self.room[to.index()] > 0
            && self.view.homes(slice).iter().all(is_apart)
            && self.view.codes.homes(slice).iter().all(is_apart)
    }

    /// Returns whether the plan moves a replica of a slice or of its code already.
    pub(super) fn moves(&self, slice: SliceId) -> bool {
        let group = self.view.codes.group_of(slice);
        self.is_moved[slice.index()] || group.is_some_and(|group| self.moved_codes.contains(&group))
    }

    /// Returns whether a server may be the destination of any slice.
    pub(super) fn has_room(&self, to: usize) -> bool {
        self.view.servers[to].serves && self.room[to] > 0
    }

    /// Returns the pages an epoch by which a server may still be written more.
    pub(super) fn spare(&self, to: usize) -> f64 {
        self.view.servers[to].pages_most - self.pages[to]
    }

    /// Returns whether a server stays within its load with `pages` more an epoch.
    pub(super) fn carries(&self, to: ServerId, pages: f64) -> bool {
        self.pages[to.index()] + pages <= self.view.servers[to.index()].pages_most
    }

    /// Adds a move. `pages` an epoch go with it.
    pub(super) fn add(&mut self, wanted: SliceMove, pages: f64) {
        let SliceMove { slice, from, to, copied } = wanted;
        self.pages[from.index()] -= pages;
        self.pages[to.index()] += pages;
        // The room at the source is free only once the move is complete.
        self.room[to.index()] -= 1;
        self.budget -= copied.0;
        self.is_moved[slice.index()] = true;
        self.moved_codes.extend(self.view.codes.group_of(slice));
        self.plan.moves.push(wanted);
    }
}

/// Servers whose lists of slices are filled at the same time.
const FILLED_TOGETHER: usize = 128;

/// Returns the slices that have a replica on each of the `chosen` servers and pass `is_wanted`, in their order.
///
/// Slices are collected by groups of servers first. The lists of ten thousand servers lie far apart: when all were
/// filled at once, waiting to store an entry took 70 % of the time of this function.
pub(super) fn slices_by_server(
    view: &ClusterView<'_>,
    chosen: &[bool],
    is_wanted: impl Fn(SliceId, ServerId) -> bool,
) -> Vec<Vec<SliceId>> {
    let mut groups = vec![Vec::new(); view.servers.len().div_ceil(FILLED_TOGETHER)];
    let mut counts = vec![0; view.servers.len()];
    for (slice, seen) in (0..).map(SliceId).zip(view.slices) {
        for home in seen.homes() {
            if chosen[home.index()] && is_wanted(slice, *home) {
                groups[home.index() / FILLED_TOGETHER].push((*home, slice));
                counts[home.index()] += 1;
            }
        }
    }
    let mut found: Vec<Vec<SliceId>> = counts.into_iter().map(Vec::with_capacity).collect();
    for (home, slice) in groups.into_iter().flatten() {
        found[home.index()].push(slice);
    }
    found
}

/// Returns the index with the greatest value among those with one; the first of equals.
pub(super) fn greatest(values: impl Iterator<Item = (usize, f64)>) -> Option<usize> {
    values.reduce(|best, other| if other.1 > best.1 { other } else { best }).map(|(index, _)| index)
}
