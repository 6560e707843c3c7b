//! All integration tests, in one program.

mod client;
mod exports;
mod hostile;
mod operations;
mod requests;
mod served;
mod taking_over;
mod tls;
