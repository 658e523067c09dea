//! The program itself, as people and scripts use it: killed, moved, asked, and given what is malformed.

mod again;
mod asking;
mod compiling;
mod cut;
mod evidence;
mod exits;
mod grants;
mod kill;
mod malformed;
mod moved;
mod places;
mod reading;
mod terminal;
mod traps;
