//! How the flash array is wired and driven.

use esker_core::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EnergySettings;

/// How the flash array is wired and driven. What is left out is a plain array: transfers over shared buses, one plane
/// at a time, every die first in, first out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ArraySettings {
    /// Whether pages are copied inside a plane without crossing the bus.
    pub copy_back: CopyBack,
    /// The order in which parts of the array take turns, first the one that changes from one turn to the next: all four
    /// of "channel", "package", "die" and "plane". It numbers the pools, and the write frontiers of a pool.
    pub stripe: Stripe,
    /// Which write frontier of its pool a host write goes to.
    pub placement: Placement,
    /// What the packages of a channel share.
    pub gang: Gang,
    /// With `gang` = "shared-control": how long an operation has the control lines of its gang to itself.
    pub gang_control: GangControl,
    /// With `gang` = "synchronous": how data reach the packages.
    pub gang_data: GangData,
    /// Which planes of a die may work at once.
    pub multi_plane: MultiPlane,
    /// Which of the operations that wait a die begins with.
    pub scheduling: Scheduling,
    /// How programs and erases give way to reads for the host; left out, they do not. Needs a
    /// `scheduling` that lets reads go ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<SuspendSettings>,
    /// Levels of the array that each logical page spans, with a part of it on each of their units. They are
    /// written, cleaned and erased together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub span: Vec<ArrayLevel>,
    /// Bytes that are mapped as one: a flash page on each unit that `span` reaches, or a power of two times that, on
    /// consecutive pages of the same blocks. Writes of less read the rest first. Left out, one flash page a unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_page: Option<Bytes>,
    /// Where logical pages have several flash pages: whether a read for the host brings all of them, and
    /// not only those that it asks for.
    pub whole_page_reads: bool,
    /// How a write of a part of a page gets at the rest of it.
    pub rewrite: Rewrite,
    /// What operations take; results then tell it by component and cause. Times do not depend on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergySettings>,
    /// Whether results tell what each die and bus did by itself, and what dies did by kind and cause.
    pub details: bool,
}

/// Whether pages are copied inside a plane without crossing the bus (Agrawal 2008, sections 2.2 and 4.4). Applies to
/// copies whose source and target lie in one plane; all others cross the bus twice. Needs frontiers that keep copies in
/// their plane: `write_frontiers` = "plane", or a pool that is a plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CopyBack {
    /// Every copy goes through the controller.
    #[default]
    Off,
    /// A read and a program of the cells. Bit errors are copied along.
    Unchecked,
    /// The page is also sent to the controller, which checks it; the program uses what is in the register.
    Checked,
}

/// A level of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ArrayLevel {
    /// Channels of the array.
    Channel,
    /// Packages of a channel.
    Package,
    /// Dies of a package.
    Die,
    /// Planes of a die.
    Plane,
}

/// An order of the levels of the array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Stripe(pub Vec<ArrayLevel>);

impl Default for Stripe {
    fn default() -> Self {
        Self(vec![ArrayLevel::Channel, ArrayLevel::Package, ArrayLevel::Die, ArrayLevel::Plane])
    }
}

/// Which write frontier of its pool a host write goes to. The pool itself is fixed by the logical page; pools that are
/// planes therefore fix everything (static allocation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// One after the other.
    #[default]
    Turns,
    /// The one whose die has the least work before it, as far as that is known; among equals the next in turn.
    LeastLoaded,
}

/// What the packages of a channel share (Agrawal 2008, section 3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gang {
    /// One bus: data of one package at a time, and each package works on its own. With one package a
    /// channel this is full interconnection.
    #[default]
    SharedBus,
    /// The control lines, with data lines of its own for each package, which works on its own pages (asynchronous).
    /// What the packages cannot do at the same time follows from `gang_control`.
    SharedControl,
    /// The same with one wide page over all packages, which always do the same (synchronous).
    Synchronous,
}

/// How long an operation has the control lines of a gang with shared control to itself. Cell work never needs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GangControl {
    /// For its command, and while the strobes move data. Transfers in the same direction that are ready at the
    /// same moment share the strobes and run together, each over the data lines of its package; other
    /// transfers, and commands, wait.
    #[default]
    Strobes,
    /// For its command alone ("only be held long enough to issue a command", Agrawal 2008, section 3.3), which takes no
    /// time of its own here: data move over the lines of each package whatever the others do.
    Commands,
    /// Until it has ended: each package of the gang that has something to do does one operation, and the next ones
    /// begin when the last of them is done (the simulator that was released with Agrawal 2008).
    Rounds,
}

/// How data reach the packages of a gang in synchrony.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GangData {
    /// At once, over the data lines of each ("individual data paths", Agrawal 2008, section 3.3).
    #[default]
    Own,
    /// One flash page after the other, as over one bus (the simulator that was released with Agrawal 2008). A read
    /// brings the pages of all packages.
    Shared,
}

/// How a write of a part of a page gets at the rest of it (read-modify-write).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rewrite {
    /// The old page is read to the controller, and the new one programmed from there.
    #[default]
    Controller,
    /// Where both lie in one plane: the old page is read to the register of the plane, what is new crosses the bus
    /// into it, and it is programmed from there ("intra-plane copy-back to implement read-modify-write", Agrawal
    /// 2008, section 4.3). Charged are a read, a transfer and a program. Needs frontiers that can keep a page in
    /// its plane, as `copy_back` does.
    InPlane,
}

/// Which planes of a die may read, program, erase or copy back at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MultiPlane {
    /// One plane at a time.
    #[default]
    Off,
    /// Planes 0 and 1, 2 and 3, and so on (Agrawal 2008, section 2).
    Pairs,
    /// Any planes.
    Any,
}

/// Which of the operations that wait a die begins with. Operations on the same block keep their order, unless they only
/// read; and none goes ahead of one that it depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// The oldest.
    #[default]
    Fifo,
    /// The oldest read that a request waits for; without one, the oldest of all.
    ReadsFirst,
    /// The oldest that can begin at once: what would wait for the bus, or for another die, is passed over.
    OutOfOrder,
}

/// How programs and erases give way to reads for the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuspendSettings {
    /// From the decision until the die can read. Nothing is suspended that would end within this time.
    pub suspend: Nanos,
    /// From the last read until cell work goes on.
    pub resume: Nanos,
    /// How often one program or erase may be suspended.
    pub limit: u32,
}
