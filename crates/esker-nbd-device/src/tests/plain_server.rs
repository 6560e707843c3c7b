//! A server that offers what a test wants, over bytes that it loses when it is killed unless they were flushed.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use crate::NbdUri;
use esker_core::Rng;

pub(super) const READ_ONLY: u16 = 1 << 1;
pub(super) const FLUSH: u16 = 1 << 2;
pub(super) const FUA: u16 = 1 << 3;
pub(super) const TRIM: u16 = 1 << 5;
pub(super) const ZEROES: u16 = 1 << 6;

/// What a server offers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) size: u64,
    /// Transmission flags, without the first one.
    pub(super) flags: u16,
    /// Smallest, preferred and largest block, if it says so.
    pub(super) blocks: Option<[u32; 3]>,
    /// Changes bytes of replies, by this seed.
    pub(super) lies: Option<u64>,
}

/// A request as it came: kind, whether it is durable, offset and length.
pub(super) type Asked = (u16, bool, u64, u32);

#[derive(Default)]
pub(super) struct State {
    bytes: Vec<u8>,
    /// What survives.
    durable: Vec<u8>,
    asked: Vec<Asked>,
    /// The connection that is being served.
    connection: Option<UnixStream>,
}

/// A server in a thread, which serves one client after the other.
pub(super) struct PlainServer {
    folder: tempfile::TempDir,
    state: Arc<Mutex<State>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PlainServer {
    pub(super) fn new(offer: Offer) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("socket")).unwrap();
        let bytes = vec![0; offer.size as usize];
        let state = Arc::new(Mutex::new(State { durable: bytes.clone(), bytes, ..State::default() }));
        let stop = Arc::new(AtomicBool::new(false));
        let (shared, stops) = (Arc::clone(&state), Arc::clone(&stop));
        let thread = thread::spawn(move || {
            for (number, stream) in (0..).zip(listener.incoming()) {
                if stops.load(Ordering::SeqCst) {
                    return;
                }
                let stream = stream.unwrap();
                shared.lock().unwrap().connection = Some(stream.try_clone().unwrap());
                let rng = offer.lies.map(|seed| Rng::new(seed + number));
                // A client that leaves, or a server that is killed, ends a connection.
                let _ = Session { stream, offer, state: Arc::clone(&shared), rng }.serve();
            }
        });
        Self { folder, state, stop, thread: Some(thread) }
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    pub(super) fn uri(&self) -> NbdUri {
        format!("nbd+unix:///?socket={}", self.socket().display()).parse().unwrap()
    }

    /// Ends the connection, and loses what was not flushed. Clients can connect again.
    pub(super) fn kill(&self) {
        self.killer().kill();
    }

    /// What another thread kills it with.
    pub(super) fn killer(&self) -> Killer {
        Killer(Arc::clone(&self.state))
    }

    /// Keeps it from answering anything.
    pub(super) fn hold(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// What it was asked for since the last call.
    pub(super) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.state.lock().unwrap().asked)
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.state.lock().unwrap().bytes.clone()
    }
}

impl Drop for PlainServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.kill();
        drop(UnixStream::connect(self.socket()));
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// Kills a server.
pub(super) struct Killer(Arc<Mutex<State>>);

impl Killer {
    pub(super) fn kill(&self) {
        let mut state = self.0.lock().unwrap();
        if let Some(connection) = state.connection.take() {
            let _ = connection.shutdown(std::net::Shutdown::Both);
        }
        state.bytes = state.durable.clone();
    }
}

struct Session {
    stream: UnixStream,
    offer: Offer,
    state: Arc<Mutex<State>>,
    rng: Option<Rng>,
}

impl Session {
    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.stream.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Sends `bytes`, of which a liar changes one now and then.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut bytes = bytes.to_vec();
        if let Some(rng) = &mut self.rng
            && rng.chance(1, 12)
        {
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(3) {
                0 => bytes[at] ^= 1 << rng.below(8),
                1 => bytes.truncate(at),
                _ => bytes.insert(at, rng.next_u64() as u8),
            }
        }
        self.stream.write_all(&bytes)
    }

    fn serve(&mut self) -> io::Result<()> {
        self.send(b"NBDMAGICIHAVEOPT\0\x03")?;
        self.take::<4>()?;
        while !self.answer_option()? {}
        loop {
            self.answer_request()?;
        }
    }

    /// Returns true once the export is open.
    fn answer_option(&mut self) -> io::Result<bool> {
        let head = self.take::<16>()?;
        let option = u32::from_be_bytes(head[8..12].try_into().unwrap());
        let mut data = vec![0; u32::from_be_bytes(head[12..].try_into().unwrap()) as usize];
        self.stream.read_exact(&mut data)?;
        let reply = |kind: u32, data: &[u8]| {
            let numbers = [option, kind, data.len() as u32].map(u32::to_be_bytes);
            [&0x3_e889_0455_65a9_u64.to_be_bytes()[..], numbers.as_flattened(), data].concat()
        };
        // Only GO is known.
        if option != 7 {
            return self.send(&reply(0x8000_0001, &[])).map(|()| false);
        }
        let flags = (self.offer.flags | 1).to_be_bytes();
        let mut all = reply(3, &[&[0, 0], &self.offer.size.to_be_bytes()[..], &flags].concat());
        if let Some(blocks) = self.offer.blocks {
            all.extend(reply(3, &[&[0, 3], blocks.map(u32::to_be_bytes).as_flattened()].concat()));
        }
        all.extend(reply(1, &[]));
        self.send(&all).map(|()| true)
    }

    fn answer_request(&mut self) -> io::Result<()> {
        let head = self.take::<28>()?;
        let flags = u16::from_be_bytes([head[4], head[5]]);
        let kind = u16::from_be_bytes([head[6], head[7]]);
        let offset = u64::from_be_bytes(head[16..24].try_into().unwrap());
        let length = u32::from_be_bytes(head[24..].try_into().unwrap());
        let durable = flags & 1 != 0;
        let mut data = vec![0; if kind < 2 { length as usize } else { 0 }];
        if kind == 1 {
            self.stream.read_exact(&mut data)?;
        }
        if kind == 2 {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        {
            let mut state = self.state.lock().unwrap();
            state.asked.push((kind, durable, offset, length));
            // Whoever was killed does nothing more.
            if state.connection.is_none() {
                return Err(io::ErrorKind::ConnectionAborted.into());
            }
            let State { bytes, durable: stable, .. } = &mut *state;
            let range = offset as usize..offset as usize + length as usize;
            match kind {
                0 => data.copy_from_slice(&bytes[range]),
                1 => bytes[range].copy_from_slice(&data),
                3 => stable.copy_from_slice(bytes),
                // Trimmed bytes may be any.
                4 => bytes[range].fill(0xdd),
                6 => bytes[range].fill(0),
                _ => unreachable!("{kind} was not offered"),
            }
            if durable && kind != 0 && kind != 3 {
                let range = offset as usize..offset as usize + length as usize;
                stable[range.clone()].copy_from_slice(&bytes[range]);
            }
        }
        let reply = [&0x6744_6698_u32.to_be_bytes()[..], &[0; 4], &head[8..16]].concat();
        self.send(&if kind == 0 { [reply, data].concat() } else { reply })
    }
}
