//! Lists whose copies have as much room as they have themselves.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

/// A list with the room that it has asked for. Copies of the standard library's have just enough for what they hold, so
/// that a copied layer would report that it takes less memory than the layer itself.
#[derive(Debug, Default)]
pub(crate) struct Roomy<L>(pub(crate) L);

impl<L> Deref for Roomy<L> {
    type Target = L;

    #[inline]
    fn deref(&self) -> &L {
        &self.0
    }
}

impl<L> DerefMut for Roomy<L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut L {
        &mut self.0
    }
}

impl<T: Clone> Clone for Roomy<Vec<T>> {
    fn clone(&self) -> Self {
        let mut copy = Vec::with_capacity(self.0.capacity());
        copy.extend_from_slice(&self.0);
        Self(copy)
    }
}

impl<T: Clone> Clone for Roomy<VecDeque<T>> {
    fn clone(&self) -> Self {
        let mut copy = VecDeque::with_capacity(self.0.capacity());
        copy.extend(self.0.iter().cloned());
        Self(copy)
    }
}

impl<T, L: FromIterator<T>> FromIterator<T> for Roomy<L> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self(items.into_iter().collect())
    }
}

impl<'a, L> IntoIterator for &'a Roomy<L>
where
    &'a L: IntoIterator,
{
    type Item = <&'a L as IntoIterator>::Item;
    type IntoIter = <&'a L as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<L: IntoIterator> IntoIterator for Roomy<L> {
    type Item = L::Item;
    type IntoIter = L::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
