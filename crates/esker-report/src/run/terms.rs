//! The glossary of the page of a run.

use crate::glossary::{Term, term};

/// All terms.
pub(super) static TERMS: &[Term] = &[
    term("requests", "requests", "Requests of the host to the simulated device, after the warm-up if there is one."),
    term(
        "rate",
        "requests per second",
        "From the first arrival to the last completion; requests that failed excluded.",
    ),
    term(
        "bytes_rate",
        "bytes per second",
        "Bytes read and written by the host, from the first arrival to the last completion.",
    ),
    term(
        "response_time",
        "response time",
        "From the arrival of a request until its end. Of a child: from sending the request to it until its end.",
    ),
    term(
        "percentile",
        "p50, p95, p99, p99.9",
        "50, 95, 99 or 99.9 of 100 requests took at most this long. Percentiles are right within 0.1 %, mean and \
         maximum are exact.",
    ),
    term("device_kind", "kind", "What the device is modelled as."),
    term("capacity", "capacity", "Bytes that the host can address."),
    term("busy", "busy", "Busy share of each kind of resource, mean over all of the kind."),
    term("disk_seek", "seek", "Moving the arm to the cylinder, changing heads and settling."),
    term("disk_rotation", "rotation", "Waiting until the first sector comes under the head."),
    term("disk_transfer", "transfer", "The sectors pass under the head, switches between tracks included."),
    term(
        "disk_buffer",
        "buffer and link",
        "From the end of the arm's work to the end of the request: data on the link. Of a read that the buffer \
         answered, all but the wait.",
    ),
    term("disk_wait", "wait", "In the controller and in the queue, before the arm turns to the request."),
    term("child", "child", "A device that a composite device (a hybrid or an array) is made of."),
    term(
        "share",
        "share of requests",
        "The child's part of the host's requests. Copies between children and shared flushes are not counted.",
    ),
    term(
        "target_share",
        "target",
        "The share that the policy wants the child to have: of the requests (wardrop, throughput) or of the extents \
         (static-split). Other policies have none. In charts it is dashed.",
    ),
    term("sent", "requests sent", "Requests of every kind that the child was sent, copies included."),
    term("extent", "extent", "The piece of the address space that is placed, and moved, as a whole."),
    term("held", "held", "Extents of the host that lie on the child, whether they were written yet or not."),
    term("policy", "policy", "Decides which child gets a new extent, and which extents move."),
    term("moved", "moved", "Extents that were copied to another child while the host went on."),
    term("copied", "copied", "Bytes that copies have read, those that were given up included."),
    term(
        "redirected",
        "redirected writes",
        "Writes of the host that replaced all that an extent held and went to another child, so that nothing had to \
         be copied.",
    ),
    term(
        "abandoned",
        "moves given up",
        "Copies that were begun and then given up: the host kept writing there, or a \
         device failed.",
    ),
    term(
        "displaced",
        "displaced",
        "New extents that went to another child than the policy chose, because that one was full, drained, or took no \
         writes.",
    ),
    term(
        "without-room",
        "moves without room",
        "How often the policy wanted an extent on another child that had no free extent, so that it stayed where it \
         was.",
    ),
    term(
        "tokens",
        "tokens",
        "Each lets one extent go to a child where the policy wants more of them. Those not spent by the end of their \
         period lapse. Other policies limit moves without tokens.",
    ),
    term("freed", "freed", "Extents that the host trimmed, whose places were freed."),
    term("range", "range", "One of at most 256 equal parts of the address space; a column of the map."),
    term("heat", "heat", "Requests of the host per second that begin in a range."),
    term(
        "left_to_cleaning",
        "left to cleaning",
        "Share of the flash that lines do not take. The more it is, the less the drive copies when it cleans, and the \
         more accesses miss.",
    ),
    term("window", "window", "So many bytes of the host's writes, after which a cache chooses its size anew."),
    term("expected_misses", "expected misses", "Share of accesses that miss with that size, by the window's curve."),
    term("valid_share", "valid", "Share of a block that is still valid when it is cleaned, and has to be copied."),
    term(
        "expected_latency",
        "expected latency",
        "Mean time of an access to a line, from the misses and from what cleaning costs.",
    ),
    term("expected_erases", "erases a day", "Blocks of the flash that would be erased in a day."),
    term("budget", "budget", "Whether any size was expected to keep the lifetime that was asked for."),
    term("training", "training", "The cache was run with several sizes next, to see what cleaning costs with each."),
    term("slice", "slice", "Consecutive objects that move between servers as a whole; each copy of it counts."),
    term("server_erases", "erases", "Blocks that a server's flash has erased: by its own count, or by the wear model."),
    term("server_written", "written", "Bytes that requests of the host have had written to a server."),
    term("server_copied", "copied to it", "Bytes that were copied to a server because slices moved there."),
    term("drained", "empty at", "When all data had moved away from a child that was drained."),
];
