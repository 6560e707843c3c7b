//! The location of a logical page's flash pages: parts on several dies or planes, each several pages deep.

use std::ops::Range;

use crate::divide::Divisor;
use crate::{ArrayLevel, BlockIndex, Geometry, GeometrySettings};

/// Maps the blocks and dies that the translation layer sees to those of the array.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The real array.
    array: GeometrySettings,
    spans_planes: bool,
    /// Per die of the translation layer, the die of each part.
    dies: Vec<Vec<u32>>,
    /// Per part, its plane offset.
    planes: Vec<u32>,
    depth: u32,
    planes_per_die: Divisor,
}

/// The location of one part of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartLocation {
    pub(super) die: u32,
    /// Index of the plane in its die.
    pub(super) plane: u32,
    /// A number that is unique among the blocks of its die.
    pub(super) block: u32,
}

impl Layout {
    /// A layout of logical pages that span the levels `span` of the array, `depth` pages deep.
    pub(crate) fn new(array: &GeometrySettings, span: &[ArrayLevel], depth: u32) -> Self {
        let counts = |level: ArrayLevel| match level {
            ArrayLevel::Channel => array.channels,
            ArrayLevel::Package => array.packages_per_channel,
            ArrayLevel::Die => array.dies_per_package,
            ArrayLevel::Plane => array.planes_per_die,
        };
        // Per level, the number of units that hold parts, and the number that the translation layer sees.
        let split = |level| if span.contains(&level) { (counts(level), 1) } else { (1, counts(level)) };
        let [channel, package, die, plane] =
            [ArrayLevel::Channel, ArrayLevel::Package, ArrayLevel::Die, ArrayLevel::Plane].map(split);
        let mut dies = Vec::new();
        let all = |counts: [u32; 3]| {
            (0..counts[0]).flat_map(move |a| (0..counts[1]).flat_map(move |b| (0..counts[2]).map(move |c| [a, b, c])))
        };
        let number = |at: [u32; 3]| (at[0] * array.packages_per_channel + at[1]) * array.dies_per_package + at[2];
        // Channels first, so that neighbouring parts lie on different buses.
        let parts: Vec<([u32; 3], u32)> = (0..plane.0)
            .flat_map(|plane| all([die.0, package.0, channel.0]).map(move |[c, b, a]| ([a, b, c], plane)))
            .collect();
        for seen in all([channel.1, package.1, die.1]) {
            let place = |part: &([u32; 3], u32)| number(std::array::from_fn(|level| seen[level] + part.0[level]));
            dies.push(parts.iter().map(place).collect());
        }
        let planes = parts.iter().map(|part| part.1).collect();
        let planes_per_die = Divisor::new(array.planes_per_die);
        Self { array: *array, spans_planes: plane.0 > 1, dies, planes, depth, planes_per_die }
    }

    /// Returns the number of parts of a logical page.
    pub(super) fn parts(&self) -> u32 {
        self.planes.len() as u32
    }
    /// Returns the number of flash pages of a part.
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }
    /// Returns the number of dies of the array.
    pub(super) fn dies(&self) -> u32 {
        self.packages() * self.array.dies_per_package
    }
    pub(super) fn planes_per_die(&self) -> u32 {
        self.array.planes_per_die
    }
    /// Returns the number of packages of the array.
    pub(super) fn packages(&self) -> u32 {
        self.array.channels * self.array.packages_per_channel
    }
    /// Returns the number of channels of the array.
    pub(super) fn channels(&self) -> u32 {
        self.array.channels
    }
    pub(super) fn channel_of(&self, die: u32) -> u32 {
        self.package_of(die) / self.array.packages_per_channel
    }
    pub(super) fn package_of(&self, die: u32) -> u32 {
        die / self.array.dies_per_package
    }
    pub(super) fn dies_of_channel(&self, channel: u32) -> Range<u32> {
        let width = self.array.packages_per_channel * self.array.dies_per_package;
        channel * width..(channel + 1) * width
    }
    pub(super) fn packages_of_channel(&self, channel: u32) -> Range<u32> {
        channel * self.array.packages_per_channel..(channel + 1) * self.array.packages_per_channel
    }
    /// Iterates over the array's dies that together form a die of the translation layer.
    pub(super) fn dies_of(&self, die: u32) -> impl Iterator<Item = u32> {
        self.dies[die as usize].iter().copied()
    }

    /// Returns the location of a part of `block`, as numbered by the translation layer.
    #[inline]
    pub(super) fn place(&self, geometry: &Geometry, block: BlockIndex, part: u32) -> PartLocation {
        let plane = match self.spans_planes {
            true => self.planes[part as usize],
            false => self.planes_per_die.divide(geometry.plane_of(block).0).1,
        };
        let die = self.dies[geometry.die_of(block).0 as usize][part as usize];
        PartLocation { die, plane, block: block.0 * self.parts() + part }
    }

    /// Returns how many of the flash pages `needed` of a logical page lie in a part. Flash pages go to the parts in
    /// turn.
    pub(super) fn pages_of_part(&self, part: u32, needed: &[Range<u32>; 2]) -> u32 {
        let parts = self.parts();
        let below = |end: u32| end / parts + u32::from(end % parts > part);
        needed.iter().map(|range| below(range.end) - below(range.start)).sum()
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Bytes;

    use super::*;

    #[test]
    fn parts_go_to_all_units_of_the_levels_that_are_spanned() {
        let array = GeometrySettings {
            channels: 2,
            packages_per_channel: 2,
            dies_per_package: 2,
            planes_per_die: 2,
            blocks_per_plane: 4,
            pages_per_block: 4,
            page_size: Bytes(512),
            spare_size: Bytes(0),
            units_per_page: 1,
        };
        let layout = Layout::new(&array, &[ArrayLevel::Package, ArrayLevel::Plane], 2);
        // Dies 0 and 1 of the first package belong with dies 2 and 3 of the second.
        assert_eq!(layout.dies, [vec![0, 2, 0, 2], vec![1, 3, 1, 3], vec![4, 6, 4, 6], vec![5, 7, 5, 7]]);
        assert_eq!((layout.planes.as_slice(), layout.parts()), (&[0, 0, 1, 1][..], 4));
        // Flash pages 3..6 of eight: part 3, then 0 and 1.
        let needed = [3..6, 0..0];
        assert_eq!((0..4).map(|part| layout.pages_of_part(part, &needed)).collect::<Vec<_>>(), [1, 1, 0, 1]);
        let needed = [0..3, 6..8];
        assert_eq!((0..4).map(|part| layout.pages_of_part(part, &needed)).collect::<Vec<_>>(), [1, 1, 2, 1]);
        let whole = Layout::new(&array, &[], 1);
        assert_eq!((whole.dies.len(), whole.parts()), (8, 1));
    }
}
