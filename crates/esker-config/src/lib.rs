//! Settings in TOML that know where each key and value was written, so that an error has its line and column.
//! Experiment files, presets and catalogues are read with it.
//!
//! ```
//! use esker_config::ConfigText;
//!
//! #[derive(Debug, serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct Shelf {
//!     disks: u32,
//! }
//!
//! let text = ConfigText::parse("# A shelf.\ndiscs = 12\n", "shelf.toml").unwrap();
//! let error = text.read::<Shelf>().unwrap_err();
//! assert_eq!(error.to_string(), "shelf.toml:2:1: discs: unknown key; did you mean `disks`?");
//! ```

mod document;
mod error;
mod kind;
mod node;
mod text;

pub use document::{Document, Finding, read};
pub use error::{ConfigError, Position};
pub use kind::FileKind;
pub use node::{Node, Span, Table, TableEntry, Value, join};
pub use text::ConfigText;
