//! Drives that leave to their host which data they keep.

use std::cell::Cell;

use esker_cache::suspects_max;
use esker_core::{Bytes, CannotOwn, Hint, Lba, LogicalPage, OwnedRoom, Retention};
use esker_ftl::Space;

use super::Ssd;
use super::back::{Back, Keeper};
use super::cache::check;
use super::front::Front;
use crate::HostManagedCacheError;

impl Ssd {
    /// Has the drive, which is new, keep what its owner asks for: see [`esker_core::Device::own`].
    pub(super) fn owned(&mut self, drops: bool) -> Result<OwnedRoom, CannotOwn> {
        let refuse = |error: HostManagedCacheError| {
            let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            CannotOwn { message: format!("{error}{hint}") }
        };
        check(&self.settings).map_err(refuse)?;
        if self.settings.wear.is_some() {
            let message = "a drive that a cache owns does not lose blocks; leave out its `wear`".to_string();
            return Err(CannotOwn { message });
        }
        let Space { host_pages: user, .. } = self.back.space;
        let suspects = suspects_max(self.back.geometry.pages(), user, self.back.space.reserve_pages());
        let mut back = Back::addressing(&self.settings, user + suspects, self.back.seed())
            .map_err(|error| refuse(error.into()))?;
        back.keeper = Some(Box::new(Keeper::new(user + suspects, drops)));
        self.front = Front::new(&self.settings, &back).map_err(|error| refuse(error.into()))?;
        self.back = back;
        self.back.choose_operations(false);
        self.expected = Cell::new(None);
        self.update_next();
        let unit = self.back.geometry.page_size();
        let [user, suspects] = [user, suspects].map(|pages| Bytes(u64::from(pages) * unit.0));
        Ok(OwnedRoom { user, suspects, unit })
    }

    /// See [`esker_core::Device::retain`].
    pub(super) fn retain_range(&mut self, start: Lba, length: Bytes, retention: Retention) {
        let first = self.back.page_of(start.byte_offset());
        let end = self.back.page_of(start.byte_offset() + length.0);
        (first..end).for_each(|page| self.back.retain(LogicalPage(page as u32), retention));
    }

    /// See [`esker_core::Device::take_dropped`].
    pub(super) fn next_dropped(&mut self) -> Option<(Lba, Bytes)> {
        let page = self.back.keeper.as_mut()?.take_dropped()?;
        let size = self.back.geometry.page_size();
        Some((Lba::containing(u64::from(page.0) * size.0), size))
    }
}
