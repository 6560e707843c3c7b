//! Experiment files: from text to settings.

mod error;
mod node;
mod read;

pub use error::{ConfigError, Position};
