//! Where an export is.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use esker_core::Hint;
use thiserror::Error;

/// The port of NBD servers.
const PORT: u16 = 10809;

/// The longest name of an export, in bytes.
const NAME_MAX: usize = 4096;

/// Where an export is: a server, and the name of the export there. Its text is an NBD URI
/// (<https://github.com/NetworkBlockDevice/nbd/blob/master/doc/uri.md>) without TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NbdUri {
    /// The server.
    pub server: NbdServer,
    /// The name of the export; the empty name is that of the server's default.
    pub export: String,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NbdServer {
    /// A name or an address, IPv6 without brackets, and a port.
    Tcp(String, u16),
    /// A Unix socket, by its path from the root on.
    Unix(PathBuf),
}

/// A text that is no URI of an export.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{text}`: {what}")]
pub struct UriError {
    /// The text.
    pub text: String,
    /// What is wrong with it.
    pub what: &'static str,
}

impl Hint for UriError {
    fn hint(&self) -> Option<String> {
        Some("say nbd://HOST/EXPORT, nbd://HOST:PORT/EXPORT, or nbd+unix:///EXPORT?socket=/PATH".to_string())
    }
}

/// Returns true if `text` is meant to say where an export is: its scheme is that of NBD, or a variant of it.
pub fn is_nbd_uri(text: &str) -> bool {
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let scheme = scheme.split_once('+').map_or(scheme, |(first, _)| first);
    ["nbd", "nbds"].iter().any(|ours| scheme.eq_ignore_ascii_case(ours))
}

impl FromStr for NbdUri {
    type Err = UriError;
    fn from_str(text: &str) -> Result<Self, UriError> {
        parse(text).map_err(|what| UriError { text: text.to_string(), what })
    }
}

fn parse(text: &str) -> Result<NbdUri, &'static str> {
    let (scheme, rest) = text.split_once("://").ok_or("it is no URI")?;
    if rest.contains('#') {
        return Err("an export has no part behind a `#`");
    }
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let (authority, name) = rest.split_once('/').unwrap_or((rest, ""));
    let export = unquote(name)?;
    if export.len() > NAME_MAX || export.contains('\0') {
        return Err("the name of an export has at most 4096 bytes, and none of them is zero");
    }
    let server = match &*scheme.to_ascii_lowercase() {
        "nbd" if query.is_some() => return Err("a server on a host has nothing behind a `?`"),
        "nbd" => tcp(authority)?,
        "nbd+unix" if !authority.is_empty() => return Err("a Unix socket has no host"),
        "nbd+unix" => unix(query.unwrap_or(""))?,
        "nbds" | "nbds+unix" => return Err("TLS is not supported"),
        _ => return Err("only nbd:// and nbd+unix:// are supported"),
    };
    Ok(NbdUri { server, export })
}

fn tcp(authority: &str) -> Result<NbdServer, &'static str> {
    if authority.contains('@') {
        return Err("there are no users without TLS");
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']').ok_or("the address has no `]`")?;
            (
                host,
                if rest.is_empty() { None } else { Some(rest.strip_prefix(':').ok_or("it has no port behind `]`")?) },
            )
        }
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err("it has no host");
    }
    let port = match port {
        None | Some("") => PORT,
        Some(port) => port.parse().map_err(|_| "its port is none of 0 to 65535")?,
    };
    Ok(NbdServer::Tcp(unquote(host)?.to_ascii_lowercase(), port))
}

fn unix(query: &str) -> Result<NbdServer, &'static str> {
    let mut sockets = query.split('&').map(|part| part.split_once('=').unwrap_or((part, "")));
    let socket = match (sockets.next(), sockets.next()) {
        (Some(("socket", socket)), None) => unquote(socket)?,
        _ => return Err("a Unix socket is named by ?socket=PATH, and by nothing else"),
    };
    if !socket.starts_with('/') {
        return Err("the path of a socket begins with `/`");
    }
    Ok(NbdServer::Unix(socket.into()))
}

/// Returns what `%` and two digits stand for.
fn unquote(text: &str) -> Result<String, &'static str> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2).ok_or("two digits have to follow a `%`")?;
        let digit = |digit: u8| char::from(digit).to_digit(16).ok_or("two digits have to follow a `%`");
        bytes.push((digit(digits[0])? << 4 | digit(digits[1])?) as u8);
        rest = behind;
    }
    String::from_utf8(bytes).map_err(|_| "it is no UTF-8")
}

/// Writes what has a meaning in URIs as `%` and two digits.
fn quote(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    text.bytes().try_for_each(|byte| match byte {
        _ if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) => write!(f, "{}", char::from(byte)),
        _ => write!(f, "%{byte:02X}"),
    })
}

impl fmt::Display for NbdUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            NbdServer::Tcp(host, port) if host.contains(':') => write!(f, "nbd://[{host}]:{port}/")?,
            NbdServer::Tcp(host, port) => write!(f, "nbd://{host}:{port}/")?,
            NbdServer::Unix(_) => f.write_str("nbd+unix:///")?,
        }
        quote(&self.export, f)?;
        if let NbdServer::Unix(path) = &self.server {
            f.write_str("?socket=")?;
            quote(&path.to_string_lossy(), f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uris_are_read_and_shown() {
        for (text, shown) in [
            ("nbd://host", "nbd://host:10809/"),
            ("nbd://host/", "nbd://host:10809/"),
            ("NBD://Host:1/a%20b/c", "nbd://host:1/a%20b/c"),
            ("nbd://[::1]:10810//x", "nbd://[::1]:10810//x"),
            ("nbd://[fe80::1]", "nbd://[fe80::1]:10809/"),
            ("nbd+unix:///?socket=/run/a.sock", "nbd+unix:///?socket=/run/a.sock"),
            ("nbd+unix:///disk%3f?socket=%2Frun/my%20home.nbd", "nbd+unix:///disk%3F?socket=/run/my%20home.nbd"),
        ] {
            let uri: NbdUri = text.parse().unwrap();
            assert_eq!(uri.to_string(), shown);
            assert_eq!(shown.parse::<NbdUri>().unwrap(), uri);
            assert!(is_nbd_uri(text));
        }
        assert!(!is_nbd_uri("/dev/nbd0") && !is_nbd_uri("nbd.img") && !is_nbd_uri("flash:nbd://a"));
    }

    #[test]
    fn what_is_no_uri_is_refused() {
        for (text, what) in [
            ("nbd:unix:/run/a.sock", "it is no URI"),
            ("nbds://host/", "TLS is not supported"),
            ("nbd+vsock://1/", "only nbd:// and nbd+unix:// are supported"),
            ("nbd:///x", "it has no host"),
            ("nbd://host:x/", "its port is none of 0 to 65535"),
            ("nbd://host:65536/", "its port is none of 0 to 65535"),
            ("nbd://me@host/", "there are no users without TLS"),
            ("nbd://host/?socket=/a", "a server on a host has nothing behind a `?`"),
            ("nbd://[::1/", "the address has no `]`"),
            ("nbd+unix:///x", "a Unix socket is named by ?socket=PATH, and by nothing else"),
            ("nbd+unix://host/x?socket=/a", "a Unix socket has no host"),
            ("nbd+unix:///?socket=a.sock", "the path of a socket begins with `/`"),
            ("nbd+unix:///?socket=/a&tls=1", "a Unix socket is named by ?socket=PATH, and by nothing else"),
            ("nbd://host/%4", "two digits have to follow a `%`"),
            ("nbd://host/%zz", "two digits have to follow a `%`"),
            ("nbd://host/%ff", "it is no UTF-8"),
            ("nbd://host/%00", "the name of an export has at most 4096 bytes, and none of them is zero"),
            ("nbd://host/#a", "an export has no part behind a `#`"),
        ] {
            assert_eq!(text.parse::<NbdUri>().map_err(|error| error.what), Err(what), "{text}");
        }
    }
}
