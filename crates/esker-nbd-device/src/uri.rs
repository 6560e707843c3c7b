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
/// (<https://github.com/NetworkBlockDevice/nbd/blob/master/doc/uri.md>).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NbdUri {
    /// The server.
    pub server: NbdServer,
    /// The name of the export; the empty name is that of the server's default.
    pub export: String,
    /// The folder of certificates, by its path from the root on, if the connection is encrypted. Its files are
    /// [`CERTIFICATE_FILES`](crate::CERTIFICATE_FILES).
    pub certificates: Option<PathBuf>,
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
        let text = "say nbd://HOST/EXPORT, nbd://HOST:PORT/EXPORT, or nbd+unix:///EXPORT?socket=/PATH; with TLS \
                    nbds://HOST/EXPORT?tls-certificates=/FOLDER";
        Some(text.to_string())
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
    let scheme = scheme.to_ascii_lowercase();
    let (scheme, is_encrypted) = match scheme.strip_prefix("nbds") {
        Some(rest) => (format!("nbd{rest}"), true),
        None => (scheme, false),
    };
    let mut query = Query::read(query)?;
    let server = match &*scheme {
        "nbd" => tcp(authority)?,
        "nbd+unix" if !authority.is_empty() => return Err("a Unix socket has no host"),
        "nbd+unix" => {
            NbdServer::Unix(query.take("socket").ok_or("a Unix socket is named by ?socket=PATH, from the root on")?)
        }
        _ => return Err("only nbd:// and nbd+unix://, nbds:// and nbds+unix:// are supported"),
    };
    let needed = "TLS needs a folder of certificates: ?tls-certificates=PATH, from the root on";
    let certificates = is_encrypted.then(|| query.take("tls-certificates").ok_or(needed)).transpose()?;
    if !query.0.is_empty() {
        return Err("there is something behind the `?` that is not known here, or twice");
    }
    Ok(NbdUri { server, export, certificates })
}

/// Names and paths behind a `?`.
struct Query(Vec<(String, String)>);

impl Query {
    fn read(text: Option<&str>) -> Result<Self, &'static str> {
        let part = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            Ok((unquote(name)?, unquote(value)?))
        };
        Ok(Self(text.into_iter().flat_map(|text| text.split('&')).map(part).collect::<Result<_, _>>()?))
    }

    /// Takes out the path of this name, if it is there and begins at the root.
    fn take(&mut self, name: &str) -> Option<PathBuf> {
        let found = self.0.iter().position(|(found, value)| found == name && value.starts_with('/'))?;
        Some(self.0.remove(found).1.into())
    }
}

fn tcp(authority: &str) -> Result<NbdServer, &'static str> {
    if authority.contains('@') {
        return Err("an export has no user");
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
        let s = if self.certificates.is_some() { "s" } else { "" };
        match &self.server {
            NbdServer::Tcp(host, port) if host.contains(':') => write!(f, "nbd{s}://[{host}]:{port}/")?,
            NbdServer::Tcp(host, port) => write!(f, "nbd{s}://{host}:{port}/")?,
            NbdServer::Unix(_) => write!(f, "nbd{s}+unix:///")?,
        }
        quote(&self.export, f)?;
        let socket = match &self.server {
            NbdServer::Unix(path) => Some(("socket", path)),
            NbdServer::Tcp(..) => None,
        };
        let certificates = self.certificates.iter().map(|folder| ("tls-certificates", folder));
        for (first, (name, path)) in "?&".chars().zip(socket.into_iter().chain(certificates)) {
            write!(f, "{first}{name}=")?;
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
            ("nbds://Host/a?tls-certificates=/etc/my%20pki", "nbds://host:10809/a?tls-certificates=/etc/my%20pki"),
            (
                "nbds+unix:///a?tls-certificates=/pki&socket=/run/a.sock",
                "nbds+unix:///a?socket=/run/a.sock&tls-certificates=/pki",
            ),
            ("nbd+unix:///disk%3f?socket=%2Frun/my%20home.nbd", "nbd+unix:///disk%3F?socket=/run/my%20home.nbd"),
        ] {
            let uri: NbdUri = text.parse().unwrap();
            assert_eq!(uri.to_string(), shown);
            assert_eq!(shown.parse::<NbdUri>().unwrap(), uri);
            assert!(is_nbd_uri(text));
        }
        assert!(!is_nbd_uri("/dev/nbd0") && !is_nbd_uri("nbd.img") && !is_nbd_uri("flash:nbd://a"));
    }

    const UNKNOWN: &str = "there is something behind the `?` that is not known here, or twice";

    #[test]
    fn what_is_no_uri_is_refused() {
        for (text, what) in [
            ("nbd:unix:/run/a.sock", "it is no URI"),
            ("nbds://host/", "TLS needs a folder of certificates: ?tls-certificates=PATH, from the root on"),
            (
                "nbds://host/?tls-certificates=pki",
                "TLS needs a folder of certificates: ?tls-certificates=PATH, from the root on",
            ),
            ("nbds://host/?tls-certificates=/a&tls-certificates=/a", UNKNOWN),
            ("nbd://host/?tls-certificates=/a", UNKNOWN),
            ("nbd+vsock://1/", "only nbd:// and nbd+unix://, nbds:// and nbds+unix:// are supported"),
            ("nbd:///x", "it has no host"),
            ("nbd://host:x/", "its port is none of 0 to 65535"),
            ("nbd://host:65536/", "its port is none of 0 to 65535"),
            ("nbd://me@host/", "an export has no user"),
            ("nbd://host/?socket=/a", UNKNOWN),
            ("nbd://[::1/", "the address has no `]`"),
            ("nbd+unix:///x", "a Unix socket is named by ?socket=PATH, from the root on"),
            ("nbd+unix://host/x?socket=/a", "a Unix socket has no host"),
            ("nbd+unix:///?socket=a.sock", "a Unix socket is named by ?socket=PATH, from the root on"),
            ("nbd+unix:///?socket=/a&tls=1", UNKNOWN),
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
