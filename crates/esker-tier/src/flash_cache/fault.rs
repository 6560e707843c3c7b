//! Faults of caches, which the properties have to find.

/// Ways in which a cache can be made faulty, so that the properties have to find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A slot is used again before the record that its line has left is durable.
    HurriesSlots,
    /// A flush is answered before its records are durable.
    AnswersEarly,
    /// A line stays when a write goes around.
    KeepsStale,
    /// A dirty line leaves before its data are durable on the backing device.
    ForgetsDirty,
    /// A recorded clean line is changed before the record of that is durable.
    ChangesUnannounced,
    /// A clean line is recorded although the backing device may still lose its data.
    TrustsBacking,
    /// A clean line is recorded as it was before its last change.
    OverlooksChanges,
    /// A write to a line that is held is refused, too: it goes around, and the old copy stays.
    RefusesHeld,
    /// A slot is used again although its trim is under way.
    HurriesTrims,
    /// The slot of a changed line is used again before the record of its new slot is durable.
    HurriesOutdated,
    /// The slot of a changed line is used again although a flush is for what it holds.
    ForgetsPromises,
    /// Owned flash may drop the data of a line in use.
    DropsInUse,
    /// Owned flash may drop the data of a line that the journal names as dirty.
    DropsRecordedDirty,
    /// What owned flash has dropped is still held.
    KeepsDropped,
    /// A line is changed on the backing device before the record that it has left is durable.
    ForgetsLeaving,
    /// A cache takes as many lines as before, although its flash has room for fewer.
    KeepsTaking,
    /// Dirty lines that leave worn flash are not copied back.
    ShrinksCarelessly,
    /// A change of a dirty line that the flash refused counts as made.
    TrustsRefused,
}
