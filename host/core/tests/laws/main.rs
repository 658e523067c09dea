//! The laws of the core, tried from outside: a simulated host drives sessions over a journal in memory,
//! crashes wherever it can, and what it leaves is checked. Knows the core's public API only; knows no
//! store, no guest and no clock.

mod again;
mod answers;
mod bench;
mod changes;
mod check;
mod claims;
mod contexts;
mod corrupt;
mod driver;
mod ends;
mod gate;
mod golden;
mod grants;
mod guest;
mod hooks;
mod http;
mod imports;
mod inbox;
mod judges;
mod life;
mod logs;
mod once;
mod pins;
mod plan;
mod policy;
mod replay;
mod reruns;
mod runs;
mod settings;
mod spend;
mod starts;
mod untrusted;
mod values;
mod views;
mod waits;
mod world;
mod written;
