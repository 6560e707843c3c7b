//! Drives whose host decides which data they keep.

use std::cell::Cell;

use esker_core::{Bytes, CannotOwn, Hint, Lba, LogicalPage, Ownable, OwnedRoom, Retention};
use esker_ftl::LayerCapability;
use esker_nand::{PoolScope, ValueError};

use super::Ssd;
use super::back::{Back, Keeper};
use super::front::Front;
use crate::{HostManagedCacheError, SsdError, SsdSettings};

impl Ownable for Ssd {
    fn own(&mut self, drops: bool) -> Result<OwnedRoom, CannotOwn> {
        let refuse = |error: HostManagedCacheError| {
            let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
            CannotOwn { message: format!("{error}{hint}") }
        };
        check(&self.settings).map_err(refuse)?;
        let keeper = Keeper::new(self.back.space, self.back.geometry.pages(), drops);
        let mut back =
            Back::addressing(&self.settings, keeper.pages(), self.back.seed()).map_err(|error| refuse(error.into()))?;
        let room = keeper.room(self.back.geometry.page_size());
        back.keeper = Some(Box::new(keeper));
        self.front = Front::new(&self.settings, &back).map_err(|error| refuse(error.into()))?;
        self.back = back;
        self.back.choose_operations(false);
        self.expected = Cell::new(None);
        self.update_next();
        Ok(room)
    }

    fn retain(&mut self, start: Lba, length: Bytes, retention: Retention) {
        let first = self.back.page_of(start.byte_offset());
        let end = self.back.page_of(start.byte_offset() + length.0);
        (first..end).for_each(|page| self.back.retain(LogicalPage(page as u32), retention));
    }

    #[inline]
    fn take_dropped(&mut self) -> Option<(Lba, Bytes)> {
        let page = self.back.keeper.as_mut()?.take_dropped()?;
        let size = self.back.geometry.page_size();
        Some((Lba::containing(u64::from(page.0) * size.0), size))
    }

    #[inline]
    fn take_room(&mut self) -> Option<OwnedRoom> {
        self.back.keeper.as_mut()?.take_room(self.back.geometry.page_size())
    }
}

/// Refuses drive settings that have no use in a cache that has no front, or whose pages come and go.
pub(super) fn check(flash: &SsdSettings) -> Result<(), HostManagedCacheError> {
    if flash.pool != PoolScope::Device {
        let message = "`pool` has to be \"device\": which pages a cache holds is up to its reads, and one pool of several \
                       could be asked to hold them all";
        return Err(HostManagedCacheError::Unfit { key: "pool", message });
    }
    if !esker_ftl::entry(&flash.ftl).map_err(SsdError::from)?.can(LayerCapability::Suspects) {
        let message = "`ftl` has to be a layer that can keep pages which count as invalid, such as \"page\"";
        return Err(HostManagedCacheError::Unfit { key: "ftl", message });
    }
    let unfit: [(_, bool, &'static str); 7] = [
        ("link", flash.link.is_some(), "`link` has to be left out: flash that a cache owns has none"),
        ("controller", flash.controller.is_some(), "`controller` has to be left out: flash that a cache owns has none"),
        (
            "write_buffer",
            flash.write_buffer.is_some(),
            "`write_buffer` has to be left out: flash that a cache owns has none",
        ),
        (
            "power_failure",
            flash.power_failure.is_some(),
            "`power_failure` has to be left out: after a loss of power, flash that a cache owns would not know which \
             pages were suspected",
        ),
        ("ecc", flash.ecc.is_some(), "`ecc` has to be left out: flash that a cache owns is read without errors"),
        (
            "write_modes",
            flash.write_modes.is_some(),
            "`write_modes` has to be left out: flash that a cache owns is written in one mode",
        ),
        (
            "cleaning.background",
            flash.cleaning.background.is_some(),
            "`cleaning.background` has to be left out: flash that a cache owns is cleaned when it is written to",
        ),
    ];
    if let Some(&(key, _, message)) = unfit.iter().find(|(_, given, _)| *given) {
        return Err(HostManagedCacheError::Unfit { key, message });
    }
    if flash.geometry.page_size.0 == 0 {
        return Err(SsdError::from(ValueError::Zero { key: "geometry.page_size" }).into());
    }
    Ok(())
}
