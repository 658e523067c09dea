//! A deterministic simulation: the real driver and real guests over a store in memory that fails as a seed says. Runs
//! seeds, checks what they leave, and shows that the checks can fail. docs/testing.md says how to run one alone.

mod appends;
mod check;
mod doctored;
mod evidence;
mod faults;
mod found;
mod owners;
mod people;
mod plan;
mod process;
mod run;
mod scene;
mod seeds;
mod sends;
mod sim;
mod stage;
mod store;
mod time;
mod transcript;
