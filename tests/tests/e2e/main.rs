//! Whole sessions, in this process: real components, the real store, the real driver.

mod asking;
mod bundle_check;
mod bundles;
mod cuts;
mod endings;
mod events;
mod faults;
mod files;
mod files_recorded;
mod grants;
mod hook_events;
mod hooks;
mod hostile;
mod hostile_denied;
mod hostile_neighbours;
mod hosts;
mod http;
mod imports;
mod inbox;
mod interrupts;
mod journals;
mod repeats;
mod sessions;
mod starts;
mod tools;
