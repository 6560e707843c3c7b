//! Fleets and advice, from outside.

mod advice;
mod calibration;
