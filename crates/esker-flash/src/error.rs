//! Why a drive cannot be built.

use esker_core::registry::NotFound;
use esker_core::{Bytes, Hint, Nanos, Ratio};
use thiserror::Error;

use crate::{ArrayLevel, Stripe};

/// A drive that cannot work: which settings clash, with their numbers.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SsdError {
    /// A count, a size, a time or a rate is zero that cannot be.
    #[error("`{key}` is zero")]
    Zero {
        /// The key.
        key: &'static str,
    },
    /// A number is larger than the model can hold.
    #[error("`{key}` is {found}, more than {limit}")]
    TooLarge {
        /// The key.
        key: &'static str,
        /// Its value.
        found: u64,
        /// The most that can be.
        limit: u64,
    },
    /// A time is too long to be added up safely.
    #[error("`{key}` is {found}, longer than {limit}")]
    TooLong {
        /// The key.
        key: &'static str,
        /// Its value.
        found: Nanos,
        /// The most that can be.
        limit: Nanos,
    },
    /// The page size is not a power of two, or less than a sector.
    #[error("`geometry.page_size` is {found}: it has to be a power of two, at least 512B")]
    PageSize {
        /// As given.
        found: Bytes,
    },
    /// Flash pages are numbered in 32 bits.
    #[error(
        "the array has {found} pages ({dies} dies x {blocks_per_die} blocks x {pages_per_block} pages), more than {limit}"
    )]
    TooManyPages {
        /// Pages of the array.
        found: u64,
        /// Dies of the array.
        dies: u64,
        /// Blocks of a die.
        blocks_per_die: u64,
        /// Pages of a block.
        pages_per_block: u32,
        /// The most that can be.
        limit: u64,
    },
    /// Units of a flash page would lie in two blocks.
    #[error("`geometry.units_per_page` is {found}: it has to divide the {pages_per_block} pages of a block")]
    UnitsPerPage {
        /// As given.
        found: u32,
        /// Pages of a block.
        pages_per_block: u32,
    },
    /// Block summaries would leave no page for data.
    #[error("`block_summary` takes the last page of each block, and blocks have {pages_per_block}")]
    NoDataPages {
        /// Pages of a block.
        pages_per_block: u32,
    },
    /// Both ways to state the spare space are used.
    #[error("`over_provisioning` ({over_provisioning}) and `spare_factor` ({spare_factor}) exclude each other")]
    TwoSpareSpaces {
        /// As given.
        over_provisioning: Ratio,
        /// As given.
        spare_factor: Ratio,
    },
    /// The spare space is not stated.
    #[error("the spare space is not stated")]
    NoSpareSpaceStated,
    /// A share is not below one.
    #[error("`{key}` is {found}: it has to be less than 100%")]
    NotAShare {
        /// The key.
        key: &'static str,
        /// As given.
        found: Ratio,
    },
    /// Cleaning ahead of need would begin when it is needed already.
    #[error("`{key}` is {found}: it has to lie between `cleaning.threshold` ({threshold}) and 100%")]
    NotAboveThreshold {
        /// The key.
        key: &'static str,
        /// As given.
        found: Ratio,
        /// As given.
        threshold: Ratio,
    },
    /// Cleaning ahead of need would never be done.
    #[error("`{key}` asks for {blocks} free blocks of a pool's {of}, and the data leave at most {most}")]
    NeverFree {
        /// The key.
        key: &'static str,
        /// Free blocks that it asks for.
        blocks: u32,
        /// Free blocks that can be had.
        most: u32,
        /// Blocks of a pool.
        of: u32,
    },
    /// The marks of the write buffer stand the wrong way round.
    #[error("`write_buffer.low_water` ({low}) is above `write_buffer.high_water` ({high}), or that is above 100%")]
    WaterMarks {
        /// As given.
        low: Ratio,
        /// As given.
        high: Ratio,
    },
    /// The write buffer has no room for a page.
    #[error("`write_buffer.size` is {found}: pages are of {page_size}")]
    BufferTooSmall {
        /// As given.
        found: Bytes,
        /// A flash page.
        page_size: Bytes,
    },
    /// The translation layer keeps no account of wear.
    #[error("`wear` has no meaning for the translation layer `{layer}`, which keeps no account of it")]
    NoWearIn {
        /// The layer.
        layer: &'static str,
        /// What would work.
        remedy: String,
    },
    /// Blocks would begin beyond their rated life.
    #[error("`wear.initial_erases` is {found}, and blocks are rated for {limit} (`endurance_cycles`)")]
    BornWornOut {
        /// As given.
        found: u64,
        /// Rated erases.
        limit: u64,
    },
    /// The host could address nothing, or not a page in each pool.
    #[error("{host} host pages are left for {pools} pools, which need at least one each")]
    NoHostPages {
        /// Pages that the host could address.
        host: u64,
        /// Pools that they are spread over.
        pools: u32,
    },
    /// A pool has fewer blocks than it needs to be written and cleaned.
    #[error("a pool has {blocks} blocks, and {needed} would have to stay free or open ({reserve} + {frontiers})")]
    PoolTooSmall {
        /// Blocks of a pool.
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
        /// As given.
        threshold: Ratio,
        /// The key that states the spare space, and a value of it that would work.
        remedy: (&'static str, Ratio),
    },
    /// The blocks that a block-mapped translation layer needs are more than a pool has.
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
        /// Blocks that take updates.
        update: u32,
        /// What those are, and which parameter says how many.
        purpose: &'static str,
        /// Blocks that stay free for merging.
        free: u32,
        /// A value of `over_provisioning` that would work.
        remedy: Ratio,
    },
    /// An energy or a power is too large to be added up safely.
    #[error("`{key}` is {found}, more than {limit}")]
    TooMuch {
        /// The key.
        key: &'static str,
        /// Its value.
        found: String,
        /// The most that can be.
        limit: String,
    },
    /// The order of the array's levels does not name each of them once.
    #[error("`array.stripe` names {} levels ({found:?}), and has to name each of the four once", found.0.len())]
    StripeOrder {
        /// As given.
        found: Stripe,
    },
    /// A level is spanned twice.
    #[error("`array.span` names a level twice: {found:?}")]
    SpanTwice {
        /// As given.
        found: Vec<ArrayLevel>,
    },
    /// Two settings exclude each other.
    #[error("{first} and {second} exclude each other: {reason}")]
    Contradiction {
        /// The keys.
        keys: Vec<&'static str>,
        /// A key with its value.
        first: String,
        /// Another one with its value.
        second: String,
        /// Why they do.
        reason: String,
        /// What would work.
        remedy: String,
    },
    /// The pages that the host addresses and those of a map on flash leave no room for cleaning.
    #[error(
        "a pool of {blocks} blocks x {data_pages} data pages holds {host} host pages and {translation_pages} translation \
         pages; {reserve} free blocks and {frontiers} open ones leave room for {room}"
    )]
    NoRoomForMap {
        /// Blocks of a pool.
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
    /// A name is in no registry.
    #[error("`{key}` knows no `{}`; it knows {}", name.found, name.list())]
    UnknownKind {
        /// The key.
        key: &'static str,
        /// The name, and those of the registry.
        name: NotFound,
    },
    /// A component has no such parameter.
    #[error("`{key}` of kind `{kind}` has no parameter `{unknown}`{}", if known.is_empty() { String::new() } else { format!("; it has {known}") })]
    UnknownParameter {
        /// The key.
        key: &'static str,
        /// The component.
        kind: String,
        /// As given.
        unknown: String,
        /// All parameters of the component.
        known: String,
        /// The nearest of them.
        nearest: Option<String>,
    },
    /// A parameter of a component has a value that will not do.
    #[error("`{key}` is {found}; expected {expected}")]
    Parameter {
        /// The key.
        key: String,
        /// What would do.
        expected: String,
        /// As given.
        found: String,
    },
}

impl SsdError {
    /// The dotted keys of the settings that it is about, the one that says most about it first. None where it is about
    /// the drive as a whole.
    pub fn keys(&self) -> Vec<String> {
        let keys: &[&str] = match self {
            Self::Zero { key }
            | Self::TooLarge { key, .. }
            | Self::TooLong { key, .. }
            | Self::TooMuch { key, .. }
            | Self::NotAShare { key, .. } => &[*key],
            Self::NotAboveThreshold { key, .. } => &[*key, "cleaning.threshold"],
            Self::NeverFree { key, .. } => &[*key],
            Self::PageSize { .. } => &["geometry.page_size"],
            Self::UnitsPerPage { .. } => &["geometry.units_per_page", "geometry.pages_per_block"],
            Self::NoDataPages { .. } => &["block_summary", "geometry.pages_per_block"],
            Self::TwoSpareSpaces { .. } => &["over_provisioning", "spare_factor"],
            Self::WaterMarks { .. } => &["write_buffer.low_water", "write_buffer.high_water"],
            Self::BufferTooSmall { .. } => &["write_buffer.size"],
            Self::NoWearIn { .. } => &["wear", "ftl"],
            Self::BornWornOut { .. } => &["wear.initial_erases", "endurance_cycles"],
            Self::NoSpareSpace { remedy: (key, _), .. } => &[*key, "cleaning.threshold"],
            Self::NoUpdateBlocks { .. } | Self::NoRoomForMap { .. } => &["ftl"],
            Self::StripeOrder { .. } => &["array.stripe"],
            Self::SpanTwice { .. } => &["array.span"],
            Self::Contradiction { keys, .. } => keys,
            Self::UnknownKind { key, .. } => &[*key],
            Self::UnknownParameter { key, unknown, .. } => return vec![format!("{key}.{unknown}"), (*key).to_string()],
            Self::Parameter { key, .. } => &[key.as_str()],
            Self::TooManyPages { .. }
            | Self::NoSpareSpaceStated
            | Self::NoHostPages { .. }
            | Self::PoolTooSmall { .. } => &[],
        };
        keys.iter().map(|key| (*key).to_string()).collect()
    }
}

impl Hint for SsdError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Zero { key } if key.starts_with("geometry") || *key == "queue_depth" => {
                Some(format!("give `{key}` a value of at least 1"))
            }
            Self::Zero { key } => Some(format!("give `{key}` a value above zero, or name a preset that states it")),
            Self::TooLarge { key, limit, .. } => Some(format!("lower `{key}` to {limit} or less")),
            Self::TooLong { key, limit, .. } => Some(format!("lower `{key}` to {limit} or less")),
            Self::PageSize { found } => {
                let nearest = found.0.clamp(512, 1 << 20).next_power_of_two();
                Some(format!("use \"{}\"", Bytes(nearest)))
            }
            Self::TooManyPages { found, pages_per_block, limit, .. } => Some(format!(
                "use fewer blocks, or larger pages: the same bytes in pages {} times as large would do",
                found.div_ceil(limit - limit % u64::from(*pages_per_block)).next_power_of_two()
            )),
            Self::UnitsPerPage { found, pages_per_block } => {
                let fits = (1..=*found).rev().find(|units| pages_per_block.is_multiple_of(*units)).unwrap_or(1);
                Some(format!("geometry.units_per_page = {fits} would work"))
            }
            Self::NoDataPages { .. } => Some("use blocks of at least 2 pages, or block_summary = false".to_string()),
            Self::TwoSpareSpaces { .. } => Some("keep one of them".to_string()),
            Self::NoSpareSpaceStated => Some("add over_provisioning = \"15%\", or name a preset".to_string()),
            Self::NotAShare { key, .. } => Some(format!("{key} = \"15%\" would work")),
            Self::NotAboveThreshold { key, threshold, .. } => {
                let above = Ratio::parts_per_billion(threshold.as_parts_per_billion().saturating_mul(3) / 2);
                let value = above.max(Ratio::percent(1)).min(Ratio::percent(99));
                Some(format!("{key} = \"{value}\" would work, or a lower `cleaning.threshold`"))
            }
            Self::NeverFree { key, most, of, .. } => {
                let share = Ratio::parts_per_billion(u64::from(*most) * 1_000_000_000 / u64::from(*of));
                Some(format!("less than {share} for `{key}`, or more spare space, would work"))
            }
            Self::WaterMarks { .. } => Some("low_water = \"50%\" and high_water = \"75%\" would work".to_string()),
            Self::BufferTooSmall { page_size, .. } => {
                Some(format!("at least {page_size} would work; left out, the drive has no buffer"))
            }
            Self::BornWornOut { limit, .. } => Some(format!("initial_erases = {} would work", limit / 2)),
            Self::NoHostPages { .. } => Some("use more blocks or less spare space".to_string()),
            Self::PoolTooSmall { needed, reserve, frontiers, .. } => Some(format!(
                "give a pool at least {} blocks: a larger `pool` or `geometry.blocks_per_plane`{}{}",
                needed + 2,
                if reserve > frontiers { ", or a lower `cleaning.threshold`" } else { "" },
                if *frontiers > 1 { ", or write_frontiers = \"pool\"" } else { "" },
            )),
            Self::NoSpareSpace { remedy: (key, value), .. } => {
                Some(format!("{key} = \"{value}\" would work, or a lower `cleaning.threshold`"))
            }
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
            Self::StripeOrder { .. } => {
                Some("stripe = [\"channel\", \"package\", \"die\", \"plane\"] would work".to_string())
            }
            Self::TooMuch { key, limit, .. } => Some(format!("lower `{key}` to {limit} or less")),
            Self::SpanTwice { .. } => Some("name each level once".to_string()),
            Self::NoWearIn { remedy, .. } | Self::Contradiction { remedy, .. } => Some(remedy.clone()),
            Self::Parameter { key, .. } => Some(format!("leave `{key}` out for its default")),
        }
    }
}
