//! How the flash array is wired and driven.

use esker_core::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::EnergySettings;

/// How the flash array is wired and driven. The defaults give a plain array: transfers over shared buses, one plane at
/// a time, every die first in, first out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlashArraySettings {
    /// Whether pages are copied inside a plane without crossing the bus.
    pub copy_back: CopyBack,
    /// The order in which levels of the array take turns, fastest-changing first: all four of "channel", "package",
    /// "die" and "plane". It numbers the pools, and the write frontiers of a pool.
    pub stripe: Stripe,
    /// Which write frontier of its pool a host write goes to.
    pub placement: Placement,
    /// What the packages of a channel share.
    pub gang: Gang,
    /// With `gang` = "shared-control": how long an operation occupies the control lines of its gang.
    pub gang_control: GangControl,
    /// With `gang` = "synchronous": how data reach the packages.
    pub gang_data: GangData,
    /// Which planes of a die may work at once.
    pub multi_plane: MultiPlane,
    /// Which of its waiting operations a die starts next.
    pub scheduling: Scheduling,
    /// How programs and erases are suspended for reads of the host. Without it, they are not. Needs a `scheduling` that
    /// lets reads go first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<SuspendSettings>,
    /// Levels of the array that each logical page spans, with a part of it on each of their units. The parts are
    /// written, cleaned and erased together.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub span: Vec<ArrayLevel>,
    /// Size of a logical page: a flash page on each unit that `span` reaches, or a power of two times that, on
    /// consecutive pages of the same blocks. Smaller writes read the rest first. Default: one flash page per unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logical_page: Option<Bytes>,
    /// Whether a read for the host reads all flash pages of a logical page, instead of only the needed ones.
    pub whole_page_reads: bool,
    /// How a partial page write gets the rest of the page.
    pub rewrite: Rewrite,
    /// Energy of operations; results then include it by component and cause. It has no influence on times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergySettings>,
    /// Whether results include each die and bus, and the work of dies by kind and cause.
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
    /// A read and a program of the cells. Bit errors are copied, too.
    Unchecked,
    /// As "unchecked", but the page is also sent to the controller for a check; the program uses the data in the
    /// register.
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

/// An order of the array's levels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Stripe(pub Vec<ArrayLevel>);

impl Default for Stripe {
    fn default() -> Self {
        Self(vec![ArrayLevel::Channel, ArrayLevel::Package, ArrayLevel::Die, ArrayLevel::Plane])
    }
}

/// Which write frontier of its pool a host write goes to. The pool itself is fixed by the logical page, so that pools
/// of one plane fix the location completely (static allocation).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// The frontiers in turn.
    #[default]
    Turns,
    /// The frontier whose die has the least pending work, as far as known; among equals the next in turn.
    LeastLoaded,
}

/// What the packages of a channel share (Agrawal 2008, section 3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gang {
    /// One bus. It carries data of one package at a time, and packages work independently. With one package per channel
    /// this is full interconnection.
    #[default]
    SharedBus,
    /// Control lines. Each package has data lines of its own, and works on its own pages (asynchronous). `gang_control`
    /// decides what packages cannot do at the same time.
    SharedControl,
    /// Control lines, with one wide page over all packages, which do the same thing at the same time (synchronous).
    Synchronous,
}

/// How long an operation occupies the control lines of a gang with shared control. Cell work never needs them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GangControl {
    /// For its command, and while the strobes move data. Transfers in the same direction that are ready at the same
    /// moment share the strobes and run together, each over the data lines of its package. Other transfers, and
    /// commands, wait.
    #[default]
    Strobes,
    /// For its command only ("only be held long enough to issue a command", Agrawal 2008, section 3.3), which takes no
    /// time here. Packages transfer data independently of each other.
    Commands,
    /// Until it ends: each package of the gang that has work does one operation, and the next ones begin when the last
    /// of these has ended (the simulator that was released with Agrawal 2008).
    Rounds,
}

/// How data reach the packages of a synchronous gang.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GangData {
    /// At the same time, over the data lines of each package ("individual data paths", Agrawal 2008, section 3.3).
    #[default]
    Own,
    /// One flash page after the other, as over one bus (the simulator that was released with Agrawal 2008). A read
    /// transfers the pages of all packages.
    Shared,
}

/// How a partial page write gets the rest of the page (read-modify-write).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rewrite {
    /// The old page is read to the controller, and the new page is programmed from there.
    #[default]
    Controller,
    /// If both pages lie in one plane, the old page is read to the plane's register, the new data cross the bus into
    /// the register, and the page is programmed from there ("intra-plane copy-back to implement read-modify-write",
    /// Agrawal 2008, section 4.3). Costs a read, a transfer and a program. Needs frontiers that can keep a page in its
    /// plane, like `copy_back`.
    InPlane,
}

/// Which planes of a die may read, program, erase or copy back at the same time.
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

/// Which of its waiting operations a die starts next. Operations on the same block keep their order, unless both are
/// reads, and no operation overtakes one that it depends on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// The oldest.
    #[default]
    Fifo,
    /// The oldest read that a request waits for; without one, the oldest operation.
    ReadsFirst,
    /// The oldest operation that can begin at once. Operations that would wait for the bus or for another die are
    /// passed over.
    OutOfOrder,
}

/// How programs and erases are suspended for reads of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuspendSettings {
    /// Time from the decision until the die can read. An operation that would end within this time is not suspended.
    pub suspend: Nanos,
    /// Time from the last read until cell work goes on.
    pub resume: Nanos,
    /// How many times a program or erase may be suspended.
    pub limit: u32,
}
