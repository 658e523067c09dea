//! The laws of the core, tried from outside: a simulated host drives sessions over a journal in memory,
//! crashes wherever it can, and what it leaves is checked. Knows the core's public API only; knows no
//! store, no guest and no clock.

mod bench;
mod check;
mod contexts;
mod corrupt;
mod driver;
mod gate;
mod golden;
mod grants;
mod guest;
mod hooks;
mod http;
mod imports;
mod inbox;
mod life;
mod logs;
mod once;
mod pins;
mod plan;
mod replay;
mod reruns;
mod runs;
mod spend;
mod starts;
mod world;
