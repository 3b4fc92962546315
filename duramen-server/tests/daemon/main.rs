//! The daemon as its users meet it: started as a process, spoken to over sockets, by our own client that can be rude, and
//! by the clients that people use.
//!
//! What they need, `make setup` installs, or the tests fetch from the registries of the clients' languages; a client that
//! is missing fails its test. Daemons listen on free ports of the loopback device and keep everything in temporary
//! directories.

mod abuse;
mod audit;
mod bind;
mod client;
mod clients;
mod disk_full;
mod harm;
mod hostile;
mod life;
mod metrics;
mod pipeline;
mod policies;
mod power;
mod process;
mod replicas;
mod slow;
mod stats;
mod threads;
mod tls;
mod tools;
mod transactions;
mod unit;
