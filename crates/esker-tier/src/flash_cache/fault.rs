//! Faults that tests introduce into a cache, to prove that the properties find them.

/// A fault of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A slot is used again before the record that its line has left is durable.
    HurriesSlots,
    /// A flush is answered before its records are durable.
    AnswersEarly,
    /// A line stays in the cache although a write to it goes around.
    KeepsStale,
    /// A dirty line leaves before its data are durable on the backing device.
    ForgetsDirty,
    /// A recorded clean line is changed before the record of the change is durable.
    ChangesUnannounced,
    /// A clean line is recorded although the backing device may still lose its data.
    TrustsBacking,
    /// A clean line is recorded although its data have changed since the flush.
    OverlooksChanges,
    /// The admission policy is asked also about cached lines: a refused write goes around, and the old copy stays.
    RefusesHeld,
    /// A slot is reused while its trim is under way.
    HurriesTrims,
    /// The former slot of a changed line is reused before the record of its new slot is durable.
    HurriesOutdated,
    /// The former slot of a changed line is reused although a flush is to make its data durable.
    ForgetsPromises,
    /// Owned flash may drop the data of a line in use.
    DropsInUse,
    /// Owned flash may drop the data of a line that the journal names as dirty.
    DropsRecordedDirty,
    /// The cache still serves data that owned flash has dropped.
    KeepsDropped,
    /// A line is changed on the backing device before the record that it has left is durable.
    ForgetsLeaving,
    /// A cache admits as many lines as ever, although its flash has room for fewer.
    KeepsTaking,
    /// Dirty lines that leave worn flash are not copied back.
    ShrinksCarelessly,
    /// A change of a dirty line that the flash refused counts as done.
    TrustsRefused,
    /// What the flash returned after it had failed is copied to the backing device, or returned to the host.
    TrustsFailedFlash,
    /// A checkpoint leaves out lines that the journal names in a former slot.
    ForgetsFormer,
}
