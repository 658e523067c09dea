//! Whole sessions, in this process: real components, the real store, the real driver.

mod bundles;
mod cuts;
mod endings;
mod events;
mod faults;
mod hooks;
mod hosts;
mod inbox;
mod interrupts;
mod journals;
mod repeats;
mod sessions;
mod starts;
mod tools;
