//! The shape of the array: its settings, checked and turned into numbers.
//!
//! Physical pages are numbered from the outside in: channel, package, die, plane, block, page. So every pool is a range
//! of consecutive blocks, and a division gives the block or die of a page.

use esker_core::{Bytes, PhysicalPage};

use crate::{ArrayLevel, Divisor, GeometrySettings, NandError, PoolScope, Stripe, ValueError};

/// Index of an erase block over the whole array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockIndex(pub u32);

/// Index of a die over the whole array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DieIndex(pub u32);

/// Index of a channel with its bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelIndex(pub u32);

/// Index of a plane over the whole array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlaneIndex(pub u32);

/// The shape of an array, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    settings: GeometrySettings,
    block_summary: bool,
    dies: u32,
    blocks: u32,
    pages: u32,
    pages_per_block: Divisor,
    blocks_per_die: Divisor,
    blocks_per_plane: Divisor,
    dies_per_channel: Divisor,
    sectors_per_page: u32,
    /// The order in which levels take turns, fastest-changing first.
    stripe: [ArrayLevel; 4],
}

/// Pages are numbered in 32 bits, and the highest number means "none".
const PAGES_MAX: u64 = u32::MAX as u64;
/// Pages of a block are counted in 16 bits, and the highest number means "none".
const PAGES_PER_BLOCK_MAX: u32 = u16::MAX as u32 - 1;
const PAGE_SIZE_MAX: u64 = 1 << 30;

impl Geometry {
    /// Checks `settings`. With `block_summary` the last page of each block holds no data.
    pub fn new(settings: &GeometrySettings, block_summary: bool) -> Result<Self, NandError> {
        let counts = [
            ("geometry.channels", settings.channels),
            ("geometry.packages_per_channel", settings.packages_per_channel),
            ("geometry.dies_per_package", settings.dies_per_package),
            ("geometry.planes_per_die", settings.planes_per_die),
            ("geometry.blocks_per_plane", settings.blocks_per_plane),
            ("geometry.pages_per_block", settings.pages_per_block),
            ("geometry.units_per_page", settings.units_per_page),
        ];
        if let Some((key, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(ValueError::Zero { key }.into());
        }
        let page_size = settings.page_size;
        if !page_size.0.is_power_of_two() || page_size < Bytes::SECTOR {
            return Err(NandError::PageSize { found: page_size });
        }
        for (key, found, limit) in [
            ("geometry.pages_per_block", u64::from(settings.pages_per_block), u64::from(PAGES_PER_BLOCK_MAX)),
            ("geometry.page_size", page_size.0, PAGE_SIZE_MAX),
            ("geometry.spare_size", settings.spare_size.0, PAGE_SIZE_MAX),
        ] {
            if found > limit {
                return Err(ValueError::TooLarge { key, found, limit }.into());
            }
        }
        if !settings.pages_per_block.is_multiple_of(settings.units_per_page) {
            return Err(NandError::UnitsPerPage {
                found: settings.units_per_page,
                pages_per_block: settings.pages_per_block,
            });
        }
        if block_summary && settings.pages_per_block < 2 {
            return Err(NandError::NoDataPages { pages_per_block: settings.pages_per_block });
        }
        let product = |factors: &[u32]| factors.iter().fold(1u64, |all, &factor| all.saturating_mul(u64::from(factor)));
        let dies = product(&[settings.channels, settings.packages_per_channel, settings.dies_per_package]);
        let blocks_per_die = product(&[settings.planes_per_die, settings.blocks_per_plane]);
        let blocks = dies.saturating_mul(blocks_per_die);
        let pages = blocks.saturating_mul(u64::from(settings.pages_per_block));
        if pages > PAGES_MAX {
            return Err(NandError::TooManyPages {
                found: pages,
                dies,
                blocks_per_die,
                pages_per_block: settings.pages_per_block,
                limit: PAGES_MAX,
            });
        }
        Ok(Self {
            settings: *settings,
            block_summary,
            dies: dies as u32,
            blocks: blocks as u32,
            pages: pages as u32,
            pages_per_block: Divisor::new(settings.pages_per_block),
            blocks_per_die: Divisor::new(blocks_per_die as u32),
            blocks_per_plane: Divisor::new(settings.blocks_per_plane),
            dies_per_channel: Divisor::new(settings.packages_per_channel * settings.dies_per_package),
            sectors_per_page: (page_size.0 / Bytes::SECTOR.0) as u32,
            stripe: [ArrayLevel::Channel, ArrayLevel::Package, ArrayLevel::Die, ArrayLevel::Plane],
        })
    }

    /// Sets the order in which levels take turns; `stripe` must name each level once.
    pub fn with_stripe(self, stripe: &Stripe) -> Result<Self, NandError> {
        let mut sorted = stripe.0.clone();
        sorted.sort_unstable();
        sorted.dedup();
        match <[ArrayLevel; 4]>::try_from(stripe.0.as_slice()) {
            Ok(stripe) if sorted.len() == 4 => Ok(Self { stripe, ..self }),
            _ => Err(NandError::StripeOrder { found: stripe.clone() }),
        }
    }

    /// Returns the settings.
    #[inline]
    pub fn settings(&self) -> &GeometrySettings {
        &self.settings
    }
    /// Returns the number of channels of the array.
    #[inline]
    pub fn channels(&self) -> u32 {
        self.settings.channels
    }
    /// Returns the number of dies of the array.
    #[inline]
    pub fn dies(&self) -> u32 {
        self.dies
    }
    /// Returns the number of dies of a channel.
    #[inline]
    pub fn dies_per_channel(&self) -> u32 {
        self.dies_per_channel.get()
    }
    /// Returns the number of blocks of the array.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.blocks
    }
    /// Returns the number of blocks of a die.
    #[inline]
    pub fn blocks_per_die(&self) -> u32 {
        self.blocks_per_die.get()
    }
    /// Returns the number of pages of the array.
    #[inline]
    pub fn pages(&self) -> u32 {
        self.pages
    }
    /// Returns the number of pages of a block.
    #[inline]
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block.get()
    }
    /// Returns the number of pages of a block that can hold data.
    #[inline]
    pub fn data_pages_per_block(&self) -> u32 {
        self.pages_per_block() - u32::from(self.block_summary)
    }
    /// Returns true if the last page of each block holds the block's map.
    #[inline]
    pub fn block_summary(&self) -> bool {
        self.block_summary
    }
    /// Returns the number of sectors of a page.
    #[inline]
    pub fn sectors_per_page(&self) -> u32 {
        self.sectors_per_page
    }
    /// Returns how many consecutive pages of a block are read from the cells together.
    #[inline]
    pub fn units_per_page(&self) -> u32 {
        self.settings.units_per_page
    }
    /// Returns the size of a page's data.
    #[inline]
    pub fn page_size(&self) -> Bytes {
        self.settings.page_size
    }
    /// Returns the size of a page's data and spare bytes, which cross the bus together.
    #[inline]
    pub fn raw_page_size(&self) -> Bytes {
        self.settings.page_size + self.settings.spare_size
    }

    /// Returns the first page of `block`.
    #[inline(always)]
    pub fn first_page(&self, block: BlockIndex) -> PhysicalPage {
        PhysicalPage(block.0 * self.pages_per_block.get())
    }
    /// Returns the block of `page`.
    #[inline(always)]
    pub fn block_of(&self, page: PhysicalPage) -> BlockIndex {
        BlockIndex(self.pages_per_block.quotient(page.0))
    }
    /// Returns the block of `page`, and the page's offset in it.
    #[inline(always)]
    pub fn split_page(&self, page: PhysicalPage) -> (BlockIndex, u32) {
        let (block, offset) = self.pages_per_block.divide(page.0);
        (BlockIndex(block), offset)
    }
    /// Returns the die of `block`.
    #[inline(always)]
    pub fn die_of(&self, block: BlockIndex) -> DieIndex {
        DieIndex(self.blocks_per_die.quotient(block.0))
    }
    /// Returns the die of `page`.
    #[inline(always)]
    pub fn die_of_page(&self, page: PhysicalPage) -> DieIndex {
        self.die_of(self.block_of(page))
    }
    /// Returns the plane of `block`.
    #[inline(always)]
    pub fn plane_of(&self, block: BlockIndex) -> PlaneIndex {
        PlaneIndex(self.blocks_per_plane.quotient(block.0))
    }
    /// Returns the number of planes of the array.
    #[inline]
    pub fn planes(&self) -> u32 {
        self.dies * self.settings.planes_per_die
    }
    /// Returns the channel of `die`.
    #[inline(always)]
    pub fn channel_of(&self, die: DieIndex) -> ChannelIndex {
        ChannelIndex(self.dies_per_channel.quotient(die.0))
    }

    /// Returns the number of pools of `scope`.
    pub fn pools(&self, scope: PoolScope) -> u32 {
        let settings = &self.settings;
        match scope {
            PoolScope::Plane => self.dies * settings.planes_per_die,
            PoolScope::Die => self.dies,
            PoolScope::Package => settings.channels * settings.packages_per_channel,
            PoolScope::Gang => settings.channels,
            PoolScope::Device => 1,
        }
    }

    /// Returns `count` items (planes, dies or pools) from `first` on, in the order in which they take turns. The array
    /// has `parts` such items. By default channels change first, since each has its own bus, then packages, dies and
    /// planes.
    pub fn turns(&self, first: u32, count: u32, parts: u32) -> Vec<u32> {
        let settings = &self.settings;
        let levels =
            [settings.channels, settings.packages_per_channel, settings.dies_per_package, settings.planes_per_die];
        // Dividing the array level by level gives the size of an item.
        let mut below = parts;
        let mut place = [None; 4];
        for (index, level) in levels.into_iter().enumerate() {
            if below > 1 && below.is_multiple_of(level) {
                below /= level;
                place[index] = Some((below, level));
            }
        }
        let mut turns: Vec<u32> = (first..first + count).collect();
        // The level that changes last weighs most.
        let weights: Vec<_> = self.stripe.iter().rev().filter_map(|level| place[*level as usize]).collect();
        turns.sort_by_key(|part| weights.iter().map(|(below, level)| part / below % level).collect::<Vec<_>>());
        turns
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Hint;

    use super::*;

    fn agrawal() -> GeometrySettings {
        GeometrySettings {
            channels: 8,
            packages_per_channel: 1,
            dies_per_package: 2,
            planes_per_die: 4,
            blocks_per_plane: 2048,
            pages_per_block: 64,
            page_size: Bytes::kib(4),
            spare_size: Bytes(128),
            units_per_page: 1,
        }
    }

    #[test]
    fn pages_know_their_place() {
        let geometry = Geometry::new(&agrawal(), false).unwrap();
        assert_eq!((geometry.dies(), geometry.blocks(), geometry.pages()), (16, 131_072, 8_388_608));
        let last = PhysicalPage(geometry.pages() - 1);
        assert_eq!(geometry.split_page(last), (BlockIndex(131_071), 63));
        assert_eq!(geometry.die_of_page(last), DieIndex(15));
        assert_eq!(geometry.channel_of(DieIndex(15)), ChannelIndex(7));
        assert_eq!(geometry.first_page(BlockIndex(3)), PhysicalPage(192));
    }

    #[test]
    fn channels_take_turns_before_what_shares_one() {
        let geometry = Geometry::new(&agrawal(), false).unwrap();
        let dies = geometry.turns(0, 16, 16);
        assert_eq!(&dies[..10], &[0, 2, 4, 6, 8, 10, 12, 14, 1, 3]);
        assert_eq!(geometry.turns(4, 2, 16), vec![4, 5]);
        assert_eq!(geometry.turns(0, 1, 1), vec![0]);
        // Planes of one die are far apart in the order.
        let planes = geometry.turns(0, 64, 64);
        assert_eq!(&planes[..10], &[0, 8, 16, 24, 32, 40, 48, 56, 4, 12]);
        assert_eq!(&planes[16..18], &[1, 9]);
    }

    #[test]
    fn any_order_of_the_levels_will_do() {
        use ArrayLevel::{Channel, Die, Package, Plane};
        let geometry =
            |stripe: &[ArrayLevel]| Geometry::new(&agrawal(), false).unwrap().with_stripe(&Stripe(stripe.to_vec()));
        // Planes of a die, then channels, then the other die.
        let planes = geometry(&[Plane, Channel, Package, Die]).unwrap().turns(0, 64, 64);
        assert_eq!(&planes[..10], &[0, 1, 2, 3, 8, 9, 10, 11, 16, 17]);
        assert_eq!(&planes[32..34], &[4, 5]);
        // Dies first. Without planes, their place in the order does not matter.
        assert_eq!(&geometry(&[Plane, Die, Channel, Package]).unwrap().turns(0, 16, 16)[..4], &[0, 1, 2, 3]);
        for wrong in [&[Plane, Channel, Package][..], &[Plane, Channel, Package, Plane], &[]] {
            assert!(matches!(geometry(wrong), Err(NandError::StripeOrder { .. })));
        }
    }

    #[test]
    fn shapes_that_cannot_be_held_are_refused() {
        let refuse = |change: fn(&mut GeometrySettings)| {
            let mut settings = agrawal();
            change(&mut settings);
            Geometry::new(&settings, false).unwrap_err()
        };
        assert_eq!(refuse(|s| s.channels = 0), ValueError::Zero { key: "geometry.channels" }.into());
        assert_eq!(refuse(|s| s.page_size = Bytes(5000)), NandError::PageSize { found: Bytes(5000) });
        assert!(matches!(refuse(|s| s.blocks_per_plane = u32::MAX), NandError::TooManyPages { .. }));
        assert!(matches!(refuse(|s| s.pages_per_block = 70_000), NandError::Value(ValueError::TooLarge { .. })));
        assert_eq!(refuse(|s| s.units_per_page = 0), ValueError::Zero { key: "geometry.units_per_page" }.into());
        let error = refuse(|s| s.units_per_page = 24);
        assert_eq!(error, NandError::UnitsPerPage { found: 24, pages_per_block: 64 });
        assert_eq!(error.hint().unwrap(), "geometry.units_per_page = 16 would work");
    }
}
