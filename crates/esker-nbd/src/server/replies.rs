//! Replies to requests.

use super::CONTEXT_ID;
use crate::outbox::{Outbox, Slices};
use crate::protocol::numbers::{CHUNK_MAGIC, SIMPLE_REPLY_MAGIC, chunk};
use crate::protocol::{Command, ErrorNumber, Extent, Offer, Refusal};

/// The most runs of a reply.
pub(crate) const RUNS_MAX: usize = 64;

/// The most extents of a reply; more are left out, and the client asks again.
pub(crate) const EXTENTS_MAX: usize = 1024;

/// A request that the embedder has not answered yet.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    pub(crate) cookie: u64,
    pub(crate) command: Command,
}

/// What became of a request.
#[derive(Clone, Copy, Debug)]
pub enum Outcome<'a> {
    /// It was done. The data of a read are all of its bytes.
    Done,
    /// A read, some of whose bytes are holes. The runs are all of its bytes in their order, at most 64 of them; the
    /// data are those of the runs that are no holes.
    Runs(&'a [Run]),
    /// The answer to [`Command::BlockStatus`]: consecutive extents from its first byte on. The last one may end beyond
    /// what was asked. They may also cover less, and no more than 1,024 of them are sent.
    Extents(&'a [Extent]),
    /// It failed.
    Failed(ErrorNumber),
    /// It failed at this byte of the export, which lies in its range.
    FailedAt(ErrorNumber, u64),
}

/// Consecutive bytes of a read; there is at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// So many bytes of the data.
    Data(u32),
    /// So many zeroes.
    Hole(u32),
}

impl Run {
    fn length(self) -> u32 {
        match self {
            Self::Data(length) | Self::Hole(length) => length,
        }
    }
}

/// Answers a request that the session refuses by itself.
pub(crate) fn refuse<D: Slices>(outbox: &mut Outbox<D>, offered: &Offer, cookie: u64, refusal: Refusal) {
    write_error(outbox, offered, cookie, refusal, None);
    outbox.finish(0, 0, None, Some(0));
}

/// Writes the reply to a request. The mark of its last message is the number of bytes that the request transfers.
pub(crate) fn write_reply<D: Slices>(
    outbox: &mut Outbox<D>,
    offered: &Offer,
    request: &PendingRequest,
    outcome: Outcome<'_>,
    data: Option<D>,
) {
    let &PendingRequest { cookie, command } = request;
    let mark = Some(command.payload());
    let available: usize = data.iter().flat_map(Slices::slices).map(<[u8]>::len).sum();
    match (outcome, command) {
        (Outcome::Done, Command::Read { length, .. }) => {
            assert_eq!(available, length as usize, "the bytes of a read and those that were asked for");
            reply_to_read(outbox, offered, request, &[Run::Data(length)], data);
        }
        (Outcome::Runs(runs), Command::Read { length, .. }) => {
            check_runs(runs, length, available);
            reply_to_read(outbox, offered, request, runs, data);
        }
        (Outcome::Extents(extents), Command::BlockStatus { length, one_extent, .. }) => {
            write_extents(outbox, cookie, extents, length, one_extent);
            outbox.finish(0, 0, None, mark);
        }
        (Outcome::Failed(error), _) => {
            write_error(outbox, offered, cookie, (error, ""), None);
            outbox.finish(0, 0, None, mark);
        }
        (Outcome::FailedAt(error, at), _) => {
            let (offset, length) = command.range();
            assert!(at >= offset && at - offset < u64::from(length), "an error outside of its request");
            write_error(outbox, offered, cookie, (error, ""), Some(at));
            outbox.finish(0, 0, None, mark);
        }
        (Outcome::Done, command) if !matches!(command, Command::BlockStatus { .. }) => {
            write_simple(outbox, cookie, 0);
            outbox.finish(0, 0, None, mark);
        }
        (outcome, command) => panic!("{outcome:?} is no answer to {command:?}"),
    }
}

fn check_runs(runs: &[Run], length: u32, available: usize) {
    assert!(runs.len() <= RUNS_MAX, "a read has {} runs, but at most {RUNS_MAX} are allowed", runs.len());
    assert!(runs.iter().all(|run| run.length() > 0), "an empty run");
    let sum = |runs: &mut dyn Iterator<Item = &Run>| runs.map(|run| u64::from(run.length())).sum::<u64>();
    assert_eq!(sum(&mut runs.iter()), u64::from(length), "the bytes of all runs and those that were asked for");
    let data = sum(&mut runs.iter().filter(|run| matches!(run, Run::Data(_))));
    assert_eq!(data, available as u64, "the bytes of runs that are no holes and those of the data");
}

fn reply_to_read<D: Slices>(
    outbox: &mut Outbox<D>,
    offered: &Offer,
    request: &PendingRequest,
    runs: &[Run],
    mut data: Option<D>,
) {
    let Command::Read { offset, length, in_one_piece } = request.command else { return };
    let all_hole = [Run::Hole(length)];
    // The data go with the last run that has some; without one, they are empty.
    let last_data = runs.iter().rposition(|run| matches!(run, Run::Data(_)));
    let runs = if last_data.is_none() && in_one_piece { &all_hole } else { runs };
    if last_data.is_none() {
        data = None;
    }
    let is_cut = offered.structured && (!in_one_piece || runs.len() == 1);
    match (offered.structured, is_cut) {
        (false, _) => write_simple(outbox, request.cookie, 0),
        (true, false) => write_data_chunk(outbox, request.cookie, chunk::DONE, offset, length),
        (true, true) => {}
    }
    let mut at = offset;
    for (index, &run) in runs.iter().enumerate() {
        let is_last = index + 1 == runs.len();
        let flags = if is_last { chunk::DONE } else { 0 };
        let data = if Some(index) == last_data { data.take() } else { None };
        let mark = is_last.then_some(length);
        match run {
            Run::Data(count) => {
                if is_cut {
                    write_data_chunk(outbox, request.cookie, flags, at, count);
                }
                outbox.finish(0, count, data, mark);
            }
            Run::Hole(count) if is_cut => {
                let header = ChunkHeader { flags, kind: chunk::OFFSET_HOLE, cookie: request.cookie, length: 12 };
                header.write(outbox.header());
                outbox.header().extend_from_slice(&at.to_be_bytes());
                outbox.header().extend_from_slice(&count.to_be_bytes());
                outbox.finish(0, 0, data, mark);
            }
            Run::Hole(count) => outbox.finish(count, 0, data, mark),
        }
        at += u64::from(run.length());
    }
}

fn write_simple<D: Slices>(outbox: &mut Outbox<D>, cookie: u64, error: u32) {
    let out = outbox.header();
    out.extend_from_slice(&SIMPLE_REPLY_MAGIC.to_be_bytes());
    out.extend_from_slice(&error.to_be_bytes());
    out.extend_from_slice(&cookie.to_be_bytes());
}

fn write_data_chunk<D: Slices>(outbox: &mut Outbox<D>, cookie: u64, flags: u16, offset: u64, length: u32) {
    let header = ChunkHeader { flags, kind: chunk::OFFSET_DATA, cookie, length: 8 + length };
    header.write(outbox.header());
    outbox.header().extend_from_slice(&offset.to_be_bytes());
}

fn write_error<D: Slices>(outbox: &mut Outbox<D>, offered: &Offer, cookie: u64, why: Refusal, at: Option<u64>) {
    let (error, message) = why;
    if !offered.structured {
        return write_simple(outbox, cookie, error.number());
    }
    let (kind, length) = match at {
        Some(_) => (chunk::ERROR_OFFSET, 14 + message.len() as u32),
        None => (chunk::ERROR, 6 + message.len() as u32),
    };
    let out = outbox.header();
    ChunkHeader { flags: chunk::DONE, kind, cookie, length }.write(out);
    out.extend_from_slice(&error.number().to_be_bytes());
    out.extend_from_slice(&(message.len() as u16).to_be_bytes());
    out.extend_from_slice(message.as_bytes());
    out.extend(at.iter().flat_map(|at| at.to_be_bytes()));
}

fn write_extents<D: Slices>(outbox: &mut Outbox<D>, cookie: u64, extents: &[Extent], length: u32, one_extent: bool) {
    assert!(extents.iter().all(|extent| extent.length > 0), "an empty extent");
    assert!(!extents.is_empty(), "an answer without extents");
    let count = if one_extent { 1 } else { wanted_extents(extents, length) };
    let header = ChunkHeader { flags: chunk::DONE, kind: chunk::BLOCK_STATUS, cookie, length: 4 + 8 * count as u32 };
    let out = outbox.header();
    header.write(out);
    out.extend_from_slice(&CONTEXT_ID.to_be_bytes());
    for extent in &extents[..count] {
        let bytes = if one_extent { extent.length.min(length) } else { extent.length };
        out.extend_from_slice(&bytes.to_be_bytes());
        out.extend_from_slice(&extent.flags().to_be_bytes());
    }
}

/// How many extents a reply has: all but the last one have to end within what was asked.
fn wanted_extents(extents: &[Extent], length: u32) -> usize {
    let mut covered = 0;
    let begins_within = |extent: &&Extent| {
        let begin = covered;
        covered += u64::from(extent.length);
        begin < u64::from(length)
    };
    extents.iter().take(EXTENTS_MAX).take_while(begins_within).count()
}

/// The beginning of a chunk.
struct ChunkHeader {
    flags: u16,
    kind: u16,
    cookie: u64,
    length: u32,
}

impl ChunkHeader {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&CHUNK_MAGIC.to_be_bytes());
        out.extend_from_slice(&self.flags.to_be_bytes());
        out.extend_from_slice(&self.kind.to_be_bytes());
        out.extend_from_slice(&self.cookie.to_be_bytes());
        out.extend_from_slice(&self.length.to_be_bytes());
    }
}
