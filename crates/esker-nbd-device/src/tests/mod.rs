//! Devices against servers of all sorts.

mod device;
mod driver;
mod hostile;
mod others;
mod plain_server;
mod tls;
mod volume;
