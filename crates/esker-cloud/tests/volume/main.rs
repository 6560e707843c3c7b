//! Cloud volumes as devices: closed forms, bounds, reports.

mod closed_forms;
mod common;
mod limits;
mod reports;
mod requests;
mod saving;
