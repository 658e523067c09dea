//! Whole sessions, in this process: real components, the real store, the real driver.

mod asking;
mod bundles;
mod cuts;
mod endings;
mod events;
mod faults;
mod files;
mod files_hostile;
mod files_recorded;
mod grants;
mod hook_events;
mod hooks;
mod hostile;
mod hostile_denied;
mod hostile_neighbours;
mod hosts;
mod http;
mod http_bounds;
mod inbox;
mod interrupts;
mod journals;
mod limits;
mod repeats;
mod sessions;
mod starts;
mod tools;
