//! Bytes to be sent.

use std::collections::VecDeque;
use std::io::IoSlice;

/// Bytes that are sent as they lie, such as those of a read: they are not copied.
pub trait Slices {
    /// The bytes in their order, in slices that are not empty.
    fn slices(&self) -> impl Iterator<Item = &[u8]>;
}

impl Slices for Vec<u8> {
    fn slices(&self) -> impl Iterator<Item = &[u8]> {
        Some(&self[..]).filter(|all| !all.is_empty()).into_iter()
    }
}

/// Where the zeroes of holes come from.
static ZEROES: [u8; 64 << 10] = [0; 64 << 10];

/// Sent headers are moved out of their buffer beyond this many bytes.
pub(crate) const SENT_HEADERS_MAX: usize = 16 << 10;

/// What is to be sent: messages in their order. A message is a header, zeroes, and bytes of somebody's data, each of
/// which may be missing.
#[derive(Debug)]
pub(crate) struct Outbox<D> {
    /// Headers of all messages.
    headers: Vec<u8>,
    /// Bytes of `headers` that are sent.
    sent: usize,
    /// Bytes of `headers` that belong to messages.
    finished: usize,
    messages: VecDeque<Message>,
    /// The data of messages, in their order.
    data: VecDeque<D>,
    /// Bytes of the first data that are sent.
    data_sent: usize,
}

/// Bytes of memory of a message without its header and data.
pub(crate) const MESSAGE_BYTES: usize = size_of::<Message>();

/// What is left to send of a message.
#[derive(Debug)]
struct Message {
    header: u32,
    zeroes: u32,
    data: u32,
    /// It is the last one of its data.
    ends_data: bool,
    /// What to tell once it is sent.
    mark: Option<u32>,
}

impl Message {
    fn is_sent(&self) -> bool {
        self.header == 0 && self.zeroes == 0 && self.data == 0
    }
}

/// What has been sent.
pub(crate) enum SentPart<D> {
    /// All of the message with this mark.
    Message(u32),
    /// All of this data.
    Data(D),
}

impl<D: Slices> Outbox<D> {
    pub(crate) fn new() -> Self {
        let (messages, data) = (VecDeque::new(), VecDeque::new());
        Self { headers: Vec::new(), sent: 0, finished: 0, messages, data, data_sent: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Where the header of the next message is appended.
    pub(crate) fn header(&mut self) -> &mut Vec<u8> {
        &mut self.headers
    }

    /// Ends a message whose header has been appended: so many zeroes and bytes of data follow it. `data` is given with
    /// the last message that has some of it.
    pub(crate) fn finish(&mut self, zeroes: u32, bytes: u32, data: Option<D>, mark: Option<u32>) {
        let header = (self.headers.len() - self.finished) as u32;
        self.finished = self.headers.len();
        let ends_data = data.is_some();
        self.data.extend(data);
        self.messages.push_back(Message { header, zeroes, data: bytes, ends_data, mark });
    }

    /// Ends a message that is only a header, if one has been appended.
    pub(crate) fn finish_if_any(&mut self) {
        if self.headers.len() > self.finished {
            self.finish(0, 0, None, None);
        }
    }

    /// Lists what is to be sent, as far as there is room, and returns the number of slices.
    pub(crate) fn gather<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let mut list = SliceList { slices, count: 0 };
        // Headers without anything between them are one slice.
        let (mut begin, mut end) = (self.sent, self.sent);
        let (mut current, mut used) = (0, self.data_sent);
        for message in &self.messages {
            end += message.header as usize;
            if message.zeroes > 0 || message.data > 0 {
                list.add(&self.headers[begin..end]);
                begin = end;
                list.add_zeroes(message.zeroes as usize);
                if message.data > 0 {
                    list.add_part(&self.data[current], used, message.data as usize);
                    used += message.data as usize;
                }
                if list.is_full() {
                    return list.count;
                }
            }
            if message.ends_data {
                (current, used) = (current + 1, 0);
            }
        }
        list.add(&self.headers[begin..end]);
        list.count
    }

    /// The first `count` bytes are sent; tells which messages and data that ends.
    pub(crate) fn sent(&mut self, count: usize, mut ended: impl FnMut(SentPart<D>)) {
        let mut left = count;
        while let Some(message) = self.messages.front_mut() {
            let mut take = |rest: &mut u32| {
                let taken = left.min(*rest as usize);
                *rest -= taken as u32;
                left -= taken;
                taken
            };
            self.sent += take(&mut message.header);
            take(&mut message.zeroes);
            self.data_sent += take(&mut message.data);
            if !message.is_sent() {
                break;
            }
            if message.ends_data {
                self.data_sent = 0;
                self.data.pop_front().into_iter().for_each(|data| ended(SentPart::Data(data)));
            }
            if let Some(mark) = message.mark {
                ended(SentPart::Message(mark));
            }
            self.messages.pop_front();
        }
        assert!(left == 0, "more bytes were sent than there were");
        self.forget_sent_headers();
    }

    fn forget_sent_headers(&mut self) {
        if self.messages.is_empty() {
            self.headers.clear();
        } else if self.sent > SENT_HEADERS_MAX && self.sent > self.headers.len() / 2 {
            self.headers.drain(..self.sent);
        } else {
            return;
        }
        self.finished = self.headers.len();
        self.sent = 0;
    }
}

/// Slices for one call of the operating system.
struct SliceList<'a, 'b> {
    slices: &'b mut [IoSlice<'a>],
    count: usize,
}

impl<'a> SliceList<'a, '_> {
    fn is_full(&self) -> bool {
        self.count == self.slices.len()
    }

    fn add(&mut self, slice: &'a [u8]) {
        if !slice.is_empty() && !self.is_full() {
            self.slices[self.count] = IoSlice::new(slice);
            self.count += 1;
        }
    }

    fn add_zeroes(&mut self, mut count: usize) {
        while count > 0 && !self.is_full() {
            let length = count.min(ZEROES.len());
            self.add(&ZEROES[..length]);
            count -= length;
        }
    }

    /// Adds `count` bytes of `data`, without its first `skip`.
    fn add_part(&mut self, data: &'a impl Slices, mut skip: usize, mut count: usize) {
        for slice in data.slices() {
            if count == 0 || self.is_full() {
                return;
            }
            let skipped = skip.min(slice.len());
            let slice = &slice[skipped..];
            skip -= skipped;
            let slice = &slice[..slice.len().min(count)];
            count -= slice.len();
            self.add(slice);
        }
    }
}

#[cfg(test)]
mod tests {
    use esker_core::Rng;

    use super::*;

    /// Appends a message of random parts, and the same bytes to `expected`.
    fn add(outbox: &mut Outbox<Vec<u8>>, expected: &mut Vec<u8>, mark: u32, rng: &mut Rng) {
        let part = |longest: u64, rng: &mut Rng| if rng.chance(1, 3) { 0 } else { rng.below(longest) as usize };
        let header: Vec<u8> = (0..1 + part(1200, rng)).map(|_| rng.next_u64() as u8).collect();
        let data: Vec<u8> = (0..part(300, rng)).map(|_| rng.next_u64() as u8).collect();
        let zeroes = if rng.chance(1, 40) { 100_000 } else { part(500, rng) };
        let cut = data.len() / 2;
        outbox.header().extend_from_slice(&header);
        // Data go out with two messages, the last of which has them.
        outbox.finish(zeroes as u32, cut as u32, None, None);
        outbox.finish(0, (data.len() - cut) as u32, Some(data.clone()).filter(|data| !data.is_empty()), Some(mark));
        expected.extend_from_slice(&header);
        expected.resize(expected.len() + zeroes, 0);
        expected.extend_from_slice(&data);
    }

    #[test]
    fn bytes_go_out_in_their_order_however_writes_are_cut() {
        for seed in 0..8 {
            let (mut rng, mut outbox) = (Rng::new(seed), Outbox::new());
            let (mut expected, mut found, mut marks, mut added) = (Vec::new(), Vec::new(), Vec::new(), 0);
            while added < 300 || !outbox.is_empty() {
                if added < 300 && rng.chance(2, 3) {
                    add(&mut outbox, &mut expected, added, &mut rng);
                    added += 1;
                    continue;
                }
                let mut slices = [IoSlice::new(&[]); 5];
                let count = outbox.gather(&mut slices);
                assert!(count > 0 && slices[..count].iter().all(|slice| !slice.is_empty()) || outbox.is_empty());
                let mut bytes: Vec<u8> = slices[..count].iter().flat_map(|slice| slice.to_vec()).collect();
                bytes.truncate(1 + rng.below(20_000) as usize);
                found.extend_from_slice(&bytes);
                outbox.sent(bytes.len(), |sent| {
                    if let SentPart::Message(mark) = sent {
                        marks.push(mark);
                    }
                });
            }
            assert!(found == expected, "seed {seed}");
            assert_eq!(marks, (0..300).collect::<Vec<u32>>());
        }
    }

    #[test]
    #[should_panic(expected = "more bytes were sent than there were")]
    fn more_than_there_is_cannot_be_sent() {
        let mut outbox = Outbox::<Vec<u8>>::new();
        outbox.header().push(1);
        outbox.finish_if_any();
        outbox.sent(2, |_| {});
    }
}
