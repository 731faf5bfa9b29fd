//! Return addresses of a sample, by the tables of the modules that are loaded.

use std::any::Any;
use std::ffi::{c_int, c_void};
use std::ops::{Deref, Range};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind, Module, UnwindRegsNative,
    Unwinder as _, UnwinderNative,
};

use crate::ring::Sample;

/// The tables of a module: a copy, or where they are loaded.
pub trait Tables: Deref<Target = [u8]> + Default {}
impl<T: Deref<Target = [u8]> + Default> Tables for T {}

/// Unwinds stacks by tables of modules.
pub struct Unwinder<T: Tables> {
    unwinder: UnwinderNative<T, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
    /// How many modules were ever loaded and unloaded, when they were looked at.
    looked_at: (u64, u64),
}

impl Unwinder<&'static [u8]> {
    /// Runs `user` once with the tables of all modules of this process, none of which can be loaded or unloaded meanwhile: the loader's lock
    /// is held, so `user` waits for no lock of its own.
    pub fn while_loaded(&mut self, user: &mut dyn FnMut(&mut Self)) {
        let mut locked = Locked { unwinder: self, user, panicked: None };
        // SAFETY: `with_lock` gets what lives during the call.
        unsafe { libc::dl_iterate_phdr(Some(with_lock), (&raw mut locked).cast()) };
        if let Some(panicked) = locked.panicked {
            resume_unwind(panicked);
        }
    }
}

impl<T: Tables> Unwinder<T> {
    /// Knows no module.
    #[must_use]
    pub fn new() -> Self {
        Unwinder { unwinder: UnwinderNative::new(), cache: CacheNative::new(), looked_at: (0, 0) }
    }

    /// Knows these modules, and no others.
    pub(crate) fn with_modules(modules: impl IntoIterator<Item = Module<T>>) -> Self {
        let mut unwinder = Unwinder::new();
        modules.into_iter().for_each(|module| unwinder.unwinder.add_module(module));
        unwinder
    }

    /// Fills in the frames of a sample, the innermost first. Each address is behind the instruction, as a return address is.
    pub fn frames(&mut self, sample: &Sample<'_>, frames: &mut [u64]) {
        let (pc, registers, sp) = split(sample.registers);
        let mut read = |address: u64| {
            let at = usize::try_from(address.checked_sub(sp).ok_or(())?).map_err(|_| ())?;
            let bytes = sample.stack.get(at..at.checked_add(8).ok_or(())?).ok_or(())?;
            Ok(u64::from_ne_bytes(bytes.try_into().map_err(|_| ())?))
        };
        let mut all = self.unwinder.iter_frames(pc, registers, &mut self.cache, &mut read);
        for place in frames {
            let Ok(Some(frame)) = all.next() else { break };
            *place = match frame {
                FrameAddress::InstructionPointer(address) => address.wrapping_add(1),
                FrameAddress::ReturnAddress(address) => address.get(),
            };
        }
    }
}

impl<T: Tables> Default for Unwinder<T> {
    fn default() -> Self {
        Unwinder::new()
    }
}

/// The instruction, what unwinding needs, and the stack pointer.
#[cfg(target_arch = "x86_64")]
fn split([bp, sp, ip]: [u64; 3]) -> (u64, UnwindRegsNative, u64) {
    (ip, UnwindRegsNative::new(ip, sp, bp), sp)
}

#[cfg(not(target_arch = "x86_64"))]
fn split([fp, lr, sp, pc]: [u64; 4]) -> (u64, UnwindRegsNative, u64) {
    (pc, UnwindRegsNative::new(lr, sp, fp), sp)
}

/// The modules of this process, with their tables where they are loaded.
type Modules = Vec<Module<&'static [u8]>>;

/// What runs while the loader keeps all modules.
struct Locked<'a> {
    unwinder: &'a mut Unwinder<&'static [u8]>,
    user: &'a mut dyn FnMut(&mut Unwinder<&'static [u8]>),
    panicked: Option<Box<dyn Any + Send>>,
}

/// Of the first module: looks at all of them where they have changed, and runs the user.
///
/// # Safety
/// The system gives a module; `data` leads to a [`Locked`].
unsafe extern "C" fn with_lock(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the caller promises that.
    let (info, locked) = unsafe { (&*info, &mut *data.cast::<Locked<'_>>()) };
    let Locked { unwinder, user, panicked } = locked;
    let now = (info.dlpi_adds, info.dlpi_subs);
    if now != unwinder.looked_at {
        let mut modules = Modules::new();
        // The loader's lock is recursive: it is this thread's.
        // SAFETY: `each` gets what lives during the call.
        unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut modules).cast()) };
        // Addresses may mean something else now.
        **unwinder = Unwinder { looked_at: now, ..Unwinder::with_modules(modules) };
    }
    // Nothing unwinds through the loader.
    *panicked = catch_unwind(AssertUnwindSafe(|| user(unwinder))).err();
    1
}

/// # Safety
/// The system gives a module that stays loaded while the loader's lock is held; `data` leads to [`Modules`].
unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the caller promises that.
    let (info, modules) = unsafe { (&*info, &mut *data.cast::<Modules>()) };
    // SAFETY: the loader has as many headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    modules.extend(module(info.dlpi_addr, headers, &mut |range| Some(loaded(range))));
    0
}

/// Memory of a module.
fn loaded(range: Range<u64>) -> &'static [u8] {
    // SAFETY: it lies in a part of a module that is loaded and readable, as `module` has seen. The module may go once the loader's lock is
    // free: whoever takes it next looks at the modules before the tables, and forgets these where one has gone.
    unsafe { std::slice::from_raw_parts(range.start as *const u8, (range.end - range.start) as usize) }
}

/// A module with its tables, which `bytes` gives from a readable part of what is loaded of it.
pub(crate) fn module<T: Tables>(
    base: u64,
    headers: &[libc::Elf64_Phdr],
    bytes: &mut dyn FnMut(Range<u64>) -> Option<T>,
) -> Option<Module<T>> {
    let at = |header: &libc::Elf64_Phdr| {
        let begin = base.wrapping_add(header.p_vaddr);
        begin..begin.saturating_add(header.p_memsz)
    };
    let loaded = || headers.iter().filter(|header| header.p_type == libc::PT_LOAD);
    let all = loaded().map(at).reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))?;
    let index = headers.iter().find(|header| header.p_type == libc::PT_GNU_EH_FRAME).map(at)?;
    let readable = |address: u64| {
        loaded()
            .filter(|header| header.p_flags & libc::PF_R != 0)
            .map(at)
            .find(|part| part.contains(&address))
    };
    if readable(index.start)?.end < index.end || index.end - index.start < 8 {
        return None;
    }
    let index_bytes = bytes(index.clone())?;
    let frames = readable(table_at(index.start, &index_bytes)?)?;
    // The table ends where a length of zero says so: until then, or to the end of what is loaded.
    let frames = table_at(index.start, &index_bytes)?..frames.end;
    let frame_bytes = bytes(frames.clone())?;
    let of_module = |range: Range<u64>| range.start.wrapping_sub(base)..range.end.wrapping_sub(base);
    let text = loaded().find(|header| header.p_flags & libc::PF_X != 0).map(at)?;
    let sections = ExplicitModuleSectionInfo {
        base_svma: 0,
        text_svma: Some(of_module(text)),
        eh_frame_svma: Some(of_module(frames)),
        eh_frame: Some(frame_bytes),
        eh_frame_hdr_svma: Some(of_module(index)),
        eh_frame_hdr: Some(index_bytes),
        ..ExplicitModuleSectionInfo::default()
    };
    Some(Module::new(String::new(), all, base, sections))
}

/// Where the table is that an index of it belongs to; none where the index is made in another way than linkers do.
fn table_at(index: u64, bytes: &[u8]) -> Option<u64> {
    const VERSION: u8 = 1;
    /// A signed number of four bytes, relative to itself.
    const RELATIVE: u8 = 0x1b;
    (bytes[0] == VERSION && bytes[1] == RELATIVE).then(|| {
        let offset = i32::from_ne_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        (index + 4).wrapping_add_signed(offset.into())
    })
}
