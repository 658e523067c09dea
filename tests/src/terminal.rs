//! The program at a terminal: what it shows there is read, and what a person would type is typed. The
//! terminal is a pseudo-terminal of the system's; no job control is in play.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{FromRawFd as _, OwnedFd};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use rustix::termios::LocalModes;

use crate::world::HANGS;

/// How often the screen is looked at.
const POLL: Duration = Duration::from_millis(5);

/// Its size.
const COLUMNS: u16 = 90;
/// See there.
const LINES: u16 = 40;

/// A process with a person at its terminal; killed if it is dropped.
pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<String>>,
    /// What of the screen was looked at.
    seen: usize,
}

impl Terminal {
    /// Starts a command whose standard streams are all a terminal.
    ///
    /// # Panics
    /// If there is no terminal to be had, or the command cannot be started.
    pub(crate) fn start(mut command: Command) -> Self {
        let (master, slave) = pair();
        let side = || Stdio::from(slave.try_clone().expect("a handle"));
        let child = command.stdin(side()).stdout(side()).stderr(side()).spawn().expect("the program starts");
        // It holds the program's side: once that is closed here too, the end of the program ends the reading.
        drop((command, slave));
        let keyboard = File::from(master);
        let mut reader = keyboard.try_clone().expect("a handle");
        let screen = Arc::<Mutex<String>>::default();
        let shown = screen.clone();
        thread::spawn(move || {
            let mut bytes = [0; 4 << 10];
            let mut left = Vec::new();
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                left.extend_from_slice(&bytes[..count]);
                // A character can be cut between two reads.
                let whole = match std::str::from_utf8(&left) {
                    Err(error) if error.error_len().is_none() => error.valid_up_to(),
                    _ => left.len(),
                };
                let text = String::from_utf8_lossy(&left[..whole]).into_owned();
                left.drain(..whole);
                shown.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
            }
        });
        Terminal { child, keyboard, screen, seen: 0 }
    }

    /// All that was shown.
    pub fn screen(&self) -> String {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What the terminal looks like now: its lines, as a person sees them.
    pub fn picture(&self) -> String {
        let size = |n: u16| n.try_into().expect("a size");
        let mut terminal = vt100::Parser::new(size(LINES), size(COLUMNS), 0);
        terminal.process(self.screen().as_bytes());
        terminal.screen().contents()
    }

    /// Presses keys, as a terminal sends them: Enter is `\r`.
    ///
    /// # Panics
    /// If nobody takes them.
    pub fn presses(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("pressed");
    }

    /// Waits until this is shown, after what was waited for before; returns what was shown up to it.
    ///
    /// # Panics
    /// If it does not come.
    #[track_caller]
    pub fn until(&mut self, words: &str) -> String {
        let deadline = Instant::now() + HANGS;
        loop {
            let screen = self.screen();
            if let Some(at) = screen[self.seen..].find(words) {
                let shown = screen[self.seen..self.seen + at].to_owned();
                self.seen += at + words.len();
                return shown;
            }
            assert!(Instant::now() < deadline, "{words:?} never comes; the screen:\n{screen}");
            thread::sleep(POLL);
        }
    }

    /// Sends the process a signal.
    ///
    /// # Panics
    /// If it is gone.
    pub fn signal(&self, signal: Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).expect("sent");
    }

    /// Whether the terminal edits lines and shows what is typed, as shells expect it.
    ///
    /// # Panics
    /// If it cannot be asked.
    pub fn is_cooked(&self) -> bool {
        let modes = rustix::termios::tcgetattr(&self.keyboard).expect("its modes").local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Types a line.
    ///
    /// # Panics
    /// If nobody takes it.
    pub fn types(&mut self, line: &str) {
        self.keyboard.write_all(format!("{line}\n").as_bytes()).expect("typed");
    }

    /// Waits for the program's end; returns its exit code, none if a signal ended it.
    ///
    /// # Panics
    /// If it does not end.
    #[track_caller]
    pub fn end(mut self) -> Option<i32> {
        self.wait().code()
    }

    /// Waits for the program's end; returns how it ended.
    ///
    /// # Panics
    /// If it does not end.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + HANGS;
        loop {
            if let Some(status) = self.child.try_wait().expect("its status") {
                return status;
            }
            assert!(Instant::now() < deadline, "the program hangs; the screen:\n{}", self.screen());
            thread::sleep(POLL);
        }
    }
}

/// Both sides of a new pseudo-terminal: the person's, and the program's.
///
/// `rustix` can do this only with a feature that would build the engine again.
#[expect(unsafe_code, reason = "the C library gives two numbers of descriptors")]
fn pair() -> (OwnedFd, OwnedFd) {
    let (mut master, mut slave) = (-1, -1);
    let (name, modes) = (null_mut(), null_mut());
    let mut size = libc::winsize { ws_row: LINES, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: both numbers may be written to, the size is read; the name and the modes may be left out.
    let opened = unsafe { libc::openpty(&raw mut master, &raw mut slave, name, modes, &raw mut size) };
    assert_eq!(opened, 0, "a pseudo-terminal: {}", std::io::Error::last_os_error());
    // SAFETY: they were just opened, and nobody else knows them.
    let owned = |number| unsafe { OwnedFd::from_raw_fd(number) };
    let (master, slave) = (owned(master), owned(slave));
    for side in [&master, &slave] {
        // No other process that a test starts may keep the terminal open.
        rustix::io::fcntl_setfd(side, rustix::io::FdFlags::CLOEXEC).expect("a descriptor");
    }
    (master, slave)
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // One that is over cannot be killed, and need not be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
