//! Clients: processes that reach the pool through this one, without the kernel.

mod arriving;
mod client;

use crate::server::Server;
use arriving::Arriving;
use client::Client;
use esker_scm::Durability;
use esker_scm_channel::{PeerIdentity, Region, accept, listen, send_granted};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Clients that may be connected at the same time.
const CLIENTS_MAX: usize = 128;

/// Where clients are listened for.
#[derive(Debug)]
pub(crate) struct Clients {
    /// Closed to end it.
    end: OwnedFd,
    listening: JoinHandle<()>,
}

/// A connected client, as the listening thread has it.
struct Connected {
    socket: Arc<OwnedFd>,
    region: Arc<Region>,
    serving: JoinHandle<()>,
}

/// What listening needs.
struct Listener {
    server: Arc<Server>,
    directory: PathBuf,
    socket: OwnedFd,
    next_client: u32,
    arriving: Arriving,
    connected: Vec<Connected>,
}

/// What the listening thread was woken for. Clients are numbers in its lists, in order.
#[derive(Default)]
struct Woken {
    is_ended: bool,
    has_new: bool,
    gone: Vec<usize>,
    spoken: Vec<usize>,
}

impl Clients {
    /// Listens for clients of the mount at `directory`.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn listen(server: &Arc<Server>, directory: PathBuf) -> io::Result<Clients> {
        let (ended, end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let socket = listen(server.address())?;
        let (arriving, connected) = (Arriving::default(), Vec::new());
        let listener = Listener { server: server.clone(), directory, socket, next_client: 1, arriving, connected };
        let listening = std::thread::Builder::new().name("clients".into()).spawn(move || listener.run(&ended))?;
        Ok(Clients { end, listening })
    }

    /// Ends the connections, and gives back what clients had.
    pub(crate) fn stop(self) {
        drop(self.end);
        let _ = self.listening.join();
    }
}

impl Listener {
    fn run(mut self, ended: &OwnedFd) {
        loop {
            let woken = self.wait(ended);
            for index in woken.gone.into_iter().rev() {
                // The thread notices, and gives back what the client had.
                self.connected[index].region.close();
                let gone = self.connected.swap_remove(index);
                let _ = gone.serving.join();
            }
            if woken.is_ended {
                break;
            }
            // A client that cannot be served sees its connection closed, and goes through the kernel.
            for (socket, identity) in self.arriving.hear(&self.server, &woken.spoken) {
                let _ = self.serve(socket, identity);
            }
            if woken.has_new
                && let Ok((socket, identity)) = accept(self.socket.as_fd())
            {
                self.arriving.add(&self.server, socket, identity);
            }
        }
        // Whoever still has pages mapped stores nothing there any more.
        self.server.coherence().end_sharing();
        for client in self.connected {
            client.region.close();
            let _ = client.serving.join();
        }
    }

    /// Waits for the end, new clients, what they say, and clients that go.
    fn wait(&self, ended: &OwnedFd) -> Woken {
        let fixed = [PollFd::new(ended, PollFlags::IN), PollFd::new(&self.socket, PollFlags::IN)];
        let connected = self.connected.iter().map(|client| PollFd::new(&*client.socket, PollFlags::IN));
        let arriving = self.arriving.sockets().map(|socket| PollFd::new(socket, PollFlags::IN));
        let mut polled: Vec<PollFd<'_>> = fixed.into_iter().chain(connected).chain(arriving).collect();
        if rustix::event::poll(&mut polled, None).is_err() {
            return Woken::default();
        }
        let (fixed, clients) = polled.split_at(2);
        let (connected, arriving) = clients.split_at(self.connected.len());
        let has_come = |polled: &PollFd<'_>| !polled.revents().is_empty();
        let come = |polled: &[PollFd<'_>]| (0..polled.len()).filter(|&index| has_come(&polled[index])).collect();
        // A client that was let in sends nothing by its socket: whatever comes is its end.
        let (gone, spoken) = (come(connected), come(arriving));
        Woken { is_ended: has_come(&fixed[0]), has_new: has_come(&fixed[1]), gone, spoken }
    }

    /// Grants a client what it needs for calls, and answers them from now on.
    fn serve(&mut self, socket: OwnedFd, identity: PeerIdentity) -> io::Result<()> {
        if self.connected.len() == CLIENTS_MAX {
            return Err(Errno::MFILE.into());
        }
        let region = Arc::new(Region::create()?);
        let client = self.next_client;
        self.next_client = client.checked_add(1).filter(|&next| next < u32::MAX).unwrap_or(1);
        // Who could open the pool itself may have its pages. Others call for every byte: who can map a part of a file
        // can map all of it. What goes to an ordinary file by msync has to be written by the owner.
        let is_trusted = identity.user == 0 || identity.user == rustix::process::geteuid().as_raw();
        let pool = self.server.system().persist();
        let is_direct = is_trusted && pool.durability() != Durability::Msync;
        let mut files = vec![region.file()];
        if is_direct {
            files.push(self.server.coherence().board().file());
        }
        send_granted(socket.as_fd(), client, &files)?;
        let socket = Arc::new(socket);
        let directory = self.directory.clone();
        let mut serving = Client::new(
            self.server.clone(),
            (region.clone(), socket.clone()),
            (client, identity, is_direct),
            directory,
        );
        let serving = std::thread::Builder::new().name(format!("client {client}")).spawn(move || serving.serve())?;
        self.connected.push(Connected { socket, region, serving });
        Ok(())
    }
}
