//! A library that is put before the C library of a program under test (`LD_PRELOAD`), and stands between the
//! program and its files: it kills the program at a chosen write or sync, lets such calls fail, and notes them.
//! Knows the calls; which of them are chosen is read from the environment by `rules.rs`. How it is used is said
//! where tests use it, in `tests/src/preload.rs`.

#![allow(unsafe_code, reason = "it stands in for functions of the C library, whose arguments are pointers")]

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::sync::OnceLock;

mod disk;
mod rules;

use rules::{Call, Then};

/// What the next library in the search has under a name; its own callers are below, each with its right type.
struct Next {
    name: &'static CStr,
    found: OnceLock<usize>,
}

/// Where a search begins after the library that asks.
const RTLD_NEXT: *mut c_void = -1_isize as *mut c_void;
/// The clock that people read.
const CLOCK_REALTIME: c_int = 0;
/// The signal that nothing outlives.
const SIGKILL: c_int = 9;
/// The signal that makes a process stand still, as it is numbered on all of Linux's machines but MIPS.
const SIGSTOP: c_int = 19;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn __errno_location() -> *mut c_int;
    fn kill(process: c_int, signal: c_int) -> c_int;
    fn getpid() -> c_int;
    fn pause() -> c_int;
}

type Sync = unsafe extern "C" fn(c_int) -> c_int;
type Write = unsafe extern "C" fn(c_int, *const c_void, usize) -> isize;
type WriteAt = unsafe extern "C" fn(c_int, *const c_void, usize, i64) -> isize;
type Truncate = unsafe extern "C" fn(c_int, i64) -> c_int;
type ReadClock = unsafe extern "C" fn(c_int, *mut Time) -> c_int;

/// A `timespec`.
#[repr(C)]
#[derive(Debug)]
pub struct Time {
    seconds: i64,
    nanoseconds: c_long,
}

impl Next {
    const fn named(name: &'static CStr) -> Self {
        Next { name, found: OnceLock::new() }
    }

    /// The function, as an address.
    fn address(&self) -> usize {
        *self.found.get_or_init(|| {
            // SAFETY: the name ends with a zero, and the handle is one that `dlsym` knows.
            let found = unsafe { dlsym(RTLD_NEXT, self.name.as_ptr()) };
            assert!(!found.is_null(), "the C library has no {:?}", self.name);
            found as usize
        })
    }
}

/// The program's own function of this name and type.
macro_rules! next {
    ($name:literal, $type:ty) => {{
        static NEXT: Next = Next::named($name);
        // SAFETY: the C library's function of this name has this type.
        unsafe { std::mem::transmute::<usize, $type>(NEXT.address()) }
    }};
}

/// `fdatasync(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn fdatasync(file: c_int) -> c_int {
    synced(file, next!(c"fdatasync", Sync))
}

/// `fsync(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn fsync(file: c_int) -> c_int {
    synced(file, next!(c"fsync", Sync))
}

/// `pwrite(2)` with offsets of 64 bits.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(file: c_int, bytes: *const c_void, count: usize, at: i64) -> isize {
    let real = next!(c"pwrite64", WriteAt);
    // SAFETY: passed on as it came, or shorter.
    written(file, count, Some(at), |count| unsafe { real(file, bytes, count, at) })
}

/// `pwrite(2)`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite(file: c_int, bytes: *const c_void, count: usize, at: i64) -> isize {
    let real = next!(c"pwrite", WriteAt);
    // SAFETY: passed on as it came, or shorter.
    written(file, count, Some(at), |count| unsafe { real(file, bytes, count, at) })
}

/// `write(2)`.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(file: c_int, bytes: *const c_void, count: usize) -> isize {
    let real = next!(c"write", Write);
    // SAFETY: passed on as it came, or shorter.
    written(file, count, None, |count| unsafe { real(file, bytes, count) })
}

/// `ftruncate(2)` with lengths of 64 bits.
#[unsafe(no_mangle)]
pub extern "C" fn ftruncate64(file: c_int, length: i64) -> c_int {
    truncated(file, length, next!(c"ftruncate64", Truncate))
}

/// `ftruncate(2)`.
#[unsafe(no_mangle)]
pub extern "C" fn ftruncate(file: c_int, length: i64) -> c_int {
    truncated(file, length, next!(c"ftruncate", Truncate))
}

/// `clock_gettime(2)`: the clock that people read goes wrong by what a file says.
///
/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Time) -> c_int {
    let real = next!(c"clock_gettime", ReadClock);
    // SAFETY: passed on as it came.
    let told = unsafe { real(clock, time) };
    if told == 0
        && clock == CLOCK_REALTIME
        && let Some(off_ms) = rules::clock_off_ms()
    {
        // SAFETY: the call was successful, so it has written a time there.
        let time = unsafe { &mut *time };
        let nanoseconds = time.nanoseconds + off_ms.rem_euclid(1_000) * 1_000_000;
        time.seconds += off_ms.div_euclid(1_000) + nanoseconds / 1_000_000_000;
        time.nanoseconds = nanoseconds % 1_000_000_000;
    }
    told
}

fn synced(file: c_int, real: Sync) -> c_int {
    // SAFETY: any number may be given; one that is no file is refused.
    let sync = || unsafe { real(file) };
    let Some((path, then)) = rules::of(Call::Sync, file) else { return sync() };
    match then {
        None => {
            let done = sync();
            if done == 0 {
                disk::synced(&path);
            }
            done
        }
        Some(Then::StopBefore) => {
            stand_still();
            sync()
        }
        Some(Then::KillBefore) => die(),
        Some(Then::KillAfter) => {
            sync();
            die()
        }
        Some(Then::KillLost) => {
            disk::lose(0);
            die()
        }
        Some(Then::KillTorn) => {
            disk::lose(2);
            die()
        }
        Some(Then::Fail(errno)) => fail(errno),
        // There is no half of a sync.
        Some(Then::Short) => sync(),
    }
}

fn written(file: c_int, count: usize, at: Option<i64>, real: impl Fn(usize) -> isize) -> isize {
    let Some((path, then)) = rules::of(Call::Write, file) else { return real(count) };
    let write = |count: usize| {
        if let Some(at) = at {
            disk::before(file, &path, at.unsigned_abs(), count);
        }
        real(count)
    };
    match then {
        None => write(count),
        Some(Then::StopBefore) => {
            stand_still();
            write(count)
        }
        Some(Then::KillBefore) => die(),
        Some(Then::KillAfter) => {
            write(count);
            die()
        }
        Some(Then::KillLost) => {
            disk::lose(0);
            die()
        }
        Some(Then::KillTorn) => {
            write(count.div_ceil(2));
            die()
        }
        Some(Then::Fail(errno)) => fail(errno) as isize,
        Some(Then::Short) => write(count.div_ceil(2)),
    }
}

fn truncated(file: c_int, length: i64, real: Truncate) -> c_int {
    // SAFETY: any number may be given; one that is no file is refused.
    let truncate = || unsafe { real(file, length) };
    match rules::of(Call::Truncate, file) {
        None | Some((_, None | Some(Then::Short))) => truncate(),
        Some((_, Some(Then::Fail(errno)))) => fail(errno),
        Some((_, Some(Then::StopBefore))) => {
            stand_still();
            truncate()
        }
        Some((_, Some(Then::KillAfter))) => {
            truncate();
            die()
        }
        Some((_, Some(Then::KillBefore | Then::KillLost | Then::KillTorn))) => die(),
    }
}

/// What a call that fails answers.
fn fail(errno: c_int) -> c_int {
    // SAFETY: the C library's own place for this thread.
    unsafe { *__errno_location() = errno };
    -1
}

/// Until somebody sends SIGCONT.
fn stand_still() {
    // SAFETY: the process is this one.
    unsafe { kill(getpid(), SIGSTOP) };
}

fn die() -> ! {
    // SAFETY: the process is this one, and nothing of it is used any more.
    unsafe {
        kill(getpid(), SIGKILL);
        loop {
            pause();
        }
    }
}
