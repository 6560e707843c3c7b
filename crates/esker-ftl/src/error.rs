//! Why a translation layer cannot be built.

use esker_core::registry::{ChoiceError, NotFound};
use esker_core::{Hint, Ratio};
use esker_nand::ValueError;
use thiserror::Error;

/// Settings that no translation layer can work with. The error says which ones clash, with their numbers.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A setting has an invalid value.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// Both `over_provisioning` and `spare_factor` are given.
    #[error("`over_provisioning` ({over_provisioning}) and `spare_factor` ({spare_factor}) exclude each other")]
    TwoSpareSpaces {
        /// Value of `over_provisioning`.
        over_provisioning: Ratio,
        /// Value of `spare_factor`.
        spare_factor: Ratio,
    },
    /// The spare space is not stated.
    #[error("the spare space is not stated")]
    NoSpareSpaceStated,
    /// Cleaning ahead of need would begin only when cleaning is needed anyway.
    #[error("`{key}` is {found}: it has to lie between `cleaning.threshold` ({threshold}) and 100%")]
    NotAboveThreshold {
        /// The key.
        key: &'static str,
        /// Its value.
        found: Ratio,
        /// Value of `cleaning.threshold`.
        threshold: Ratio,
    },
    /// Cleaning ahead of need would never reach its goal.
    #[error("`{key}` asks for {blocks} free blocks of a pool's {of}, and the data leave at most {most}")]
    NeverFree {
        /// The key that asks for free blocks.
        key: &'static str,
        /// Free blocks that it asks for.
        blocks: u32,
        /// The most free blocks that a pool can have.
        most: u32,
        /// Blocks of a pool.
        of: u32,
    },
    /// The translation layer does not keep track of wear.
    #[error("`wear` has no meaning for the translation layer `{layer}`, which keeps no account of it")]
    NoWearIn {
        /// The layer.
        layer: &'static str,
        /// What would work instead.
        remedy: String,
    },
    /// The host could not address even one page per pool.
    #[error("{host} host pages are left for {pools} pools, which need at least one each")]
    NoHostPages {
        /// Pages that the host could address.
        host: u64,
        /// Pools that they are spread over.
        pools: u32,
    },
    /// A pool has fewer blocks than it needs to be written and cleaned.
    #[error("a pool has {blocks} good blocks, and {needed} would have to stay free or open ({reserve} + {frontiers})")]
    PoolTooSmall {
        /// Blocks of a pool that are not bad from the start.
        blocks: u32,
        /// Blocks that stay free or open.
        needed: u32,
        /// Blocks that cleaning keeps free.
        reserve: u32,
        /// Blocks that are open for writing.
        frontiers: u32,
    },
    /// The pages that the host addresses leave no room for cleaning.
    #[error(
        "a pool of {blocks} blocks x {data_pages} data pages holds {host} host pages; {reserve} free blocks \
         (`cleaning.threshold` = {threshold}) and {frontiers} open ones leave room for {room}"
    )]
    NoSpareSpace {
        /// Blocks of a pool.
        blocks: u32,
        /// Data pages of a block.
        data_pages: u32,
        /// Host pages of a pool.
        host: u64,
        /// Host pages that a pool has room for.
        room: u64,
        /// Blocks that cleaning keeps free.
        reserve: u32,
        /// Blocks that are open for writing.
        frontiers: u32,
        /// Value of `cleaning.threshold`.
        threshold: Ratio,
        /// The key that states the spare space, and a value of it that would work; 100 % if none would.
        remedy: (&'static str, Ratio),
    },
    /// A block-mapped translation layer needs more blocks than a pool has.
    #[error(
        "`ftl` of kind `{kind}`: a pool of {blocks} blocks cannot hold {logical} logical blocks of {data_pages} pages, {update} \
         {purpose} and {free} that stay free"
    )]
    NoUpdateBlocks {
        /// The translation layer.
        kind: &'static str,
        /// Blocks of a pool.
        blocks: u32,
        /// Logical blocks of a pool.
        logical: u32,
        /// Data pages of a block.
        data_pages: u32,
        /// Blocks for updates (log or replacement blocks).
        update: u32,
        /// What the update blocks are called, and which parameter sets their number.
        purpose: &'static str,
        /// Blocks that stay free for merging.
        free: u32,
        /// A value of `over_provisioning` that would work.
        remedy: Ratio,
    },
    /// The pages of the host and of a map on flash leave no room for cleaning.
    #[error(
        "a pool of {blocks} good blocks x {data_pages} data pages holds {host} host pages and {translation_pages} \
         translation pages; {reserve} free blocks and {frontiers} open ones leave room for {room}"
    )]
    NoRoomForMap {
        /// Blocks of a pool that are not bad from the start.
        blocks: u32,
        /// Data pages of a block.
        data_pages: u32,
        /// Host pages of a pool.
        host: u32,
        /// Translation pages of a pool.
        translation_pages: u32,
        /// Blocks that cleaning keeps free.
        reserve: u32,
        /// Blocks that are open for writing, half of them for the map.
        frontiers: u32,
        /// Pages that a pool has room for.
        room: u64,
        /// A value of `over_provisioning` that would work.
        remedy: Ratio,
    },
    /// No registry entry has this name.
    #[error("`{key}` knows no `{}`; it knows {}", name.found, name.list())]
    UnknownKind {
        /// The key.
        key: &'static str,
        /// The name, and the names that the registry has.
        name: NotFound,
    },
    /// A component does not have this parameter.
    #[error("`{key}` of kind `{kind}` has no parameter `{unknown}`{}", if known.is_empty() { String::new() } else { format!("; it has {known}") })]
    UnknownParameter {
        /// The key.
        key: &'static str,
        /// The component.
        kind: String,
        /// The parameter as given.
        unknown: String,
        /// All parameters of the component.
        known: String,
        /// The most similar parameter name.
        nearest: Option<String>,
    },
}

impl BuildError {
    /// Makes an error of a parameter that the component at `key` does not accept.
    pub(crate) fn of_choice(key: &'static str, error: ChoiceError) -> Self {
        match error {
            ChoiceError::UnknownParameter { kind, unknown, known, nearest } => {
                Self::UnknownParameter { key, kind, unknown, known, nearest }
            }
            ChoiceError::Value { parameter, expected, found, .. } => {
                ValueError::Parameter { key: format!("{key}.{parameter}"), expected, found }.into()
            }
        }
    }

    /// Returns the dotted settings keys that the error is about, the most important first; none if it is about the
    /// layer as a whole.
    pub fn keys(&self) -> Vec<String> {
        let keys: Vec<&str> = match self {
            Self::Value(value) => value.keys(),
            Self::TwoSpareSpaces { .. } => vec!["over_provisioning", "spare_factor"],
            Self::NotAboveThreshold { key, .. } => vec![key, "cleaning.threshold"],
            Self::NeverFree { key, .. } | Self::UnknownKind { key, .. } => vec![key],
            Self::NoWearIn { .. } => vec!["wear", "ftl"],
            Self::NoSpareSpace { remedy: (key, _), .. } => vec![key, "cleaning.threshold"],
            Self::NoUpdateBlocks { .. } | Self::NoRoomForMap { .. } => vec!["ftl"],
            Self::UnknownParameter { key, unknown, .. } => return vec![format!("{key}.{unknown}"), (*key).to_string()],
            Self::NoSpareSpaceStated | Self::NoHostPages { .. } | Self::PoolTooSmall { .. } => Vec::new(),
        };
        keys.into_iter().map(str::to_string).collect()
    }
}

impl Hint for BuildError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Value(value) => value.hint(),
            Self::TwoSpareSpaces { .. } => Some("keep one of them".to_string()),
            Self::NoSpareSpaceStated => Some("add over_provisioning = \"15%\", or name a preset".to_string()),
            Self::NotAboveThreshold { key, threshold, .. } => {
                let above = Ratio::parts_per_billion(threshold.as_parts_per_billion().saturating_mul(3) / 2);
                let value = above.max(Ratio::percent(1)).min(Ratio::percent(99));
                Some(format!("{key} = \"{value}\" would work, or a lower `cleaning.threshold`"))
            }
            Self::NeverFree { key, most, of, .. } => {
                let share = Ratio::parts_per_billion(u64::from(*most) * 1_000_000_000 / u64::from(*of));
                Some(format!("less than {share} for `{key}`, or more spare space, would work"))
            }
            Self::NoHostPages { .. } => Some("use more blocks or less spare space".to_string()),
            Self::PoolTooSmall { needed, reserve, frontiers, .. } => Some(format!(
                "give a pool at least {} good blocks: a larger `pool` or `geometry.blocks_per_plane`{}{}",
                needed + 2,
                if reserve > frontiers { ", or a lower `cleaning.threshold`" } else { "" },
                if *frontiers > 1 { ", or write_frontiers = \"pool\"" } else { "" },
            )),
            Self::NoSpareSpace { remedy: (key, value), .. } if *value < Ratio::ONE => {
                Some(format!("{key} = \"{value}\" would work, or a lower `cleaning.threshold`"))
            }
            Self::NoSpareSpace { reserve, frontiers, .. } => Some(format!(
                "give a pool more blocks: a larger `pool` or `geometry.blocks_per_plane`{}",
                if reserve > frontiers { ", or a lower `cleaning.threshold`" } else { "" },
            )),
            Self::NoUpdateBlocks { remedy, .. } if *remedy < Ratio::ONE => {
                Some(format!("over_provisioning = \"{remedy}\" would work"))
            }
            Self::NoUpdateBlocks { .. } => Some("give a pool more blocks: a larger `pool`".to_string()),
            Self::NoRoomForMap { remedy, .. } if *remedy < Ratio::ONE => {
                Some(format!("over_provisioning = \"{remedy}\" would work"))
            }
            Self::NoRoomForMap { .. } => Some("give a pool more blocks: a larger `pool`".to_string()),
            Self::UnknownKind { name, .. } => name.question(),
            Self::UnknownParameter { nearest, .. } => {
                nearest.as_ref().map(|nearest| format!("did you mean `{nearest}`?"))
            }
            Self::NoWearIn { remedy, .. } => Some(remedy.clone()),
        }
    }
}
