//! Where another process is: it is stopped for less than a millisecond, its registers and the top of its stack are copied, and it runs on.
//!
//! A debugger does the same (`ptrace`, `process_vm_readv`), and the kernel allows it to whom it allows that: the same user where
//! `/proc/sys/kernel/yama/ptrace_scope` is 0, and the administrator. A system call that the process waits in begins again by itself, but for a
//! few, such as `epoll_wait`, which return as if a signal had come.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::mem;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::ptr;
use std::time::{Duration, Instant};

use framehop::Module;

use crate::ring::{REGISTERS, Sample};
use crate::stacks::{Unwinder, module};

/// The most bytes of the stack that are copied.
const STACK_BYTES: u64 = 1 << 20;
/// The most frames that are given.
const FRAMES: usize = 32;
/// A process that does not stop within this time, because the kernel works for it, is let alone.
const STOPS_WITHIN: Duration = Duration::from_millis(500);
/// The tables of a module are not longer.
const TABLE_BYTES: u64 = 1 << 28;

/// A frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The program or library.
    pub path: PathBuf,
    /// The address behind its call, as the file counts addresses.
    pub address: u64,
}

/// The frames of the first thread of a process, the innermost first, if it has this file mapped; which process is meant would not be known
/// otherwise: another host has the same numbers.
///
/// # Errors
/// The process is not there, is another one, does not stop, or may not be looked at.
pub fn stack_of(process: u32, file: &Path) -> io::Result<Vec<Frame>> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    let mappings: Vec<Mapping> = maps.lines().filter_map(Mapping::of).collect();
    if !mappings.iter().any(|mapping| mapping.path == file) {
        return Err(io::Error::new(io::ErrorKind::NotFound, "another process has this number"));
    }
    let process = libc::pid_t::try_from(process).map_err(io::Error::other)?;
    let (registers, stack) = {
        let stopped = Stopped::new(process)?;
        let registers = stopped.registers()?;
        let pointer = registers[STACK_POINTER];
        let here = mappings.iter().find(|mapping| mapping.range.contains(&pointer));
        let end = here.map_or(pointer, |here| here.range.end.min(pointer.saturating_add(STACK_BYTES)));
        (registers, read(process, pointer..end)?)
    };
    let files = loaded(process, &mappings);
    let modules = files.values().filter_map(|(base, headers)| {
        module(*base, headers, &mut |range| {
            (range.end - range.start <= TABLE_BYTES).then(|| read(process, range).ok())?
        })
    });
    let mut unwinder = Unwinder::with_modules(modules.collect::<Vec<Module<Vec<u8>>>>());
    let mut addresses = [0; FRAMES];
    unwinder.frames(&Sample { registers, stack: &stack }, &mut addresses);
    let frame = |address: u64| {
        let mapping = mappings.iter().find(|mapping| mapping.range.contains(&address.wrapping_sub(1)))?;
        let (base, _) = files.get(&mapping.path)?;
        Some(Frame { path: mapping.path.clone(), address: address.wrapping_sub(*base) })
    };
    Ok(addresses.into_iter().take_while(|address| *address != 0).filter_map(frame).collect())
}

/// The place of the stack pointer among the registers.
const STACK_POINTER: usize = if cfg!(target_arch = "x86_64") { 1 } else { 2 };

/// A part of the address space that has a file.
struct Mapping {
    range: Range<u64>,
    offset: u64,
    path: PathBuf,
}

impl Mapping {
    /// Of a line of `/proc/PID/maps`: `begin-end flags offset device inode path`.
    fn of(line: &str) -> Option<Mapping> {
        let mut words = line.splitn(6, ' ').map(str::trim);
        let (begin, end) = words.next()?.split_once('-')?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        let (range, offset) = (number(begin)?..number(end)?, number(words.nth(1)?)?);
        let path = words.nth(2).unwrap_or_default();
        Some(Mapping { range, offset, path: PathBuf::from(path.strip_suffix(" (deleted)").unwrap_or(path)) })
    }
}

/// By file: what is added to its addresses, and its headers.
fn loaded(process: libc::pid_t, mappings: &[Mapping]) -> BTreeMap<PathBuf, (u64, Vec<libc::Elf64_Phdr>)> {
    let first = mappings.iter().filter(|mapping| mapping.offset == 0 && mapping.path.is_absolute());
    let of = |mapping: &Mapping| {
        let at = mapping.range.start;
        let header = read(process, at..at + mem::size_of::<libc::Elf64_Ehdr>() as u64).ok()?;
        if header.get(..4)? != b"\x7fELF" {
            return None;
        }
        // SAFETY: it is as long, and any bytes are one.
        let header: libc::Elf64_Ehdr = unsafe { ptr::read_unaligned(header.as_ptr().cast()) };
        let size = mem::size_of::<libc::Elf64_Phdr>();
        let begin = at.checked_add(header.e_phoff)?;
        let bytes = read(process, begin..begin + u64::from(header.e_phnum) * size as u64).ok()?;
        let headers: Vec<libc::Elf64_Phdr> = bytes
            .chunks_exact(size)
            // SAFETY: as above.
            .map(|one| unsafe { ptr::read_unaligned(one.as_ptr().cast()) })
            .collect();
        let lowest = headers.iter().filter(|one| one.p_type == libc::PT_LOAD).map(|one| one.p_vaddr).min()?;
        Some((mapping.path.clone(), (at.wrapping_sub(lowest & !0xfff), headers)))
    };
    let mut files = BTreeMap::new();
    for (path, file) in first.filter_map(of) {
        files.entry(path).or_insert(file);
    }
    files
}

/// Memory of a process, as much as there is.
fn read(process: libc::pid_t, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes =
        vec![0u8; usize::try_from(range.end.saturating_sub(range.start)).map_err(io::Error::other)?];
    let here = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let there = libc::iovec { iov_base: range.start as *mut libc::c_void, iov_len: bytes.len() };
    // SAFETY: one part on each side; the own one is as long as it says.
    let length = unsafe { libc::process_vm_readv(process, &raw const here, 1, &raw const there, 1, 0) };
    bytes.truncate(usize::try_from(length).map_err(|_| io::Error::last_os_error())?);
    Ok(bytes)
}

/// A thread that is stopped, until this is dropped; with the signal that it stopped for, which it gets then, or 0.
struct Stopped(libc::pid_t, libc::c_int);

impl Stopped {
    fn new(thread: libc::pid_t) -> io::Result<Stopped> {
        let nothing = ptr::null_mut::<libc::c_void>();
        // SAFETY: neither address nor data are asked for.
        let ask = |what| match unsafe { libc::ptrace(what, thread, nothing, nothing) } {
            -1 => Err(io::Error::last_os_error()),
            _ => Ok(()),
        };
        ask(libc::PTRACE_SEIZE)?;
        let mut stopped = Stopped(thread, 0);
        ask(libc::PTRACE_INTERRUPT)?;
        let deadline = Instant::now() + STOPS_WITHIN;
        loop {
            let mut status = 0;
            // SAFETY: `status` outlives the call.
            match unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL | libc::WNOHANG) } {
                0 if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
                0 => return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not stop")),
                -1 => return Err(io::Error::last_os_error()),
                _ if libc::WIFSTOPPED(status) => {
                    // Ours has an event beside the signal.
                    stopped.1 = if status >> 16 == 0 { libc::WSTOPSIG(status) } else { 0 };
                    return Ok(stopped);
                }
                _ => return Err(io::Error::new(io::ErrorKind::NotFound, "it has ended")),
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn registers(&self) -> io::Result<[u64; REGISTERS.len()]> {
        let all: libc::user_regs_struct = self.all()?;
        Ok([all.rbp, all.rsp, all.rip])
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn registers(&self) -> io::Result<[u64; REGISTERS.len()]> {
        let all: libc::user_regs_struct = self.all()?;
        Ok([all.regs[29], all.regs[30], all.sp, all.pc])
    }

    fn all<T>(&self) -> io::Result<T> {
        const NT_PRSTATUS: usize = 1;
        let mut all = mem::MaybeUninit::<T>::zeroed();
        let mut part = libc::iovec { iov_base: all.as_mut_ptr().cast(), iov_len: mem::size_of::<T>() };
        // SAFETY: the kernel writes no more than the part says.
        match unsafe { libc::ptrace(libc::PTRACE_GETREGSET, self.0, NT_PRSTATUS, &raw mut part) } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: zeroed, and then written by the kernel: numbers alone.
            _ => Ok(unsafe { all.assume_init() }),
        }
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let nothing = ptr::null_mut::<libc::c_void>();
        // SAFETY: no address is asked for, and the data is a number. One that has not stopped runs on when this process ends.
        unsafe { libc::ptrace(libc::PTRACE_DETACH, self.0, nothing, libc::c_long::from(self.1)) };
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn lines_of_the_map_are_read() {
        let line = "7f10a000-7f10b000 r-xp 00002000 fe:00 1234     /opt/a b/lib.so (deleted)";
        let mapping = Mapping::of(line).unwrap();
        assert_eq!((mapping.range, mapping.offset), (0x7f10_a000..0x7f10_b000, 0x2000));
        assert_eq!(mapping.path, Path::new("/opt/a b/lib.so"));
        assert_eq!(Mapping::of("7ffc0000-7ffc1000 rw-p 00000000 00:00 0 ").unwrap().path, Path::new(""));
        assert!(Mapping::of("").is_none());
    }

    /// A program that sleeps is found in the C library, goes on, and ends as it would have.
    #[test]
    fn the_stack_of_a_program_that_sleeps() {
        let mut sleeps = Command::new("/bin/sleep").arg("1.5").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(300));
        assert!(stack_of(sleeps.id(), Path::new("/nowhere")).is_err(), "another process");
        let program = fs::canonicalize("/bin/sleep").unwrap();
        let frames = stack_of(sleeps.id(), &program).expect("one may look at one's own child");
        let of = |name: &str| frames.iter().any(|frame| frame.path.to_string_lossy().contains(name));
        assert!(frames.len() >= 3 && of("libc") && of("sleep"), "{frames:?}");
        assert_eq!(sleeps.wait().unwrap().code(), Some(0));
    }
}
