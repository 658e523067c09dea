//! The terminal as a device: its modes, its size, the bytes that come from it and the signals that are about it.
//! Knows neither keys nor rows.

use std::io::{self, Read as _, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use rustix::termios::{self, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios};
use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGBUS, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGSYS, SIGTERM, SIGTRAP, SIGUSR1, SIGUSR2,
    SIGVTALRM, SIGXCPU, SIGXFSZ,
};
use signal_hook::low_level::{emulate_default_handler, register};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::exit::Failure;

/// Pieces of input that wait.
const INPUT_MAX: usize = 512;
/// No key is this one.
const NO_KEY: u8 = 0;
/// Columns and lines of a terminal that does not say.
const SIZE: (usize, usize) = (80, 24);
/// A paste comes marked as one.
const MARKS_ON: &[u8] = b"\x1b[?2004h";
const MARKS_OFF: &[u8] = b"\x1b[?2004l\x1b[?25h";

/// Of a process that a signal ends: no frame is left open, and the rows that change are gone.
const MARKS_OFF_AT_ONCE: &[u8] = b"\x1b[?2004l\x1b[?25h\x1b[?2026l\r\x1b[J";

/// Signals that end a process and can be caught. Not those of faults in memory or code: they are the sandbox's.
const ENDS: [i32; 15] = [
    SIGHUP, SIGINT, SIGQUIT, SIGTRAP, SIGABRT, SIGBUS, SIGUSR1, SIGUSR2, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ,
    SIGVTALRM, SIGPROF, SIGSYS,
];

/// The terminal's modes before it was taken.
static BEFORE: OnceLock<Termios> = OnceLock::new();
/// Whether the terminal has other modes now.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
/// Whether the conversation listens to the signals of [`Signals`], and leaves in good order.
static IS_LISTENING: AtomicBool = AtomicBool::new(false);

/// The terminal, every key of which comes as it is pressed; restored when this is dropped, or a signal ends the process.
pub(super) struct Tty(());

impl Tty {
    /// Takes the terminal. Ctrl-C ends the process until [`Tty::take_all_keys`].
    pub(super) fn take() -> Result<Tty, Failure> {
        let failed = |error: io::Error| Failure::io("taking the terminal", error);
        let stdin = io::stdin();
        let before = termios::tcgetattr(&stdin).map_err(|error| failed(error.into()))?;
        if BEFORE.set(before.clone()).is_ok() {
            restore_at_ends().map_err(failed)?;
        }
        let mut modes = before;
        modes.make_raw();
        modes.local_modes |= LocalModes::ISIG;
        modes.special_codes[SpecialCodeIndex::VSUSP] = NO_KEY;
        // What others write here begins its lines at the left.
        modes.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
        let tty = Tty(());
        IS_TAKEN.store(true, Ordering::SeqCst);
        termios::tcsetattr(&stdin, OptionalActions::Drain, &modes).map_err(|error| failed(error.into()))?;
        write(MARKS_ON).map_err(failed)?;
        Ok(tty)
    }

    /// From now on all keys come as they are pressed, Ctrl-C too.
    pub(super) fn take_all_keys(&self) -> Result<(), Failure> {
        let failed = |error: rustix::io::Errno| Failure::io("taking the terminal", error);
        let mut modes = termios::tcgetattr(io::stdin()).map_err(failed)?;
        modes.local_modes.remove(LocalModes::ISIG);
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &modes).map_err(failed)
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        let _ = write(MARKS_OFF);
        if let Some(before) = BEFORE.get() {
            let _ = termios::tcsetattr(io::stdin(), OptionalActions::Drain, before);
        }
        IS_TAKEN.store(false, Ordering::SeqCst);
    }
}

/// Has every signal that ends the process restore the terminal first. Done where the signal arrives, so that it helps
/// when the process hangs or aborts.
fn restore_at_ends() -> io::Result<()> {
    for signal in ENDS {
        // SAFETY: what is called where the signal arrives loads atomics and makes system calls, no more.
        #[expect(unsafe_code, reason = "a handler of signals is bound to what is safe in one")]
        unsafe { register(signal, move || ended(signal)) }?;
    }
    Ok(())
}

/// Runs where a signal arrives.
fn ended(signal: i32) {
    if IS_LISTENING.load(Ordering::SeqCst) && [SIGHUP, SIGINT, SIGTERM].contains(&signal) {
        return;
    }
    if IS_TAKEN.load(Ordering::SeqCst)
        && let Some(before) = BEFORE.get()
    {
        let _ = rustix::io::write(io::stdout(), MARKS_OFF_AT_ONCE);
        let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, before);
    }
    let _ = emulate_default_handler(signal);
}

/// Writes to the terminal.
pub(super) fn write(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}

/// Columns and lines of the terminal as it is now.
pub(super) fn size() -> (usize, usize) {
    match termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            (usize::from(size.ws_col), usize::from(size.ws_row))
        }
        _ => SIZE,
    }
}

/// Bytes that were read at once, and when.
pub(super) struct Typed {
    pub(super) bytes: Vec<u8>,
    pub(super) at: Instant,
}

/// What is typed, as it comes; closed when the terminal is gone. The thread that reads ends with the process.
pub(super) fn input() -> mpsc::Receiver<Typed> {
    let (sender, receiver) = mpsc::channel(INPUT_MAX);
    thread::spawn(move || {
        let mut bytes = [0; 4 << 10];
        loop {
            match io::stdin().lock().read(&mut bytes) {
                Ok(count @ 1..) => {
                    let typed = Typed { bytes: bytes[..count].to_vec(), at: Instant::now() };
                    if sender.blocking_send(typed).is_err() {
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    });
    receiver
}

/// What the system says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// The terminal has another size.
    Resized,
    /// Somebody interrupts the process from outside.
    Interrupt,
    /// The process is to end.
    End,
}

/// The signals that are listened to.
pub(super) struct Signals {
    resized: Signal,
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    pub(super) fn listen() -> Result<Signals, Failure> {
        let open = |kind| signal(kind).map_err(|error| Failure::io("listening for signals", error));
        let signals = Signals {
            resized: open(SignalKind::window_change())?,
            interrupt: open(SignalKind::interrupt())?,
            terminate: open(SignalKind::terminate())?,
            hangup: open(SignalKind::hangup())?,
        };
        IS_LISTENING.store(true, Ordering::SeqCst);
        Ok(signals)
    }

    pub(super) async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.resized.recv() => Told::Resized,
            _ = self.interrupt.recv() => Told::Interrupt,
            _ = self.terminate.recv() => Told::End,
            _ = self.hangup.recv() => Told::End,
        }
    }
}
