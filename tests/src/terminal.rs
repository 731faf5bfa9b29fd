//! A terminal without a window: a program runs in it, keys are pressed, and the screen is read.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// No test waits longer for something on the screen, even on a machine that is busy with other things.
const LIMIT: Duration = Duration::from_secs(120);

/// A program in a terminal.
pub struct Terminal {
    master: File,
    /// Held, so that the terminal outlives its program.
    slave: File,
    child: Child,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal").field("child", &self.child).finish_non_exhaustive()
    }
}

impl Terminal {
    /// Starts a command in a terminal of so many lines and columns.
    ///
    /// # Panics
    /// If there is no terminal, or the command cannot be started.
    pub fn start(mut command: Command, lines: u16, columns: u16) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("its other side");
        let size = Winsize { ws_row: lines, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).expect("it has a size");
        let name = ptsname(&master, Vec::new()).expect("it has a name").into_string().expect("in Unicode");
        let slave = File::options().read(true).write(true).open(name).expect("its other side");
        let side = || slave.try_clone().expect("a copy");
        command.stdin(side()).stdout(side()).stderr(side()).env("TERM", "xterm-256color");
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        // The command holds copies.
        drop(command);
        let master = File::from(master);
        let screen = Arc::new(Mutex::new(vt100::Parser::new(lines, columns, 0)));
        let (mut from, to) = (master.try_clone().expect("a copy"), Arc::clone(&screen));
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                to.lock().expect("no panic").process(&bytes[..count]);
            }
        });
        Terminal { master, slave, child, screen }
    }

    /// The process in it.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// What stands on the screen.
    ///
    /// # Panics
    /// If what was written is no text.
    pub fn text(&self) -> String {
        self.screen.lock().expect("no panic").screen().contents()
    }

    /// Whether the first line with that text shows it in bold letters.
    ///
    /// # Panics
    /// If it is not on the screen.
    pub fn is_bold(&self, text: &str) -> bool {
        let parser = self.screen.lock().expect("no panic");
        let screen = parser.screen();
        let (_, columns) = screen.size();
        let place = (0..).zip(screen.rows(0, columns)).find_map(|(row, line)| Some((row, line.find(text)?)));
        let (row, column) =
            place.unwrap_or_else(|| panic!("{text} is not on the screen:\n{}", screen.contents()));
        let cell = u16::try_from(column).ok().and_then(|column| screen.cell(row, column));
        cell.is_some_and(vt100::Cell::bold)
    }

    /// Waits until the screen shows what is looked for, and returns it.
    ///
    /// # Panics
    /// If it does not in two minutes; the screen is shown then.
    pub fn until<T>(&mut self, what: &str, mut found: impl FnMut(&str) -> Option<T>) -> T {
        let deadline = Instant::now() + LIMIT;
        loop {
            let text = self.text();
            if let Some(found) = found(&text) {
                return found;
            }
            assert!(Instant::now() < deadline, "{what} is not on the screen:\n{text}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses keys.
    ///
    /// # Panics
    /// If the terminal is gone.
    pub fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits for the end of the program.
    ///
    /// # Panics
    /// If it does not end in two minutes.
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(status) = self.child.try_wait().expect("it is a child") {
                return status;
            }
            assert!(Instant::now() < deadline, "it does not end:\n{}", self.text());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whether the terminal is as a shell wants it: lines are edited, keys are echoed, the cursor is seen, and the screen is that from
    /// before.
    ///
    /// # Panics
    /// If the terminal is gone.
    pub fn is_restored(&self) -> bool {
        // What the program wrote last may still be on its way to the screen.
        let deadline = Instant::now() + LIMIT / 10;
        while !self.is_as_before() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(20));
        }
        self.is_as_before()
    }

    fn is_as_before(&self) -> bool {
        let modes = tcgetattr(&self.slave).expect("it is a terminal").local_modes;
        let parser = self.screen.lock().expect("no panic");
        let screen = parser.screen();
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
            && !screen.alternate_screen()
            && !screen.hide_cursor()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
