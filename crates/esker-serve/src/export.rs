//! What is served under one name.

use esker_core::{Nanos, Tag};
use esker_nbd::{Command, Export};

use crate::operators::Operators;
use crate::requests::Requests;
use crate::served::Served;

/// What is served under one name, with the requests of its clients, and those who operate it.
pub(crate) struct ServedExport<S> {
    /// What clients ask for.
    pub(crate) name: String,
    pub(crate) served: S,
    pub(crate) requests: Requests,
    pub(crate) operators: Operators,
}

impl<S: Served> ServedExport<S> {
    pub(crate) fn new(name: String, served: S, index: usize) -> Self {
        Self { name, served, requests: Requests::new(index), operators: Operators::default() }
    }

    /// Returns true if it has nothing under way, not even what moves in the background.
    pub(crate) fn is_idle(&self) -> bool {
        self.requests.under_way() == 0 && !self.served.is_busy()
    }

    /// Begins a flush that no client has asked for.
    pub(crate) fn flush(&mut self) {
        let flush = (Tag::new(0, 0), Command::Flush, None);
        self.requests.begin(&mut self.served, None, (NOBODY, Nanos::ZERO), flush);
    }
}

/// Stands for no connection: there are never as many.
const NOBODY: u32 = u32::MAX;

/// The index of an export that a client was offered.
pub(crate) fn index_of<S>(exports: &[ServedExport<S>], offered: &Export) -> usize {
    exports.iter().position(|export| export.name == offered.name).expect("what is offered is served")
}
