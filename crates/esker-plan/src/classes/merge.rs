//! Neighbouring classes that are planned alike become one.

use super::hot::HotBins;

/// Classes that become one: the range of their bins, and their numbers.
#[derive(Clone, Debug)]
struct Merged {
    bins: Option<HotBins>,
    kind: usize,
    members: Vec<usize>,
}

/// Merges classes of one kind wherever the smallest range that holds two of them meets none of another kind. `bins` are
/// those of the classes, `kinds` their kinds. Returns the new number of each class, and the bins of the new ones in the
/// order of classes: the hot ones by their bins, then the cold one.
pub(super) fn merge(bins: &[Option<HotBins>], kinds: &[usize]) -> (Vec<u32>, Vec<Option<HotBins>>) {
    let parts = bins.iter().zip(kinds).enumerate();
    let mut merged: Vec<Merged> =
        parts.map(|(number, (&bins, &kind))| Merged { bins, kind, members: vec![number] }).collect();
    while let Some((range, kind)) = mergeable(&merged) {
        let (inside, mut rest): (Vec<Merged>, Vec<Merged>) =
            merged.into_iter().partition(|one| one.bins.is_some_and(|bins| bins.meets(range)));
        let members = inside.into_iter().flat_map(|one| one.members).collect();
        rest.push(Merged { bins: Some(range), kind, members });
        merged = rest;
    }
    merged.sort_by_key(|one| (one.bins.is_none(), one.bins));
    let mut number = vec![0; bins.len()];
    for (new, one) in (0..).zip(&merged) {
        one.members.iter().for_each(|&member| number[member] = new);
    }
    (number, merged.into_iter().map(|one| one.bins).collect())
}

/// The range of two classes that may become one, and their kind.
fn mergeable(classes: &[Merged]) -> Option<(HotBins, usize)> {
    let hot = || classes.iter().filter_map(|one| Some((one.bins?, one.kind)));
    let pairs = hot().enumerate().flat_map(|(place, one)| hot().skip(place + 1).map(move |other| (one, other)));
    let mut alike = pairs.filter(|(one, other)| one.1 == other.1);
    // A range that grows over another one of its kind takes that whole: it may then reach further than both.
    alike.find_map(|((one, kind), (other, _))| {
        let mut range = one.with(other);
        loop {
            let met = hot().filter(|(bins, _)| bins.meets(range));
            if met.clone().any(|(_, other)| other != kind) {
                return None;
            }
            let whole = met.fold(range, |range, (bins, _)| range.with(bins));
            if whole == range {
                return Some((range, kind));
            }
            range = whole;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::HotBin;
    use super::*;

    fn bin(reads: u8, size: u8) -> Option<HotBins> {
        Some(HotBins::one(HotBin { reads, size, intensity: 0 }))
    }

    #[test]
    fn ranges_stop_at_classes_of_another_kind() {
        // Reads rise from left to right: A A B A, and a cold class of kind A.
        let bins = [bin(0, 0), bin(1, 0), bin(2, 0), bin(3, 0), None];
        let (number, merged) = merge(&bins, &[7, 7, 1, 7, 7]);
        assert_eq!(number, [0, 0, 1, 2, 3]);
        assert_eq!(merged[0], Some(bin(0, 0).unwrap().with(bin(1, 0).unwrap())));
        assert_eq!(merged[3], None);
    }

    #[test]
    fn what_lies_between_has_to_be_of_the_same_kind() {
        // Two corners of a square, and a class of another kind in a third: the square would hold it.
        let (number, _) = merge(&[bin(0, 0), bin(1, 1), bin(0, 1)], &[0, 0, 1]);
        assert_eq!(number.iter().collect::<std::collections::BTreeSet<_>>().len(), 3);
        let (number, merged) = merge(&[bin(0, 0), bin(1, 1), bin(0, 1)], &[0, 0, 0]);
        assert_eq!((number, merged.len()), (vec![0, 0, 0], 1));
    }
}
