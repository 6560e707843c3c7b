//! Why an array cannot be built.

use esker_core::{Bytes, Hint};
use thiserror::Error;

use crate::{ArrayLevel, Stripe, ValueError};

/// Settings that no array can work with. Each error says which settings clash, with their numbers.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum NandError {
    /// A setting has an invalid value.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// The page size is not a power of two, or less than a sector.
    #[error("`geometry.page_size` is {found}: it has to be a power of two, at least 512B")]
    PageSize {
        /// Its value.
        found: Bytes,
    },
    /// The array has too many flash pages; they are numbered in 32 bits.
    #[error(
        "the array has {found} pages ({dies} dies x {blocks_per_die} blocks x {pages_per_block} pages), more than \
         {limit}"
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
        /// The most pages that an array may have.
        limit: u64,
    },
    /// The units of a flash page would lie in two blocks.
    #[error("`geometry.units_per_page` is {found}: it has to divide the {pages_per_block} pages of a block")]
    UnitsPerPage {
        /// Its value.
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
    /// The order of the array's levels does not name each level exactly once.
    #[error("`array.stripe` names {} levels ({found:?}), and has to name each of the four once", found.0.len())]
    StripeOrder {
        /// Its value.
        found: Stripe,
    },
    /// `array.span` names a level twice.
    #[error("`array.span` names a level twice: {found:?}")]
    SpanTwice {
        /// Its value.
        found: Vec<ArrayLevel>,
    },
}

impl NandError {
    /// Returns the dotted settings keys that the error is about, most important first; none if it is about the array as
    /// a whole.
    pub fn keys(&self) -> Vec<&str> {
        match self {
            Self::Value(value) => value.keys(),
            Self::PageSize { .. } => vec!["geometry.page_size"],
            Self::UnitsPerPage { .. } => vec!["geometry.units_per_page", "geometry.pages_per_block"],
            Self::NoDataPages { .. } => vec!["block_summary", "geometry.pages_per_block"],
            Self::StripeOrder { .. } => vec!["array.stripe"],
            Self::SpanTwice { .. } => vec!["array.span"],
            Self::TooManyPages { .. } => Vec::new(),
        }
    }
}

impl Hint for NandError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Value(value) => return value.hint(),
            Self::PageSize { found } => {
                let nearest = found.0.clamp(512, 1 << 20).next_power_of_two();
                format!("use \"{}\"", Bytes(nearest))
            }
            Self::TooManyPages { found, pages_per_block, limit, .. } => format!(
                "use fewer blocks, or larger pages: the same bytes in pages {} times as large would do",
                found.div_ceil(limit - limit % u64::from(*pages_per_block)).next_power_of_two()
            ),
            Self::UnitsPerPage { found, pages_per_block } => {
                let fits = (1..=*found).rev().find(|units| pages_per_block.is_multiple_of(*units)).unwrap_or(1);
                format!("geometry.units_per_page = {fits} would work")
            }
            Self::NoDataPages { .. } => "use blocks of at least 2 pages, or block_summary = false".to_string(),
            Self::StripeOrder { .. } => {
                "stripe = [\"channel\", \"package\", \"die\", \"plane\"] would work".to_string()
            }
            Self::SpanTwice { .. } => "name each level once".to_string(),
        })
    }
}
