//! Shares of classes of data on devices, as a linear programme.
//!
//! Each class of data is spread over devices so that all of it is somewhere. What it loads each device with is
//! proportional to its share there, and what devices have to give costs something, or is limited. An interior point
//! method ([`Interior`]) comes near to the shares that cost least, and [`bound`] says how near: no shares cost less
//! than the bound, whatever rounding did to the point.
//!
//! [`Assignment`] takes a problem device by device and class by class, and solves it. [`Relaxation`] is the layout in
//! which it is solved, for those who add to a problem while it is being solved. Nothing here knows what a class is, or
//! a device.

mod assignment;
mod bound;
mod interior;
mod relaxation;

pub use assignment::{Assignment, RowLimit, Solution};
pub use bound::{Prices, bound};
pub use interior::{Interior, Matrix, Point};
pub use relaxation::{Group, GroupTotal, NONE, Relaxation};
