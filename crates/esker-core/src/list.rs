//! Linked lists of things that lie in a slice.

const NOTHING: u32 = u32::MAX;

/// A thing's place in a list: its neighbours, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Links {
    previous: u32,
    next: u32,
}

impl Links {
    /// The links of a thing that is in no list.
    pub const NONE: Self = Self { previous: NOTHING, next: NOTHING };

    /// The index of the thing behind it.
    #[inline]
    pub fn next(&self) -> Option<u32> {
        (self.next != NOTHING).then_some(self.next)
    }

    /// The index of the thing before it.
    #[inline]
    pub fn previous(&self) -> Option<u32> {
        (self.previous != NOTHING).then_some(self.previous)
    }
}

impl Default for Links {
    fn default() -> Self {
        Self::NONE
    }
}

/// Something that can be in one [`List`] at a time.
pub trait Linked {
    /// Its place in the list.
    fn links(&self) -> &Links;
    /// Its place in the list.
    fn links_mut(&mut self) -> &mut Links;
}

/// A doubly linked list of things that lie in a slice, by index. The slice is handed to each call; several lists may
/// share one. Adding and removing take constant time and allocate nothing.
///
/// ```
/// use esker_core::{Linked, Links, List};
///
/// #[derive(Clone, Default)]
/// struct Page(Links);
/// impl Linked for Page {
///     fn links(&self) -> &Links {
///         &self.0
///     }
///     fn links_mut(&mut self) -> &mut Links {
///         &mut self.0
///     }
/// }
///
/// let mut pages = vec![Page::default(); 3];
/// let mut by_age = List::EMPTY;
/// for page in 0..3 {
///     by_age.push_back(&mut pages, page);
/// }
/// by_age.remove(&mut pages, 1);
/// assert_eq!(by_age.iter(&pages).collect::<Vec<_>>(), [0, 2]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct List {
    first: u32,
    last: u32,
    length: u32,
}

impl Default for List {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl List {
    /// A list without anything in it.
    pub const EMPTY: Self = Self { first: NOTHING, last: NOTHING, length: 0 };

    /// How many things are in it.
    #[inline]
    pub fn len(&self) -> u32 {
        self.length
    }

    /// Whether nothing is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The index of the first thing.
    #[inline]
    pub fn first(&self) -> Option<u32> {
        (self.first != NOTHING).then_some(self.first)
    }

    /// The index of the last thing.
    #[inline]
    pub fn last(&self) -> Option<u32> {
        (self.last != NOTHING).then_some(self.last)
    }

    /// Adds the thing at `index`, which is in no list, at the end. Returns the one that was last before.
    #[inline]
    pub fn push_back<T: Linked>(&mut self, things: &mut [T], index: u32) -> Option<u32> {
        debug_assert!(index != NOTHING, "the last of all numbers stands for nothing");
        self.length += 1;
        let before = std::mem::replace(&mut self.last, index);
        *things[index as usize].links_mut() = Links { previous: before, next: NOTHING };
        match before {
            NOTHING => self.first = index,
            before => things[before as usize].links_mut().next = index,
        }
        (before != NOTHING).then_some(before)
    }

    /// Adds the thing at `index`, which is in no list, before the thing at `next`, which is in this list.
    #[inline]
    pub fn insert_before<T: Linked>(&mut self, things: &mut [T], next: u32, index: u32) {
        debug_assert!(index != NOTHING, "the last of all numbers stands for nothing");
        self.length += 1;
        let before = std::mem::replace(&mut things[next as usize].links_mut().previous, index);
        *things[index as usize].links_mut() = Links { previous: before, next };
        match before {
            NOTHING => {
                debug_assert_eq!(self.first, next, "in another list, or in none");
                self.first = index;
            }
            before => things[before as usize].links_mut().next = index,
        }
    }

    /// Removes the thing at `index`, which is in this list. Returns the one behind it.
    #[inline]
    pub fn remove<T: Linked>(&mut self, things: &mut [T], index: u32) -> Option<u32> {
        let Links { previous, next } = std::mem::take(things[index as usize].links_mut());
        debug_assert!(self.length > 0, "{index} is in another list");
        self.length -= 1;
        match previous {
            NOTHING => {
                debug_assert_eq!(self.first, index, "in another list, or in none");
                self.first = next;
            }
            previous => things[previous as usize].links_mut().next = next,
        }
        match next {
            NOTHING => {
                debug_assert_eq!(self.last, index, "in another list, or in none");
                self.last = previous;
            }
            next => things[next as usize].links_mut().previous = previous,
        }
        (next != NOTHING).then_some(next)
    }

    /// The indices of all things in it, from the first to the last.
    pub fn iter<'a, T: Linked>(&self, things: &'a [T]) -> impl Iterator<Item = u32> + 'a {
        std::iter::successors(self.first(), |index| things[*index as usize].links().next())
    }

    /// Asserts that the links fit each other; takes long.
    pub fn check<T: Linked>(&self, things: &[T]) {
        let (mut before, mut length) = (NOTHING, 0);
        for index in self.iter(things) {
            assert_eq!(things[index as usize].links().previous, before, "the links of {index} do not fit");
            length += 1;
            assert!(length <= self.length, "the list has a circle, or more things than it counted");
            before = index;
        }
        assert_eq!((self.last, self.length), (before, length), "the end or the length of the list is wrong");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[derive(Clone, Default)]
    struct Thing(Links);

    impl Linked for Thing {
        fn links(&self) -> &Links {
            &self.0
        }
        fn links_mut(&mut self) -> &mut Links {
            &mut self.0
        }
    }

    #[test]
    fn lists_over_one_slice_do_what_vectors_do() {
        let mut rng = Rng::new(5);
        let mut things = vec![Thing::default(); 20];
        let mut lists = [List::EMPTY; 3];
        let mut models: [Vec<u32>; 3] = Default::default();
        for _ in 0..5_000 {
            let index = rng.below(20) as u32;
            match models.iter().position(|model| model.contains(&index)) {
                Some(list) => {
                    let at = models[list].iter().position(|other| *other == index).unwrap();
                    models[list].remove(at);
                    assert_eq!(lists[list].remove(&mut things, index), models[list].get(at).copied());
                }
                None => {
                    let list = rng.below(3) as usize;
                    let at = rng.below(models[list].len() as u64 + 1) as usize;
                    match models[list].get(at) {
                        Some(next) => lists[list].insert_before(&mut things, *next, index),
                        None => assert_eq!(lists[list].push_back(&mut things, index), models[list].last().copied()),
                    }
                    models[list].insert(at, index);
                }
            }
            for (list, model) in lists.iter().zip(&models) {
                list.check(&things);
                assert_eq!(&list.iter(&things).collect::<Vec<_>>(), model);
                assert_eq!((list.first(), list.last()), (model.first().copied(), model.last().copied()));
                assert_eq!(list.len() as usize, model.len());
            }
        }
    }

    #[test]
    #[should_panic(expected = "do not fit")]
    fn a_broken_link_is_found() {
        let mut things = vec![Thing::default(); 3];
        let mut list = List::EMPTY;
        (0..3).for_each(|index| {
            list.push_back(&mut things, index);
        });
        things[2].0.previous = 0;
        list.check(&things);
    }
}
