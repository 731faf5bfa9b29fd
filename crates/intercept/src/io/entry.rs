//! Where the interposed functions begin: the way past us, and the call with somebody who listens.

use std::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::way::{find_next, interpose};
use super::{Function, LISTENS, Moved, closing, errno, notify, set_errno};

/// The next function of each name, in the order of [`Function`], and then that of `close`; at first what finds it.
static NEXT: [AtomicPtr<c_void>; 9] = [
    AtomicPtr::new(find_next::<0> as *mut c_void),
    AtomicPtr::new(find_next::<1> as *mut c_void),
    AtomicPtr::new(find_next::<2> as *mut c_void),
    AtomicPtr::new(find_next::<3> as *mut c_void),
    AtomicPtr::new(find_next::<4> as *mut c_void),
    AtomicPtr::new(find_next::<5> as *mut c_void),
    AtomicPtr::new(find_next::<6> as *mut c_void),
    AtomicPtr::new(find_next::<7> as *mut c_void),
    AtomicPtr::new(find_next::<CLOSE> as *mut c_void),
];

/// The place of `close`.
const CLOSE: usize = 8;

const NAMES: [&CStr; 9] = [
    c"process_vm_readv",
    c"process_vm_writev",
    c"writev",
    c"sendmsg",
    c"send",
    c"readv",
    c"recvmsg",
    c"recv",
    c"close",
];

/// The system calls behind the functions, for a C library that lacks one.
const SYSTEM_CALLS: [*mut c_void; 9] = [
    system_call::<{ libc::SYS_process_vm_readv }> as *mut c_void,
    system_call::<{ libc::SYS_process_vm_writev }> as *mut c_void,
    system_call::<{ libc::SYS_writev }> as *mut c_void,
    system_call::<{ libc::SYS_sendmsg }> as *mut c_void,
    // With neither an address nor its length.
    system_call::<{ libc::SYS_sendto }> as *mut c_void,
    system_call::<{ libc::SYS_readv }> as *mut c_void,
    system_call::<{ libc::SYS_recvmsg }> as *mut c_void,
    system_call::<{ libc::SYS_recvfrom }> as *mut c_void,
    system_call::<{ libc::SYS_close }> as *mut c_void,
];

/// Finds all next functions, so that none is searched for in a signal handler.
pub(super) fn resolve_all() {
    (0..NAMES.len()).for_each(|number| resolve(number, 0));
}

/// Finds the next function of this number, whoever calls it. `errno` stays as it is.
extern "C" fn resolve(number: usize, _: usize) {
    let before = errno();
    // SAFETY: a valid C string; what comes after this object, so never the function below.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, NAMES[number].as_ptr()) };
    NEXT[number].store(if next.is_null() { SYSTEM_CALLS[number] } else { next }, Ordering::Release);
    set_errno(before);
}

/// A function of six arguments at most as its system call. Those of four have neither an address nor its length.
unsafe extern "C" fn system_call<const NUMBER: c_long>(
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    let socket = NUMBER == libc::SYS_sendto || NUMBER == libc::SYS_recvfrom;
    let (e, f) = if socket { (0, 0) } else { (e, f) };
    // SAFETY: the arguments of our caller, who calls the function of this system call.
    unsafe { libc::syscall(NUMBER, a, b, c, d, e, f) }
}

find_next!(resolve, NEXT);

interpose! {
    LISTENS, NEXT:
    0 process_vm_readv -> observed_process_vm_readv;
    1 process_vm_writev -> observed_process_vm_writev;
    2 writev -> observed_writev;
    3 sendmsg -> observed_sendmsg;
    4 send -> observed_send;
    5 readv -> observed_readv;
    6 recvmsg -> observed_recvmsg;
    7 recv -> observed_recv;
    8 close -> observed_close;
}

/// The next function, as what it is.
macro_rules! next {
    ($function:ident as $type:ty) => {
        // SAFETY: the C library's function of this name, or what replaces it, has this type.
        unsafe {
            std::mem::transmute::<*mut c_void, $type>(
                NEXT[Function::$function as usize].load(Ordering::Acquire),
            )
        }
    };
}

/// Where the data of these pieces begins; 0 where there is none.
///
/// # Safety
/// `pieces` must have `count` elements, unless that is 0.
unsafe fn first(pieces: *const libc::iovec, count: usize) -> usize {
    if pieces.is_null() || count == 0 {
        return 0;
    }
    // SAFETY: as the caller promises.
    let pieces = unsafe { std::slice::from_raw_parts(pieces, count) };
    pieces.iter().find(|piece| piece.iov_len != 0).map_or(0, |piece| piece.iov_base as usize)
}

// The functions below end no call of the program early: a thread that is cancelled in the next function unwinds through them,
// so none of them has anything to release meanwhile.

macro_rules! observed_memory {
    ($($name:ident $function:ident;)*) => {$(
        unsafe extern "C-unwind" fn $name(
            pid: libc::pid_t,
            local: *const libc::iovec,
            locals: c_ulong,
            remote: *const libc::iovec,
            remotes: c_ulong,
            flags: c_ulong,
        ) -> isize {
            type Next = unsafe extern "C-unwind" fn(
                libc::pid_t, *const libc::iovec, c_ulong, *const libc::iovec, c_ulong, c_ulong,
            ) -> isize;
            let next = next!($function as Next);
            // SAFETY: the arguments of our caller.
            let result = unsafe { next(pid, local, locals, remote, remotes, flags) };
            if result > 0 {
                // SAFETY: the call has succeeded, so that the system has read both lists; the caller keeps them until we
                // return.
                let (local, remote) = unsafe { (first(local, locals as usize), first(remote, remotes as usize)) };
                notify(&Moved { function: Function::$function, whose: pid, bytes: result as u64, local, remote });
            }
            result
        }
    )*};
}
observed_memory! {
    observed_process_vm_readv ProcessVmReadv;
    observed_process_vm_writev ProcessVmWritev;
}

macro_rules! observed_pieces {
    ($($name:ident $function:ident;)*) => {$(
        unsafe extern "C-unwind" fn $name(fd: c_int, pieces: *const libc::iovec, count: c_int) -> isize {
            type Next = unsafe extern "C-unwind" fn(c_int, *const libc::iovec, c_int) -> isize;
            let next = next!($function as Next);
            // SAFETY: the arguments of our caller.
            let result = unsafe { next(fd, pieces, count) };
            if result > 0 {
                // SAFETY: the call has succeeded, so that the system has read the list; the caller keeps it until we return.
                let local = unsafe { first(pieces, count as usize) };
                notify(&Moved { function: Function::$function, whose: fd, bytes: result as u64, local, remote: 0 });
            }
            result
        }
    )*};
}
observed_pieces! {
    observed_writev Writev;
    observed_readv Readv;
}

macro_rules! observed_messages {
    ($($name:ident $function:ident;)*) => {$(
        unsafe extern "C-unwind" fn $name(fd: c_int, message: *mut libc::msghdr, flags: c_int) -> isize {
            type Next = unsafe extern "C-unwind" fn(c_int, *mut libc::msghdr, c_int) -> isize;
            let next = next!($function as Next);
            // SAFETY: the arguments of our caller.
            let result = unsafe { next(fd, message, flags) };
            if result > 0 && flags & libc::MSG_PEEK == 0 {
                // SAFETY: the call has succeeded, so that the system has read the message and its list; the caller keeps both
                // until we return.
                let local = unsafe { first((*message).msg_iov, (*message).msg_iovlen as usize) };
                notify(&Moved { function: Function::$function, whose: fd, bytes: result as u64, local, remote: 0 });
            }
            result
        }
    )*};
}
observed_messages! {
    observed_sendmsg Sendmsg;
    observed_recvmsg Recvmsg;
}

macro_rules! observed_bytes {
    ($($name:ident $function:ident;)*) => {$(
        unsafe extern "C-unwind" fn $name(fd: c_int, data: *mut c_char, size: usize, flags: c_int) -> isize {
            type Next = unsafe extern "C-unwind" fn(c_int, *mut c_char, usize, c_int) -> isize;
            let next = next!($function as Next);
            // SAFETY: the arguments of our caller.
            let result = unsafe { next(fd, data, size, flags) };
            // What is only glanced at is received later.
            if result > 0 && flags & libc::MSG_PEEK == 0 {
                let local = data as usize;
                notify(&Moved { function: Function::$function, whose: fd, bytes: result as u64, local, remote: 0 });
            }
            result
        }
    )*};
}
observed_bytes! {
    observed_send Send;
    observed_recv Recv;
}

unsafe extern "C-unwind" fn observed_close(fd: c_int) -> c_int {
    type Next = unsafe extern "C-unwind" fn(c_int) -> c_int;
    // SAFETY: the C library's function of this name, or what replaces it, has this type.
    let next = unsafe { std::mem::transmute::<*mut c_void, Next>(NEXT[CLOSE].load(Ordering::Acquire)) };
    closing(fd);
    // SAFETY: the argument of our caller.
    unsafe { next(fd) }
}
