//! A shared object for the tests of this crate: it checks the MPI of the C program that it is
//! preloaded into, and exercises the calls of our own, inside that program.

use std::ffi::{c_int, c_void};

use mpi_abi::{
    Abi, Comm, Datatype, Errhandler, File, Group, Handle, HandlePtr, Info, Message, Op, Request, StatusPtr,
    Win, pmpi, questions,
};

/// Prints what is known of this MPI, one `NAME VALUE` a line.
#[unsafe(no_mangle)]
pub extern "C" fn abi_probe_constants() {
    let abi = match Abi::detect() {
        Ok(abi) => abi,
        Err(unknown) => {
            println!("unknown {unknown}");
            return;
        }
    };
    abi.constants.each(|name, value| println!("{name} {value}"));
    println!("MPI_T_PVAR_ALL_HANDLES {}", abi.all_pvar_handles() as i64);
    println!("sizeof(MPI_Status) {}", abi.status.size);
    println!("offsetof(MPI_SOURCE) {}", abi.status.source);
    println!("offsetof(MPI_TAG) {}", abi.status.tag);
    println!("offsetof(MPI_ERROR) {}", abi.status.error);
    assert_eq!(Comm::width(), abi.handle_width);
    macro_rules! widths {
        ($($handle:ident)*) => { $(println!("sizeof(MPI_{}) {}", stringify!($handle), $handle::width());)* };
    }
    widths!(Comm Group Datatype Request Op Info Win File Errhandler Message);
    println!("MPI_VERSION {}", abi.standard.0);
    println!("MPI_SUBVERSION {}", abi.standard.1);
}

/// What the elements of a datatype are, as a number.
#[unsafe(no_mangle)]
pub extern "C" fn abi_probe_signature(datatype: usize) -> u32 {
    assert!(Abi::detect().is_ok());
    questions::signature(Datatype::from_word(datatype)).0
}

/// Prints the fields of a status.
///
/// # Safety
/// A status of this MPI lies at the address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn abi_probe_status(status: *mut c_void) {
    let (Ok(abi), status) = (Abi::detect(), StatusPtr(status)) else { return };
    // SAFETY: the caller's promise.
    unsafe {
        println!(
            "source {} tag {} error {} cancelled {} bytes {:?} ignore {}",
            status.source(abi),
            status.tag(abi),
            status.error(abi),
            c_int::from(status.cancelled(abi)),
            status.bytes(abi),
            status.is_ignore(abi)
        );
    }
}

/// Prints which of `count` requests are shared ones, then the others' number.
///
/// # Safety
/// An array of `count` requests lies at the address.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn abi_probe_requests(requests: *mut c_void, count: c_int) {
    let Ok(abi) = Abi::detect() else { return };
    let requests = HandlePtr::<Request>::new(requests);
    for index in 0..count as usize {
        // SAFETY: the caller's promise.
        let request = unsafe { requests.get(index) };
        let kind = match request {
            null if null == abi.constants.request_null => "null",
            shared if abi.is_shared_request(shared) => "shared",
            _ => "own",
        };
        println!("{kind}");
    }
}

/// Calls MPI as the tool does, on all processes; prints the first thing that is wrong.
#[unsafe(no_mangle)]
pub extern "C" fn abi_probe_calls() -> c_int {
    match calls() {
        Ok(()) => 0,
        Err(problem) => {
            println!("wrong: {problem}");
            1
        }
    }
}

macro_rules! check {
    ($condition:expr) => {
        if !$condition {
            return Err(format!("{} at line {}", stringify!($condition), line!()));
        }
    };
}

fn calls() -> Result<(), String> {
    inner().map_err(|error| error.to_string())?
}

/// The outer result is a call that failed, the inner one a call that gave the wrong answer.
fn inner() -> mpi_abi::Result<Result<(), String>> {
    let Ok(abi) = Abi::detect() else { return Ok(Err("no ABI".into())) };
    let constants = &abi.constants;
    let world = constants.comm_world;
    let rank = questions::comm_rank(world)?;
    let size = questions::comm_size(world)?;
    let all = size as usize;
    let comm = pmpi::comm_dup(world)?;
    pmpi::comm_return_errors(comm)?;
    let outcome = collectives(comm, rank, all)?
        .and(communicators(abi, comm, rank, size)?)
        .and(messages(abi, comm, rank, size)?);
    let free = pmpi::comm_free(comm);
    Ok(outcome.and((|| {
        check!(free.is_ok());
        check!(pmpi::initialized() == Ok(true) && pmpi::finalized() == Ok(false));
        check!(pmpi::query_thread().is_ok_and(|level| level >= constants.thread.single));
        check!(pmpi::get_library_version().is_ok_and(|text| text.starts_with(&abi.library)));
        check!(pmpi::get_processor_name().is_ok_and(|name| !name.is_empty()));
        check!(!pmpi::error_string(constants.err_in_status).is_empty());
        let (before, after) = (pmpi::wtime(), pmpi::wtime());
        check!(!matches!(after.partial_cmp(&before), None | Some(std::cmp::Ordering::Less)));
        Ok(())
    })()))
}

fn communicators(abi: &Abi, comm: Comm, rank: c_int, size: c_int) -> mpi_abi::Result<Result<(), String>> {
    let constants = &abi.constants;
    let node = pmpi::comm_split_type(comm, constants.comm_type_shared, rank)?;
    let half = pmpi::comm_split(comm, rank % 2, -rank)?;
    let group = questions::comm_group(half)?;
    let everybody = questions::comm_group(comm)?;
    let members = questions::group_size(group)?;
    let ranks: Vec<c_int> = (0..members).collect();
    let mut translated = vec![0; ranks.len()];
    questions::group_translate_ranks(group, &ranks, everybody, &mut translated)?;
    // Ordered by the negative rank: the highest of my parity comes first.
    let expected: Vec<c_int> = (0..size).rev().filter(|other| other % 2 == rank % 2).collect();
    let mine = questions::group_rank(group)?;
    let outcome = (|| {
        check!(questions::comm_size(node) == Ok(size));
        check!(questions::comm_test_inter(node) == Ok(false));
        check!(pmpi::comm_compare(comm, constants.comm_world) == Ok(constants.congruent));
        check!(questions::comm_get_name(constants.comm_world).as_deref() == Ok("MPI_COMM_WORLD"));
        check!(translated == expected);
        check!(translated[mine as usize] == rank);
        check!(questions::group_translate_ranks(group, &ranks, everybody, &mut []).is_err());
        Ok(())
    })();
    pmpi::group_free(group)?;
    pmpi::group_free(everybody)?;
    pmpi::comm_free(half)?;
    pmpi::comm_free(node)?;
    Ok(outcome)
}

fn collectives(comm: Comm, rank: c_int, all: usize) -> mpi_abi::Result<Result<(), String>> {
    let constants = &Abi::detect().map_err(|_| mpi_abi::Error::NoMpi)?.constants;
    pmpi::barrier(comm)?;
    let mut gathered = vec![0u32; 2 * all];
    pmpi::allgather(&[rank as u32, 7], &mut gathered, comm)?;
    let mut text = if rank == 0 { *b"root" } else { *b"none" };
    pmpi::bcast(&mut text, 0, comm)?;
    let mut at_root = vec![0i64; if rank == 0 { all } else { 0 }];
    pmpi::gather(&[i64::from(rank)], &mut at_root, 0, comm)?;
    let mine: Vec<u16> = (0..rank as u16).collect();
    let parts = pmpi::gatherv(&mine, 0, comm)?;
    let mut sums = [0.0f64];
    pmpi::allreduce(&[f64::from(rank)], &mut sums, constants.sum, comm)?;
    let mut extremes = [0u64, 0];
    pmpi::allreduce(&[rank as u64, u64::MAX - rank as u64], &mut extremes, constants.max, comm)?;
    let mut least = [i64::MAX];
    pmpi::reduce(&[-i64::from(rank)], &mut least, constants.min, 0, comm)?;
    Ok((|| {
        check!(gathered.chunks(2).zip(0..).all(|(pair, other)| pair == [other, 7]));
        check!(&text == b"root");
        check!(at_root.iter().zip(0..).all(|(&got, other)| got == other));
        check!(parts.len() == if rank == 0 { all } else { 0 });
        check!(parts.iter().zip(0..).all(|(part, other)| *part == (0..other).collect::<Vec<u16>>()));
        check!(sums[0] == (0..all).sum::<usize>() as f64);
        check!(extremes == [all as u64 - 1, u64::MAX]);
        check!(rank != 0 || least == [1 - all as i64]);
        check!(pmpi::allgather(&[1u8], &mut [], comm).is_err());
        Ok(())
    })())
}

fn messages(abi: &Abi, comm: Comm, rank: c_int, size: c_int) -> mpi_abi::Result<Result<(), String>> {
    let constants = &abi.constants;
    let (right, left) = ((rank + 1) % size, (rank + size - 1) % size);
    let (data, mut got) = ([rank as u8; 40], [0u8; 64]);
    // SAFETY: both buffers outlive the waits below.
    let (mut sending, mut receiving) = unsafe {
        let receiving = pmpi::irecv(got.as_mut_ptr(), got.len(), left, 3, comm)?;
        (pmpi::isend(data.as_ptr(), data.len(), right, 3, comm)?, receiving)
    };
    let received = pmpi::wait(&mut receiving)?;
    while sending != constants.request_null && pmpi::test(&mut sending)?.is_none() {}

    let mut unused = [0u8; 8];
    // SAFETY: cancelled and waited for below, before `unused` ends.
    let mut never = unsafe { pmpi::irecv(unused.as_mut_ptr(), 8, left, 99, comm)? };
    pmpi::cancel(never)?;
    pmpi::wait(&mut never)?;

    // SAFETY: `data` outlives the wait.
    let mut sending = unsafe { pmpi::isend(data.as_ptr(), 5, right, 4, comm)? };
    let probed = loop {
        if let Some(probed) = pmpi::iprobe(constants.any_source, constants.any_tag, comm)? {
            break probed;
        }
    };
    let second = pmpi::recv(&mut got[40..], probed.source, probed.tag, comm)?;
    pmpi::wait(&mut sending)?;
    let nothing = pmpi::iprobe(constants.any_source, constants.any_tag, comm)?;
    let failed = pmpi::send(&data, size + 5, 0, comm);
    Ok((|| {
        check!(received == pmpi::Probed { source: left, tag: 3, bytes: 40 });
        check!(got[..40] == [left as u8; 40]);
        check!(receiving == constants.request_null && sending == constants.request_null);
        check!(probed == pmpi::Probed { source: left, tag: 4, bytes: 5 });
        check!(second == probed);
        check!(nothing.is_none());
        check!(matches!(failed, Err(mpi_abi::Error::Code { function: "MPI_Send", .. })));
        check!(questions::type_size(constants.double) == Ok(8));
        check!(Request::from_word(constants.request_null.word()) == constants.request_null);
        Ok(())
    })())
}
