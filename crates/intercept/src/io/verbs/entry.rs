//! The functions of libibverbs that are interposed.

use std::arch::naked_asm;
use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::super::way::Behind;
use super::super::{contained, modules, set_errno};
use super::abi::{self, Attributes, Context, Device, OfContext, Qp};
use super::{Leads, ends, leads, post, ways};

/// The library, and the version of the functions' symbols that has these structures.
const LIBRARY: Behind = Behind { file: c"libibverbs.so.1", version: Some(c"IBVERBS_1.1") };

const NAMES: [&CStr; 5] =
    [c"ibv_open_device", c"ibv_modify_qp", c"ibv_destroy_qp", c"ibv_create_ah", c"ibv_destroy_ah"];
/// The library's own functions, once they were found.
static NEXT: [AtomicPtr<c_void>; 5] = [const { AtomicPtr::new(ptr::null_mut()) }; 5];

/// The library's own function of this number, as code at `caller`, if that is known, means it; null where there is none.
fn next(number: usize, caller: usize) -> *mut c_void {
    let known = NEXT[number].load(Ordering::Acquire);
    if !known.is_null() {
        return known;
    }
    let opened = NEXT[0].load(Ordering::Acquire) as usize;
    let found = LIBRARY.find(NAMES[number], opened, caller);
    NEXT[number].store(found, Ordering::Release);
    found
}

/// An interposed function that goes on to `$then` with its caller's address as one more argument.
macro_rules! with_caller {
    ($name:ident($register:literal) -> $then:ident) => {
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            naked_asm!(
                concat!("mov ", $register, ", qword ptr [rsp]"),
                "jmp {then}",
                then = sym $then,
            )
        }
    };
}
with_caller!(ibv_open_device("rsi") -> opened);

unsafe extern "C-unwind" fn opened(device: *mut Device, caller: usize) -> *mut Context {
    let next = next(0, caller);
    if next.is_null() {
        set_errno(libc::ENOSYS);
        return ptr::null_mut();
    }
    type Next = unsafe extern "C-unwind" fn(*mut Device) -> *mut Context;
    // SAFETY: the library's function of this name has this type.
    let next = unsafe { transmute::<*mut c_void, Next>(next) };
    // SAFETY: the argument of our caller.
    let context = unsafe { next(device) };
    if ways().is_some() && modules::is_of_mpi_now(caller) {
        // SAFETY: null, or a context that the library has just made, and that only we know.
        contained(|| unsafe { context.as_mut() }.into_iter().for_each(post::exchange));
    }
    context
}

/// The context of a queue pair, a protection domain or an address handle, if posts through it are seen.
///
/// # Safety
/// Null, or an object of the library that is alive.
unsafe fn seen<'a>(of: *const OfContext) -> Option<&'a Context> {
    ways()?;
    // SAFETY: as the caller promises; such an object points to its context, which lives longer.
    unsafe { of.as_ref()?.context.as_ref() }.filter(|context| post::is_seen(context))
}

/// Where a way leads, from the address that it was given.
fn lead(way: usize, context: &Context, address: &abi::Address, port: u8) -> Leads {
    // SAFETY: a context points to its device, which the library has as long as the context.
    let device = unsafe { context.device.as_ref() }.map_or([0; 64], |device| device.name);
    let gid = (address.is_global != 0).then_some(address.gid);
    Leads { way, device, port, own_gid: address.own_gid, lid: address.lid, gid }
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ibv_modify_qp(qp: *mut Qp, attributes: *mut Attributes, mask: c_int) -> c_int {
    let next = next(1, 0);
    if next.is_null() {
        return libc::ENOSYS;
    }
    type Next = unsafe extern "C-unwind" fn(*mut Qp, *mut Attributes, c_int) -> c_int;
    // SAFETY: the library's function of this name has this type.
    let next = unsafe { transmute::<*mut c_void, Next>(next) };
    // SAFETY: the arguments of our caller.
    let code = unsafe { next(qp, attributes, mask) };
    if code == 0 && mask & abi::SETS_ADDRESS != 0 {
        // SAFETY: a queue pair that was just modified.
        let context = unsafe { seen(qp.cast()) };
        // SAFETY: the attributes by which it was modified.
        let attributes = unsafe { attributes.as_ref() };
        if let (Some(context), Some(attributes)) = (context, attributes) {
            let port = if mask & abi::SETS_PORT != 0 { attributes.port } else { attributes.address.port };
            leads(&lead(qp as usize, context, &attributes.address, port));
        }
    }
    code
}

#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ibv_create_ah(
    domain: *mut OfContext,
    address: *mut abi::Address,
) -> *mut OfContext {
    let next = next(3, 0);
    if next.is_null() {
        set_errno(libc::ENOSYS);
        return ptr::null_mut();
    }
    type Next = unsafe extern "C-unwind" fn(*mut OfContext, *mut abi::Address) -> *mut OfContext;
    // SAFETY: the library's function of this name has this type.
    let next = unsafe { transmute::<*mut c_void, Next>(next) };
    // SAFETY: the arguments of our caller.
    let made = unsafe { next(domain, address) };
    if !made.is_null() {
        // SAFETY: a domain of which the library has just made a handle.
        let context = unsafe { seen(domain) };
        // SAFETY: the address by which it was made.
        let address = unsafe { address.as_ref() };
        if let (Some(context), Some(address)) = (context, address) {
            leads(&lead(made as usize, context, address, address.port));
        }
    }
    made
}

macro_rules! destroy {
    ($name:ident $number:literal) => {
        #[unsafe(no_mangle)]
        unsafe extern "C-unwind" fn $name(way: *mut OfContext) -> c_int {
            let next = next($number, 0);
            if next.is_null() {
                return libc::ENOSYS;
            }
            // SAFETY: the caller's object, which is alive until it is destroyed.
            if unsafe { seen(way) }.is_some() {
                ends(way as usize);
            }
            type Next = unsafe extern "C-unwind" fn(*mut OfContext) -> c_int;
            // SAFETY: the library's function of this name has this type.
            let next = unsafe { transmute::<*mut c_void, Next>(next) };
            // SAFETY: the argument of our caller.
            unsafe { next(way) }
        }
    };
}
destroy!(ibv_destroy_qp 2);
destroy!(ibv_destroy_ah 4);
