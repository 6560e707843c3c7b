//! Fleets of servers with flash: simulated by counts, and advice for those that run already.
