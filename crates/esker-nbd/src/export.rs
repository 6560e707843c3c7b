//! What a server offers.

use std::sync::Arc;

use esker_core::Bytes;
use thiserror::Error;

use crate::protocol::numbers::{STRING_MAX, export_flag as flag};
use crate::protocol::{BlockSizes, Offer, string};

/// A range of bytes that a server offers by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// What clients ask for. At most 4,096 bytes, as all strings of the protocol; fewer than 256 are recommended.
    pub name: String,
    /// A line for people; empty if there is none.
    pub description: String,
    /// A multiple of the minimum block size.
    pub size: Bytes,
    /// What requests have to keep to.
    pub block_sizes: BlockSizes,
    /// Writes, trims and zeroes are refused.
    pub is_read_only: bool,
    /// A flush on one connection covers the writes of all connections to this export.
    pub can_multi_conn: bool,
    /// It is faster read in order, as disks are.
    pub is_rotational: bool,
}

impl Export {
    /// A writable export with the block sizes of the document.
    pub fn new(name: impl Into<String>, size: Bytes) -> Self {
        Self {
            name: name.into(),
            description: String::new(),
            size,
            block_sizes: BlockSizes::default(),
            is_read_only: false,
            can_multi_conn: false,
            is_rotational: false,
        }
    }

    fn flags(&self, structured: bool) -> u16 {
        let common = flag::HAS_FLAGS | flag::SEND_FLUSH | flag::SEND_FUA | flag::SEND_CACHE;
        let writable = flag::SEND_TRIM | flag::SEND_WRITE_ZEROES | flag::SEND_FAST_ZERO;
        let only_if = |is_so: bool, flag: u16| if is_so { flag } else { 0 };
        common
            | if self.is_read_only { flag::READ_ONLY } else { writable }
            | only_if(self.can_multi_conn, flag::CAN_MULTI_CONN)
            | only_if(self.is_rotational, flag::ROTATIONAL)
            | only_if(structured, flag::SEND_DF)
    }

    /// What a client is told of it, with what was agreed on.
    pub(crate) fn offered(&self, structured: bool, block_status: bool) -> Offer {
        let (size, sizes) = (self.size.0, self.block_sizes);
        Offer { size, flags: self.flags(structured), sizes, structured, block_status }
    }
}

/// Why exports cannot be offered.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ExportError {
    /// The protocol does not allow the name or the description.
    #[error("export `{0}`: name and description have at most 4096 bytes, and no NUL")]
    Text(String),
    /// Two exports have the same name.
    #[error("export `{0}` is there twice")]
    Twice(String),
    /// The document does not allow the block sizes, or the size is no multiple of the smallest.
    #[error(
        "export `{0}`: the minimum block size is a power of two up to 65536 that divides the size, the preferred one a \
         power of two of at least 512 and the minimum, the maximum payload no less than that"
    )]
    BlockSizes(String),
    /// There is no export with the name of the default.
    #[error("the default export `{0}` is not there")]
    Default(String),
}

/// The exports of a server.
#[derive(Clone, Debug)]
pub struct Exports {
    list: Vec<Arc<Export>>,
    default: Option<usize>,
}

impl Exports {
    /// Offers `list`. A client that names no export gets the one that is called `default`.
    pub fn new(list: Vec<Export>, default: Option<&str>) -> Result<Self, ExportError> {
        for (index, export) in list.iter().enumerate() {
            let name = || export.name.clone();
            if string(export.name.as_bytes()).is_none() || string(export.description.as_bytes()).is_none() {
                return Err(ExportError::Text(name()));
            }
            if list[..index].iter().any(|other| other.name == export.name) {
                return Err(ExportError::Twice(name()));
            }
            let sizes = export.block_sizes;
            if !sizes.are_allowed() || !export.size.0.is_multiple_of(u64::from(sizes.minimum)) {
                return Err(ExportError::BlockSizes(name()));
            }
        }
        let index = |name: &str| {
            let found = list.iter().position(|export| export.name == name);
            found.ok_or_else(|| ExportError::Default(name.to_string()))
        };
        let default = default.map(index).transpose()?;
        Ok(Self { list: list.into_iter().map(Arc::new).collect(), default })
    }

    /// The export that a client means by `name`: the empty name is that of the default, unless one is called so.
    pub fn find(&self, name: &str) -> Option<&Arc<Export>> {
        let named = self.list.iter().find(|export| export.name == name);
        named.or_else(|| self.default.filter(|_| name.is_empty()).map(|index| &self.list[index]))
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Export>> {
        self.list.iter()
    }

    /// The longest payload of any of them, in bytes.
    pub(crate) fn payload_max(&self) -> u32 {
        self.list.iter().map(|export| export.block_sizes.maximum).max().unwrap_or(0)
    }

    /// The most bytes of names and descriptions that one reply has: those of a list of all exports.
    pub(crate) fn text_bytes(&self) -> usize {
        self.list.iter().map(|export| export.name.len() + export.description.len()).sum()
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }
}

const _: () = assert!(STRING_MAX == 4096, "the message of ExportError::Text says so");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_protocol_does_not_allow_is_no_export() {
        let export = |change: fn(&mut Export)| {
            let mut export = Export::new("a", Bytes::mib(1));
            change(&mut export);
            Exports::new(vec![export], None).map(|_| ())
        };
        assert_eq!(export(|_| {}), Ok(()));
        assert_eq!(export(|export| export.name = "n".repeat(4096)), Ok(()));
        let bad_text = [
            export(|export| export.name = "n".repeat(4097)),
            export(|export| export.name = "a\0".to_string()),
            export(|export| export.description = "n".repeat(4097)),
        ];
        assert!(bad_text.iter().all(|result| matches!(result, Err(ExportError::Text(_)))));
        let bad_sizes = [
            export(|export| export.block_sizes.minimum = 3),
            export(|export| export.block_sizes = BlockSizes { minimum: 1 << 17, preferred: 1 << 17, maximum: 1 << 20 }),
            export(|export| export.block_sizes.preferred = 256),
            export(|export| export.block_sizes.minimum = 8192),
            export(|export| export.block_sizes.maximum = 4095),
            export(|export| {
                export.block_sizes.minimum = 512;
                export.size = Bytes(513);
            }),
        ];
        assert!(bad_sizes.iter().all(|result| matches!(result, Err(ExportError::BlockSizes(_)))), "{bad_sizes:?}");
        let two = || vec![Export::new("a", Bytes(1)), Export::new("b", Bytes(2))];
        assert!(matches!(Exports::new([two(), two()].concat(), None), Err(ExportError::Twice(_))));
        assert!(matches!(Exports::new(two(), Some("c")), Err(ExportError::Default(_))));
        let exports = Exports::new(two(), Some("b")).unwrap();
        assert_eq!(exports.find("").unwrap().name, "b");
        assert_eq!(exports.find("a").unwrap().name, "a");
        assert!(exports.find("c").is_none());
        assert!(Exports::new(two(), None).unwrap().find("").is_none());
    }
}
