//! Programs of others over TLS, and what is said of certificates.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use esker_testkit::Authority;

use super::clients::are_installed;
use super::{Client, Server, home};
use crate::support::{Run, esker_in, esker_ok, esker_refuses, run_to_its_end};

const TLS: [&str; 2] = ["--tls-certificates", "pki"];

/// Writes the certificates of a server into `pki`, of a client into `client`, and of one of another authority into
/// `stranger`.
pub(super) fn write_certificates(folder: &Path) {
    let (ours, other) = (Authority::new("home"), Authority::new("home"));
    for name in ["pki", "client", "stranger"] {
        ours.write(&folder.join(name));
    }
    ours.issue(&folder.join("pki"), "server", 1);
    ours.issue(&folder.join("client"), "client", 2);
    other.issue(&folder.join("stranger"), "client", 2);
}

/// Runs a program in the folder of the server.
fn run(server: &Server, program: &str, arguments: &[&str]) -> Run {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&server.folder);
    run_to_its_end(command, program)
}

/// Whether the server knows of clients: it may not have seen yet that one has left.
fn has_clients(folder: &Path) -> bool {
    let status = esker_ok(folder, &["volume", "status", "home.volume", "--json"]).stdout;
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    !status["connections"].as_array().unwrap().is_empty()
}

/// The URI of the export with the certificates of a folder.
fn uri(server: &Server, certificates: &str) -> String {
    let [socket, folder] = [server.socket(), server.folder.join(certificates)].map(|path| path.display().to_string());
    format!("nbds+unix:///home?socket={socket}&tls-certificates={folder}")
}

#[test]
fn nbdinfo_and_nbdcopy_connect_with_a_certificate_and_only_with_one() {
    if !are_installed(&["nbdinfo", "nbdcopy"]) {
        return;
    }
    let home = home();
    write_certificates(home.path());
    let server = Server::start(home.path(), &TLS);
    assert!(server.announced.contains("with TLS to clients that have a certificate"), "{}", server.announced);
    let ours = uri(&server, "client");
    let shown = run(&server, "nbdinfo", &[&ours]).stdout;
    assert!(shown.contains("with TLS") && shown.contains("export=\"home\""), "{shown}");
    assert_eq!(run(&server, "nbdinfo", &["--is", "tls", &ours]).code, 0);
    let plain = format!("nbd+unix:///home?socket={}", server.socket().display());
    for other in [&plain, &uri(&server, "stranger"), &uri(&server, "pki")] {
        let refused = run(&server, "nbdinfo", &[other]);
        assert!(refused.code != 0 && !refused.stdout.contains("export"), "{other}: {}", refused.stdout);
        assert!(run(&server, "nbdinfo", &["--list", other]).code != 0, "{other}");
    }
    let bytes: Vec<u8> = (0..6 << 20).map(|index: usize| (index / 3) as u8 | 1).collect();
    fs::write(home.path().join("in.img"), &bytes).unwrap();
    assert_eq!(run(&server, "nbdcopy", &["--connections=4", "--flush", "in.img", &ours]).code, 0);
    assert_eq!(run(&server, "nbdcopy", &["--connections=4", &ours, "out.img"]).code, 0);
    assert!(fs::read(home.path().join("out.img")).unwrap()[..6 << 20] == bytes);
    server.stop();
}

#[test]
fn qemu_img_connects_with_a_certificate() {
    if !are_installed(&["qemu-img"]) {
        return;
    }
    let home = home();
    write_certificates(home.path());
    let server = Server::start(home.path(), &TLS);
    let image = format!(
        "driver=nbd,server.type=unix,server.path={},export=home,tls-creds=tls,tls-hostname=localhost",
        server.socket().display()
    );
    let info = |certificates: &str| {
        let object = format!("tls-creds-x509,id=tls,endpoint=client,dir={certificates}");
        run(&server, "qemu-img", &["info", "--object", &object, "--image-opts", &image])
    };
    let shown = info("client");
    assert!(shown.code == 0 && shown.stdout.contains("virtual size"), "{}{}", shown.stdout, shown.stderr);
    assert!(info("stranger").code != 0);
    server.stop();
}

/// The lines of the document, as a user copies them.
#[test]
fn certificates_as_the_document_makes_them_are_taken() {
    if !are_installed(&["openssl", "nbdinfo"]) {
        return;
    }
    let home = home();
    let document = include_str!("../../../../../docs/serving.md");
    let lines = document.split("```sh\n").find(|block| block.contains("openssl req")).expect("it shows how");
    let script = lines.split("```").next().unwrap();
    let mut command = Command::new("sh");
    command.args(["-ec", script]).current_dir(home.path());
    assert_eq!(run_to_its_end(command, "openssl").code, 0);
    let server = Server::start(home.path(), &TLS);
    let shown = run(&server, "nbdinfo", &[&uri(&server, "client")]);
    assert!(shown.stdout.contains("with TLS"), "{}{}", shown.stdout, shown.stderr);
    server.stop();
}

#[test]
fn a_command_is_told_that_there_is_tls() {
    let home = home();
    write_certificates(home.path());
    let script = ["volume", "serve", "home.volume", "--run", "echo $uri", "--quiet"];
    let shown = |options: &[&str]| esker_ok(home.path(), &[&script[..], options].concat()).stdout;
    assert!(shown(&TLS).starts_with("nbds+unix:///home?socket=/"), "{}", shown(&TLS));
    assert!(shown(&[&TLS[..], &["--tls", "offered"]].concat()).starts_with("nbd+unix:///home?socket=/"));
}

#[test]
fn clients_in_plain_text_go_on_when_a_server_with_tls_takes_over() {
    let home = home();
    write_certificates(home.path());
    let offered = [&TLS[..], &["--tls", "offered"]].concat();
    let mut server = Server::start(home.path(), &offered);
    let mut client = server.client();
    client.write(0, &[3; 4096]).unwrap();
    // One that requires TLS cannot go on with a client that has none.
    let refused = esker_in(home.path(), &[&["volume", "serve", "home.volume", "--take-over"], &TLS[..]].concat());
    assert!(refused.code == 2 && refused.stderr.contains("TLS is required"), "{}", refused.stderr);
    assert_eq!(client.read(0, 4096).unwrap(), [3; 4096]);
    let mut server = {
        let next = Server::start(home.path(), &[&["--take-over"], &offered[..]].concat());
        assert_eq!(server.ended().0, Some(0));
        next
    };
    assert_eq!(client.read(0, 4096).unwrap(), [3; 4096]);
    drop(client);
    let has_left = || {
        std::thread::sleep(Duration::from_millis(2));
        !has_clients(home.path())
    };
    assert!((0..1000).any(|_| has_left()), "the server has not seen that its client left");
    let next = Server::start(home.path(), &[&["--take-over"], &TLS[..]].concat());
    assert_eq!(server.ended().0, Some(0));
    assert!(std::panic::catch_unwind(|| Client::connect(&home.path().join("home.volume.nbd"))).is_err());
    // A server that would serve the same addresses in plain text takes nothing over.
    for less in [&[][..], &offered] {
        let refused = esker_in(home.path(), &[&["volume", "serve", "home.volume", "--take-over"], less].concat());
        let says = ["the server that serves requires TLS", "hint: give the same --tls-certificates"];
        assert!(refused.code == 2 && says.iter().all(|text| refused.stderr.contains(text)), "{}", refused.stderr);
    }
    next.stop();
}

#[test]
fn what_is_wrong_with_certificates_is_said_before_anything_is_served() {
    let home = home();
    write_certificates(home.path());
    let refuses =
        |options: &[&str]| esker_refuses(home.path(), &[&["volume", "serve", "home.volume"], options].concat());
    let error = refuses(&["--tls-certificates", "nowhere"]);
    let advice = "the folder has server-cert.pem and server-key.pem";
    assert!(error.contains("nowhere/ca-cert.pem: No such file") && error.contains(advice), "{error}");
    let error = refuses(&["--tls-certificates", "client"]);
    assert!(error.contains("client/server-cert.pem: No such file"), "{error}");
    for alone in [&["--tls", "offered"][..], &["--tls-any-client"]] {
        let error = refuses(alone);
        assert!(error.contains("--tls-certificates <FOLDER>"), "{error}");
    }
    fs::copy(home.path().join("client/client-key.pem"), home.path().join("pki/server-key.pem")).unwrap();
    let error = refuses(&TLS);
    assert!(error.contains("pki/server-key.pem: it is not the key of the certificate"), "{error}");
}
