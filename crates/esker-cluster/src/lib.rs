//! Wear across servers (Salman 2017).
mod fnv;
mod id;
mod map;
mod plan;
mod ring;
mod route;
mod servers;
mod shape;
pub use fnv::{fnv1a, fnv1a_of};
pub use id::*;
pub use map::*;
pub use plan::*;
pub use ring::Ring;
pub use route::*;
pub use servers::*;
pub use shape::*;
