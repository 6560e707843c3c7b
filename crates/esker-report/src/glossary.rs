//! The glossary of the report: shown when a word is hovered, focused or tapped, and as a list at the end.

/// One entry of the glossary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    /// Key in templates and links.
    pub(crate) key: &'static str,
    /// The word as the list shows it.
    pub(crate) word: &'static str,
    /// The meaning, in a sentence or two.
    pub(crate) meaning: &'static str,
}

/// An entry, for the lists of terms.
pub(crate) const fn term(key: &'static str, word: &'static str, meaning: &'static str) -> Term {
    Term { key, word, meaning }
}

/// `terms` in the order of the list at the end.
pub(crate) fn sorted(terms: &[Term]) -> Vec<Term> {
    let mut sorted = terms.to_vec();
    sorted.sort_by_key(|term| term.word.to_lowercase());
    sorted
}

/// All terms.
pub(crate) static TERMS: &[Term] = &[
    term(
        "basis",
        "basis of the lifetime",
        "How it was found that write amplification had settled, or why lifetime cannot be judged.",
    ),
    term(
        "burstiness",
        "burstiness",
        "Squared coefficient of variation of the times between arrivals: variance over squared mean. 1 for random \
         (Poisson) arrivals, 0 for regular ones, far above 1 for bursts.",
    ),
    term(
        "busy_p99",
        "p99, worst time",
        "99 of 100 requests took at most this long in the busiest time by requests (a minute with a thousand, else the \
         shortest stretch that has them), in the busiest time by bytes, in the busiest hour, and over the whole trace: \
         the largest of these percentiles, which the response-time budget is judged by.",
    ),
    term(
        "price",
        "price",
        "Purchase, power and cooling over the budgeted years; of what is rented, the rent over the same years.",
    ),
    term(
        "headroom",
        "headroom",
        "The largest load that keeps the budgets on response times and resources, as a multiple of the trace's, among \
         the loads tried.",
    ),
    term(
        "evidence",
        "evidence",
        "How far the answer goes. Low: a first idea; medium: good for a decision that can be taken back; high: good \
         for a purchase. A short trace and assumed figures lower it.",
    ),
    term(
        "market",
        "market",
        "Where a design is bought or rented. Markets are never ranked against each other: what the price of one \
         includes, such as copies of the data, that of another may not.",
    ),
    term(
        "beaten",
        "beaten",
        "Another design of the same market is no dearer and no slower, and better in one of the two.",
    ),
    term(
        "ruled_out",
        "ruled out",
        "Not simulated, because it follows from known figures that it cannot be the answer.",
    ),
    term(
        "grown_p99",
        "p99 of the grown load",
        "99 of 100 requests of the busiest hour take at most this long when requests come as many times as fast as the \
         stated growth makes them by the end of the budgeted years.",
    ),
    term(
        "translation_layer",
        "translation layer",
        "The part of the drive's firmware that decides where in the flash each page of the host lies.",
    ),
    term(
        "map_memory",
        "map memory",
        "Controller memory that the translation layer's tables take in the drive as sold, at 4 bytes an entry.",
    ),
    term(
        "map_hits",
        "map hits",
        "Share of look-ups in the map that found their entry in memory; the others read the map from flash first.",
    ),
    term(
        "own_work",
        "own flash work",
        "What the request itself needs: reading and writing its flash pages, with their way over the bus.",
    ),
    term("bus_wait", "wait for the bus", "The flash die was ready, but its bus carried data of another die."),
    term(
        "behind_requests",
        "behind other requests",
        "The flash die that the request needed worked for requests before it.",
    ),
    term(
        "behind_cleaning",
        "behind cleaning",
        "The flash die that the request needed was copying pages or erasing a block, to make space for later writes.",
    ),
    term(
        "map_access",
        "map on flash",
        "The drive's map was read from flash or written there, since its memory holds only a part of it.",
    ),
    term(
        "upkeep",
        "behind upkeep",
        "The flash die that the request needed was levelling wear or renewing data with many bit errors, or the drive \
         was looking for its data after a power failure.",
    ),
    term(
        "drive_queue",
        "drive's queue full",
        "The host held the request back, since the drive had taken as many as it can.",
    ),
    term(
        "other_time",
        "link, buffer, rest",
        "Time on the link to the host, in the write buffer, in the decoder of read data, or waiting for work on \
         another flash die than the one that ended last.",
    ),
    term(
        "dwpd_sold",
        "warranted drive writes",
        "Bytes that the maker warrants to be written per day over the warranty's years, in capacities of the drive.",
    ),
    term("erases", "erases", "Blocks erased in the simulated run."),
    term(
        "full_merges",
        "full merges",
        "Merges that copied the valid pages of whole data blocks and their updates to new blocks.",
    ),
    term("busiest_minute", "busiest minute", "The minute with the most requests."),
    term(
        "busiest_one",
        "busiest single one",
        "Busy share of the busiest single resource of its kind. Far above the mean, the load is spread unevenly.",
    ),
    term("busiest_second", "busiest second", "The second with the most requests, and the one with the most bytes."),
    term("count", "count", "Requests that completed without error."),
    term("data_moved", "read and written", "Bytes that the requests moved, counted as often as they were moved."),
    term("duration", "duration", "From the first arrival to the last."),
    term("host_writes", "host writes a day", "Bytes that the host writes per day, at the mean rate of the trace."),
    term(
        "idle",
        "idle",
        "Share of the time that lies in long gaps between arrivals: time for cleaning and other work behind the \
         scenes.",
    ),
    term("kind", "reads and writes", "Reads wait for data; writes often do not, but wear the flash."),
    term("mean_rate", "mean load", "Requests, and bytes read and written, over the duration."),
    term("page_programs", "flash page programs", "Flash pages written for any cause: the host, cleaning, the map."),
    term(
        "page_reads",
        "flash page reads",
        "Flash pages read for the host, including those read to complete a page that is written in part.",
    ),
    term("peak", "busiest interval", "Busy share in the busiest interval of the run."),
    term("peak_at", "begin of the busiest interval", "When that interval begins, counted from the start of the trace."),
    term(
        "rated",
        "rated erases",
        "How often a flash block may be erased before it is worn out, as its maker states it.",
    ),
    term("reads", "reads", "Share of the requests that are reads."),
    term("request_size", "request size", "Bytes per read or write."),
    term("requests", "requests", "Reads, writes, trims and flushes of the trace."),
    term(
        "resource",
        "resource",
        "What a request occupies while it is served: a bus, a flash die, a disk's arm, a link.",
    ),
    term(
        "skew",
        "skew",
        "How unevenly accesses are spread over the pages that are touched at all. A request counts once for each page \
         it touches.",
    ),
    term("volume", "volume", "A disk of the traced system, with addresses of its own."),
    term("workload", "workload", "The requests of one trace, or of all traces together."),
    term(
        "written_data",
        "written part",
        "Share of the footprint that is ever written, and how often each such page is written on average.",
    ),
    term(
        "active",
        "active data",
        "Everything that the trace touches, in whole records. Each design holds it, densely packed.",
    ),
    term(
        "aligned",
        "aligned",
        "A request is aligned when it begins and ends on a 4 KiB boundary; others straddle pages of the device, which \
         costs extra work.",
    ),
    term(
        "budgets",
        "budgets",
        "The limits that a design has to keep: response time in the busiest hour, years of life, number of devices.",
    ),
    term(
        "busiest_hour",
        "busiest hour",
        "The hour of the trace with the most requests. Whoever survives it survives the rest.",
    ),
    term(
        "capacity",
        "host capacity",
        "Bytes that the host can address, of drives as they are sold. Of flash, only as much is simulated as the \
         touched data needs.",
    ),
    term(
        "cleaning",
        "cleaning",
        "The drive copies what is still valid out of a flash block, so that the block can be erased (garbage \
         collection).",
    ),
    term("design", "design", "A storage device, or an array of them, that the workload was simulated on."),
    term("devices", "devices", "Physical drives that a design takes."),
    term(
        "device_time",
        "device time",
        "From the begin of service to completion: the response time without the wait before it.",
    ),
    term("dwpd", "drive writes per day", "Bytes that the host writes per day, in capacities of the drive."),
    term(
        "family",
        "kind of design",
        "How devices are used together: flash or disks alone, a tier (hot data move to flash, others to disks), or a \
         cache (flash holds copies of what is used).",
    ),
    term("footprint", "footprint", "Distinct 4 KiB pages that were touched, times 4 KiB."),
    term(
        "knee",
        "knee",
        "The smallest cache that gets nine tenths of all hits that a cache of any size could get. Beyond it, memory \
         buys little.",
    ),
    term(
        "lifetime",
        "lifetime",
        "Years until the mean flash block has been erased as often as it is rated for, growth of the load included.",
    ),
    term(
        "mean_power",
        "mean power",
        "Watts of all devices, by the share of the time in which their busiest part works; without what cooling adds.",
    ),
    term("max", "max", "The longest response time of all requests."),
    term(
        "measured",
        "today, as measured",
        "Response times that the trace itself recorded, on the system that it was taken from.",
    ),
    term("miss_ratio", "miss ratio", "Share of page accesses that a cache cannot answer and has to pass on."),
    term("open", "open replay", "Requests arrive at the times of the trace, however slowly the design answers."),
    term(
        "closed",
        "closed replay",
        "A fixed number of requests is always under way; the next one is sent when one ends. For traces without \
         usable times.",
    ),
    term("p50", "p50", "The median response time: half of the requests took at most this long."),
    term(
        "p99",
        "p99",
        "The 99th percentile of the response time: 99 of 100 requests took at most this long. Of a design whose \
         times depend on what it has served before, such as a cache, the last quarter of the trace counts, for all \
         times of its row.",
    ),
    term("p999", "p99.9", "The 99.9th percentile of the response time: 999 of 1,000 requests took at most this long."),
    term(
        "promoted",
        "promoted",
        "Bytes a day that the design itself writes to its flash, beside the host's: extents that move there, or lines \
         that fill a cache.",
    ),
    term(
        "promotion_cost",
        "cost of promotions in life",
        "How much longer the flash would last if nothing were promoted, of the life that it would have then; the share \
         of all writes to flash that are promoted; and the share of its rated erases that they use up in a day.",
    ),
    term("queue_time", "queue time", "From arrival to the begin of service: how long a request waited for others."),
    term("response_time", "response time", "From a request's arrival to its completion: wait plus service."),
    term(
        "saturated",
        "saturated",
        "Requests arrived faster than the design could serve them, so that waiting grew without end; the simulation \
         was stopped, since times of a growing backlog mean nothing.",
    ),
    term(
        "sequential",
        "sequential",
        "A request is sequential when it begins where the one before it on the same volume ended.",
    ),
    term(
        "utilisation",
        "busy share",
        "Share of the time in which a resource (bus, flash die, disk arm, link) was working.",
    ),
    term("working_set", "working set", "Distinct data that is touched within an interval."),
    term(
        "write_amplification",
        "write amplification",
        "Flash pages programmed per page that the host wrote: cleaning copies data, which wears the flash and takes \
         its time.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unique_and_meanings_are_sentences() {
        let mut keys: Vec<_> = TERMS.iter().map(|term| term.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), TERMS.len());
        assert!(TERMS.iter().all(|term| term.meaning.ends_with('.')));
    }
}
