//! The program itself, as people and scripts use it: killed, moved, asked, and given what is malformed.

mod again;
mod cut;
mod evidence;
mod exits;
mod kill;
mod malformed;
mod moved;
mod places;
mod reading;
