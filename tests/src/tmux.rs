//! The program in tmux: a terminal that people use, with a server of the test's own. What its window shows is read,
//! and keys are pressed in it.

use std::process::{Command, Output};

use tempfile::TempDir;

/// A window with a program in it; the server is killed if this is dropped.
pub struct Tmux {
    folder: TempDir,
}

impl Tmux {
    /// Whether there is tmux on this machine.
    pub fn is_there() -> bool {
        Command::new("tmux").arg("-V").output().is_ok_and(|output| output.status.success())
    }

    /// Starts a command in a window. The window stays when it has ended, and shows its exit code.
    ///
    /// # Panics
    /// If tmux cannot be started.
    pub(crate) fn start(command: &Command, columns: u16, lines: u16) -> Self {
        let tmux = Tmux { folder: tempfile::tempdir().expect("a folder") };
        let mut start = tmux.command(&["-f", "/dev/null", "new-session", "-d"]);
        start.args(["-x", &columns.to_string(), "-y", &lines.to_string()]);
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => start.env(name, value),
                None => start.env_remove(name),
            };
        }
        // Of the window's shell, which says how the program ended and then waits to be killed.
        start.args(["sh", "-c", "\"$@\"; echo \"ended with $?\"; exec sleep 600", "sh"]);
        start.arg(command.get_program()).args(command.get_args());
        let started = start.output().expect("tmux starts");
        assert!(started.status.success(), "{}", String::from_utf8_lossy(&started.stderr));
        tmux
    }

    /// What the window shows.
    pub fn picture(&self) -> String {
        String::from_utf8_lossy(&self.run(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Everything that was shown and scrolled out, and the window.
    pub fn record(&self) -> String {
        String::from_utf8_lossy(&self.run(&["capture-pane", "-p", "-S", "-"]).stdout).into_owned()
    }

    /// Presses keys, as a terminal sends them.
    pub fn presses(&mut self, keys: &str) {
        let bytes: Vec<String> = keys.bytes().map(|byte| format!("{byte:02x}")).collect();
        let mut command = self.command(&["send-keys", "-H"]);
        let sent = command.args(bytes).output().expect("tmux runs");
        assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    }

    /// Gives the window another size.
    pub fn resize(&mut self, columns: u16, lines: u16) {
        self.run(&["resize-window", "-x", &columns.to_string(), "-y", &lines.to_string()]);
    }

    fn run(&self, args: &[&str]) -> Output {
        let output = self.command(args).output().expect("tmux runs");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(self.folder.path().join("socket")).args(args);
        command.env_remove("TMUX");
        command
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        // A server that is gone cannot be killed, and need not be.
        let _ = self.command(&["kill-server"]).output();
    }
}
