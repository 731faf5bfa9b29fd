//! Return addresses of a sample, by the tables of the modules that are loaded.

use std::ffi::{c_int, c_void};
use std::ops::Range;

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind, Module, UnwindRegsNative,
    Unwinder as _, UnwinderNative,
};

use crate::ring::Sample;

/// Unwinds stacks of this process.
pub struct Unwinder {
    unwinder: UnwinderNative<Vec<u8>, MayAllocateDuringUnwind>,
    cache: CacheNative<MayAllocateDuringUnwind>,
    /// How many modules were ever loaded and unloaded, when they were looked at.
    looked_at: (u64, u64),
}

impl Unwinder {
    /// Knows no module.
    #[must_use]
    pub fn new() -> Unwinder {
        Unwinder { unwinder: UnwinderNative::new(), cache: CacheNative::new(), looked_at: (0, 0) }
    }

    /// Looks at the modules of the process, where these have changed.
    pub fn follow_modules(&mut self) {
        let mut look = Look { known: self.looked_at, now: self.looked_at, modules: Vec::new() };
        // SAFETY: `each` gets what lives during the call.
        unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut look).cast()) };
        if look.now == self.looked_at {
            return;
        }
        self.looked_at = look.now;
        // Addresses may mean something else now.
        (self.unwinder, self.cache) = (UnwinderNative::new(), CacheNative::new());
        look.modules.into_iter().for_each(|module| self.unwinder.add_module(module));
    }

    /// Knows these modules, and no others.
    pub(crate) fn with_modules(modules: impl IntoIterator<Item = Module<Vec<u8>>>) -> Unwinder {
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

impl Default for Unwinder {
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

/// What a look at the modules finds.
struct Look {
    /// How many were loaded and unloaded, when they were looked at last.
    known: (u64, u64),
    now: (u64, u64),
    modules: Vec<Module<Vec<u8>>>,
}

/// # Safety
/// The system gives a module that stays loaded during the call; `data` leads to a [`Look`].
unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _: usize, data: *mut c_void) -> c_int {
    // SAFETY: the caller promises that.
    let (info, look) = unsafe { (&*info, &mut *data.cast::<Look>()) };
    look.now = (info.dlpi_adds, info.dlpi_subs);
    if look.now == look.known {
        return 1;
    }
    // SAFETY: the loader has as many headers.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    look.modules.extend(module(info.dlpi_addr, headers, &mut copied));
    0
}

/// A module with its tables, which are copied: it may be unloaded later. `copied` copies from a readable part of what is loaded of it.
pub(crate) fn module(
    base: u64,
    headers: &[libc::Elf64_Phdr],
    copied: &mut dyn FnMut(Range<u64>) -> Option<Vec<u8>>,
) -> Option<Module<Vec<u8>>> {
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
    let index_bytes = copied(index.clone())?;
    let frames = readable(table_at(index.start, &index_bytes)?)?;
    // The table ends where a length of zero says so: until then, or to the end of what is loaded.
    let frames = table_at(index.start, &index_bytes)?..frames.end;
    let frame_bytes = copied(frames.clone())?;
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

/// Memory of a module that is loaded; none where there is no space for a copy.
fn copied(range: Range<u64>) -> Option<Vec<u8>> {
    // SAFETY: it lies in a part of a module that is loaded and readable, as its callers have seen, while the loader lets nobody unload it.
    let bytes =
        unsafe { std::slice::from_raw_parts(range.start as *const u8, (range.end - range.start) as usize) };
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).ok()?;
    copy.extend_from_slice(bytes);
    Some(copy)
}
