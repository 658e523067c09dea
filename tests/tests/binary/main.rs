//! The program itself, as people and scripts use it: killed, moved, asked, and given what is malformed.

mod again;
mod asking;
mod bundles_build;
mod bundles_check;
mod bundles_installed;
mod bundles_new;
mod bundles_packed;
mod bundles_testing;
mod compiling;
mod cut;
mod doctor;
mod evidence;
mod exits;
mod grants;
mod imports;
mod kill;
mod malformed;
mod moved;
mod places;
mod reading;
mod scripts;
mod talk;
mod terminal;
mod traps;
mod walk;
mod workspace;
