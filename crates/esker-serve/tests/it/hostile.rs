//! Clients that mean no good, and clients that are slow.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use esker_core::{Bytes, Rng};
use esker_nbd::Command;
use esker_serve::ServeSettings;
use esker_volume::IoChoice;

use super::client::Client;
use super::served::Home;

#[test]
fn nonsense_ends_a_connection_and_nothing_else() {
    let home = Home::new(Bytes::mib(16));
    let server = home.serve(IoChoice::Best, ServeSettings::default());
    let mut client = Client::connect(&server.socket);
    client.write(0, &[7; 4096], false).unwrap();
    let mut rng = Rng::new(1);
    for number in 0..200 {
        let mut stream = UnixStream::connect(&server.socket).unwrap();
        let mut bytes: Vec<u8> = (0..rng.below(4096)).map(|_| rng.below(256) as u8).collect();
        if number % 2 == 0 {
            // The flags of a client, and then nonsense.
            bytes.splice(..0, 3u32.to_be_bytes());
        }
        let _ = stream.write_all(&bytes);
    }
    assert_eq!(client.read(0, 4096).unwrap(), [7; 4096]);
}

#[test]
fn who_opens_nothing_has_to_leave_and_who_waits_gets_the_place() {
    let home = Home::new(Bytes::mib(16));
    let settings =
        ServeSettings { connections_max: 2, negotiation_limit: Duration::from_millis(200), ..ServeSettings::default() };
    let server = home.serve(IoChoice::Best, settings);
    let mut idle: Vec<UnixStream> = (0..2).map(|_| UnixStream::connect(&server.socket).unwrap()).collect();
    // It is served once they are gone.
    let mut client = Client::connect(&server.socket);
    client.write(0, &[1; 512], false).unwrap();
    for stream in &mut idle {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // The greeting, and then the end.
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert_eq!(all.len(), 18);
    }
}

#[test]
fn who_does_not_read_keeps_nobody_from_reading() {
    for choice in [IoChoice::Best, IoChoice::Threads] {
        let home = Home::new(Bytes::mib(16));
        let server = home.serve(choice, ServeSettings::default());
        let mut slow = Client::connect(&server.socket);
        let mut client = Client::connect(&server.socket);
        client.write(0, &[5; 1 << 20], false).unwrap();
        // More than the sockets hold; the client that sends them reads no answer yet.
        for id in 0..60 {
            slow.submit(id, Command::Read { offset: 0, length: 1 << 20, in_one_piece: true }, Some(vec![0; 1 << 20]));
        }
        slow.begin();
        for _ in 0..50 {
            assert_eq!(client.read(0, 4096).unwrap(), [5; 4096]);
        }
        for _ in 0..60 {
            assert_eq!(slow.done().buffer.unwrap(), [5; 1 << 20]);
        }
    }
}
