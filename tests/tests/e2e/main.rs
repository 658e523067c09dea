//! Whole sessions, in this process: real components, the real store, the real driver.

mod cuts;
mod sessions;
