//! A read cache that owns its flash: policy and translation layer share one map (Xia 2017, section 2.3.5, the second
//! way). The map leads from pages of the cached volume straight to flash pages. Pages that the policy evicts stay
//! readable until their block is erased.

use esker_cache::{
    Access, AccessKind, Admission, FlashPolicy, FlashShape, Found, Left, NEVER, ObjectId, Shape, build_admission,
    build_flash_policy,
};
use esker_core::{Bytes, LogicalPage, Nanos, StreamId};
use esker_ftl::{FtlCounters, PageOwner, Space};
use esker_nand::array::{Ended, Waiter};
use esker_nand::state::OperationCounts;
use esker_results::{Counters, HostManagedCacheReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::back::{Back, pages_left};
use super::own::check;
use crate::{Choice, HostManagedCacheError, SsdSettings};

/// What cleaning does with the valid pages of a victim. All of them have a copy on the backing device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheCleaning {
    /// They are copied, as in a drive.
    #[default]
    Migrate,
    /// They are dropped from the cache, so that cleaning copies nothing (Xia 2017, chapter 3).
    ZeroMigration,
    /// Pages in the head half of their queue are copied, the others dropped (Xia 2017, section 3.3).
    Conditional,
}

impl CacheCleaning {
    /// Returns how many streams a cache with this cleaning can tell apart: pages that are filled in; copied pages in
    /// the head half of their queue; and other copied pages.
    pub const fn purposes(self) -> u32 {
        match self {
            Self::Migrate => 3,
            Self::Conditional => 2,
            Self::ZeroMigration => 1,
        }
    }
}

/// The stream of pages that are filled in.
const FILLED: StreamId = StreamId(0);
/// The stream of copied pages in the head half of their queue.
const HOT: StreamId = StreamId(1);
/// The stream of other copied pages.
const COLD: StreamId = StreamId(2);

/// A read cache, page by page, on flash of its own. If the settings of the flash have `streams`, the cache writes each
/// kind of page to a stream of its own ([`CacheCleaning::purposes`]).
///
/// The cache holds no data and knows no backing device: its user fetches the pages that miss and fills them in.
#[derive(Debug)]
pub struct HostManagedCache {
    back: Back,
    contents: Contents,
    admission: Box<dyn Admission>,
    counts: CacheCounts,
    before: (CacheCounts, OperationCounts, FtlCounters),
}

/// Counts of pages since the cache was made.
#[derive(Clone, Copy, Debug, Default)]
struct CacheCounts {
    hits: u64,
    revived: u64,
    misses: u64,
    invalidated: u64,
    refused: u64,
    not_admitted: u64,
}

impl Counters for CacheCounts {
    fn each_with(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        Self {
            hits: of(self.hits, other.hits),
            revived: of(self.revived, other.revived),
            misses: of(self.misses, other.misses),
            invalidated: of(self.invalidated, other.invalidated),
            refused: of(self.refused, other.refused),
            not_admitted: of(self.not_admitted, other.not_admitted),
        }
    }
}

/// The policy, and the room that it has. Cleaning asks it about pages.
#[derive(Debug)]
struct Contents {
    policy: Box<dyn FlashPolicy>,
    cleaning: CacheCleaning,
    /// C_total, in pages, how it is divided, and the number of blocks that have gone out of use.
    flash_pages: u32,
    space: Space,
    retired: u32,
    /// C_user and N_SQ, in pages, for the blocks that are still in use.
    capacity: u32,
    suspects_max: u32,
    /// Whether the last page found no room. If so, nothing is copied.
    is_short: bool,
    /// Pages that the policy gave up, and that the layer has not been told of yet.
    left: Vec<Left>,
}

impl Contents {
    /// Limits the policy to `capacity` pages and `suspects_max` suspects from now on.
    fn hold(&mut self, capacity: u32, suspects_max: u32) {
        (self.capacity, self.suspects_max) = (capacity, suspects_max);
        self.policy.shrink(capacity, suspects_max, &mut self.left);
    }
}

impl PageOwner for Contents {
    fn keep(&mut self, page: LogicalPage) -> bool {
        let keep = match self.cleaning {
            _ if self.is_short => false,
            // Pages that had to leave for lack of room are not needed, though the layer does not know this yet.
            CacheCleaning::Migrate => self.policy.holds(ObjectId(page.0)),
            CacheCleaning::ZeroMigration => false,
            CacheCleaning::Conditional => self.policy.is_hot(ObjectId(page.0)),
        };
        if !keep {
            self.policy.remove(ObjectId(page.0));
        }
        keep
    }

    fn stream(&mut self, page: LogicalPage) -> Option<StreamId> {
        Some(if self.policy.is_hot(ObjectId(page.0)) { HOT } else { COLD })
    }

    fn retired(&mut self) {
        self.retired += 1;
        let (capacity, suspects_max) = pages_left(&self.space, self.flash_pages, self.retired);
        // Room that was given up does not come back.
        self.hold(capacity.min(self.capacity), suspects_max.min(self.suspects_max));
    }

    fn erased(&mut self, page: LogicalPage) {
        self.policy.erased(ObjectId(page.0));
    }
}

impl HostManagedCache {
    /// Creates an empty cache for a volume of `volume` bytes on flash with the settings `flash`. C_user is the capacity
    /// that a drive with these settings would offer its host. `admission` decides about pages that miss.
    pub fn new(
        flash: &SsdSettings,
        policy: &Choice,
        admission: &Choice,
        cleaning: CacheCleaning,
        volume: Bytes,
        seed: u64,
    ) -> Result<Self, HostManagedCacheError> {
        check(flash)?;
        let page_size = flash.geometry.page_size.0;
        let pages = u32::try_from(volume.0.div_ceil(page_size.max(1)))
            .map_err(|_| HostManagedCacheError::VolumeTooLarge { volume, page_size: flash.geometry.page_size })?;
        let back = Back::addressing(flash, pages, seed)?;
        let (space, flash_pages) = (back.space, back.geometry.pages());
        let (capacity, suspects_max) = pages_left(&space, flash_pages, 0);
        let objects = space.logical_pages;
        let policy = build_flash_policy(policy, &FlashShape { capacity, suspects: suspects_max, objects })?;
        let shape = Shape { capacity, objects, seed };
        let admission = build_admission(admission, &shape).map_err(HostManagedCacheError::Admission)?;
        let (retired, is_short, left) = (0, false, Vec::new());
        Ok(Self {
            back,
            contents: Contents {
                policy,
                cleaning,
                flash_pages,
                space,
                retired,
                capacity,
                suspects_max,
                is_short,
                left,
            },
            admission,
            counts: CacheCounts::default(),
            before: Default::default(),
        })
    }

    /// Returns the size of a page.
    pub fn page_size(&self) -> Bytes {
        self.back.geometry.page_size()
    }

    /// Looks `page` up for a read at `now`. If it misses and is admitted, makes room for it: the policy then holds it,
    /// but its data are only there once it was [filled](Self::fill). A page that is not admitted is a miss that nothing
    /// fills in.
    pub fn access(&mut self, now: Nanos, page: LogicalPage) -> Found {
        if self.contents.capacity == 0 {
            self.counts.misses += 1;
            return Found::Miss;
        }
        if !self.admits(now, page) {
            self.counts.misses += 1;
            self.counts.not_admitted += 1;
            return Found::Miss;
        }
        let Contents { policy, left, .. } = &mut self.contents;
        let mut found = policy.access(ObjectId(page.0), left);
        self.let_go();
        let back = &mut self.back;
        if found == Found::Revived && !back.revive(page) {
            debug_assert!(false, "{page:?} is suspected by the policy alone");
            found = Found::Miss;
        }
        match found {
            Found::Hit => self.counts.hits += 1,
            Found::Revived => self.counts.revived += 1,
            Found::Miss => self.counts.misses += 1,
        }
        found
    }

    /// Tells the layer which pages the policy has given up.
    fn let_go(&mut self) {
        let Self { back, contents: Contents { policy, left, .. }, .. } = self;
        for left in left.drain(..) {
            match left {
                Left::Suspected(object) => {
                    // The page may have been evicted before its data arrived, or dropped by cleaning.
                    if !back.suspect(LogicalPage(object.0)) {
                        policy.erased(object);
                    }
                }
                Left::Gone(object) => back.forget(Nanos::ZERO, LogicalPage(object.0)),
            }
        }
    }

    /// Tells the admission policy of a read of `page`. Returns false if the page misses and is refused. The admission
    /// policy is not asked about pages that can be revived, since that writes nothing.
    fn admits(&mut self, now: Nanos, page: LogicalPage) -> bool {
        let (policy, object) = (&self.contents.policy, ObjectId(page.0));
        let bytes = self.back.geometry.page_size().0 as u32;
        let access = Access { object, bytes, kind: AccessKind::Read, next_use: NEVER };
        if policy.holds(object) || policy.is_suspected(object) {
            self.admission.hit(now, &access);
            return true;
        }
        self.admission.admits(now, &access)
    }

    /// Returns true if the data of `page` are in the flash.
    pub fn has_data(&self, page: LogicalPage) -> bool {
        self.back.has_data(page)
    }

    /// Reads `page`, which has data. Returns the number of operations that `waiter` waits for.
    pub fn read(&mut self, now: Nanos, waiter: Waiter, page: LogicalPage) -> u32 {
        self.back.read_page(now, waiter, page).awaited
    }

    /// Writes the data of `page`, which were fetched, unless the page has left the cache meanwhile. Returns the number
    /// of operations that `waiter` waits for.
    pub fn fill(&mut self, now: Nanos, waiter: Waiter, page: LogicalPage) -> u32 {
        self.fill_at(Some((now, waiter)), page)
    }

    /// Like [`Self::fill`], but takes no time. For studies of hits and of wear.
    pub fn fill_untimed(&mut self, page: LogicalPage) {
        self.fill_at(None, page);
    }

    fn fill_at(&mut self, at: Option<(Nanos, Waiter)>, page: LogicalPage) -> u32 {
        if !self.contents.policy.holds(ObjectId(page.0)) || self.back.has_data(page) {
            return 0;
        }
        self.back.begin_stream(FILLED);
        let (issued, written) = self.back.write_page(at, page, &mut self.contents);
        if written.is_err() {
            self.counts.refused += 1;
            self.contents.policy.remove(ObjectId(page.0));
            if self.contents.is_short {
                self.contents.hold(0, 0);
            }
        }
        // On worn flash, cleaning may find no room for copies. Until a write succeeds again, it drops the pages of its
        // victims.
        self.contents.is_short = written.is_err() && self.contents.retired > 0;
        // Blocks may have gone out of use.
        self.let_go();
        issued.awaited
    }

    /// Forgets `page`, since the volume now has other data for it.
    pub fn invalidate(&mut self, page: LogicalPage) {
        self.counts.invalidated += u64::from(self.contents.policy.holds(ObjectId(page.0)));
        self.contents.policy.remove(ObjectId(page.0));
        self.back.forget(Nanos::ZERO, page);
    }

    /// Returns a time before which no awaited operation ends.
    pub fn next_event(&self) -> Nanos {
        self.back.array.borrow().next_event()
    }

    /// Processes everything due at `now`, which is [`Self::next_event`], and appends the operations that ended.
    pub fn advance(&mut self, now: Nanos, ended: &mut Vec<Ended>) {
        self.back.array.get_mut().advance(now, ended);
    }

    /// Starts the counts anew.
    pub fn start_measuring(&mut self, now: Nanos) {
        let array = self.back.array.get_mut();
        array.settle(now);
        array.reset_busy();
        self.before = (self.counts, *self.back.flash.counts(), self.back.layer_counters());
    }

    /// Returns the mean share of `measured` that dies and buses were busy up to `now`.
    pub fn utilisation(&self, now: Nanos, measured: Nanos) -> [(&'static str, f64); 2] {
        let mut array = self.back.array.borrow_mut();
        array.settle(now);
        let share = |busy: Vec<Nanos>| {
            let sum: u64 = busy.iter().map(|busy| busy.0).sum();
            sum as f64 / (measured.0.max(1) as f64 * busy.len() as f64)
        };
        [("bus", share(array.bus_busy())), ("die", share(array.die_busy()))]
    }

    /// Returns the erases since the flash was new.
    pub fn erases(&self) -> u64 {
        self.back.flash.counts().erases
    }

    /// Returns the counts since [`Self::start_measuring`].
    pub fn report(&self) -> HostManagedCacheReport {
        let (before, operations, layer) = &self.before;
        let CacheCounts { hits, revived, misses, invalidated, refused, not_admitted } = self.counts.since(before);
        let operations = self.back.flash.counts().since(operations);
        let FtlCounters {
            dropped_pages,
            erased_suspects,
            // The cache counts revived pages itself.
            revived_pages: _,
            // Counts of layers that merge, or have their map on flash: a cache is on none of them.
            merges: _,
            full_merge_data_blocks: _,
            dead_log_blocks: _,
            mapping: _,
        } = self.back.layer_counters().since(layer);
        let (policy, programs) = (&self.contents.policy, operations.programs());
        HostManagedCacheReport {
            hits,
            revived,
            misses,
            hit_ratio: (hits + revived) as f64 / (hits + revived + misses).max(1) as f64,
            filled_pages: programs.host,
            refused_pages: refused,
            not_admitted_pages: not_admitted,
            invalidated_pages: invalidated,
            erases: operations.erases,
            copied_pages: programs.cleaning,
            dropped_pages,
            erased_suspects,
            write_amplification: (programs.host > 0).then(|| programs.total() as f64 / programs.host as f64),
            flash_pages: u64::from(self.back.geometry.pages()),
            user_pages: u64::from(self.contents.capacity),
            retired_blocks: u64::from(self.contents.retired),
            suspects_max: u64::from(self.contents.suspects_max),
            held_pages: u64::from(policy.held()),
            suspected_pages: u64::from(policy.suspected()),
            map_bytes: self.back.ftl.map_bytes(),
        }
    }

    /// Asserts the invariants that hold at any time. Slow.
    pub fn check(&self) {
        self.back.check();
    }
}
