//! What is passed to and from UCX is as UCX's own header has it: offsets, numbers, and the arguments of each function that is interposed.

use std::path::Path;
use std::process::Command;

use mel_tests::artifacts::absent;

/// What the room `io::ucx` takes for granted.
const PROGRAM: &str = r#"
#include <stddef.h>
#include <ucp/api/ucp.h>

#define AT(type, field, place) _Static_assert(offsetof(type, field) == place, #type "." #field)
#define IS(what, value) _Static_assert((what) == (value), #what)

AT(ucp_request_param_t, op_attr_mask, 0);
AT(ucp_request_param_t, datatype, 24);
AT(ucp_ep_params_t, field_mask, 0);
AT(ucp_ep_params_t, address, 8);
AT(ucp_worker_attr_t, field_mask, 0);
AT(ucp_worker_attr_t, address, 16);
AT(ucp_worker_attr_t, address_length, 24);
AT(ucp_dt_iov_t, length, 8);
IS(sizeof(ucp_dt_iov_t), 16);
AT(ucp_generic_dt_ops_t, packed_size, 16);
IS(sizeof(ucp_generic_dt_ops_t), 48);
IS(UCP_OP_ATTR_FIELD_DATATYPE, 1 << 3);
IS(UCP_EP_PARAM_FIELD_REMOTE_ADDRESS, 1);
IS(UCP_WORKER_ATTR_FIELD_ADDRESS, 1 << 1);
IS(UCP_DATATYPE_CONTIG, 0);
IS(UCP_DATATYPE_IOV, 2);
IS(UCP_DATATYPE_GENERIC, 7);
IS(UCP_DATATYPE_CLASS_MASK, 7);
IS(UCS_ERR_UNSUPPORTED, -22);
IS(UCS_ERR_LAST, -100);

typedef const ucp_request_param_t *P;
typedef ucs_status_ptr_t R;
typedef ucs_status_t S;
typedef ucp_ep_h E;
typedef const void *B;
typedef size_t N;
typedef uint64_t U;
typedef ucp_rkey_h K;
typedef ucp_send_callback_t C;
typedef ucp_datatype_t D;

R (*f0)(E, B, N, D, ucp_tag_t, C) = ucp_tag_send_nb;
S (*f1)(E, B, N, D, ucp_tag_t, void *) = ucp_tag_send_nbr;
R (*f2)(E, B, N, ucp_tag_t, P) = ucp_tag_send_nbx;
R (*f3)(E, B, N, D, ucp_tag_t, C) = ucp_tag_send_sync_nb;
R (*f4)(E, B, N, ucp_tag_t, P) = ucp_tag_send_sync_nbx;
R (*f5)(E, uint16_t, B, N, D, C, unsigned) = ucp_am_send_nb;
R (*f6)(E, unsigned, B, N, B, N, P) = ucp_am_send_nbx;
R (*f7)(E, B, N, D, C, unsigned) = ucp_stream_send_nb;
R (*f8)(E, B, N, P) = ucp_stream_send_nbx;
S (*f9)(E, B, N, U, K) = ucp_put;
R (*f10)(E, B, N, U, K, C) = ucp_put_nb;
S (*f11)(E, B, N, U, K) = ucp_put_nbi;
R (*f12)(E, B, N, U, K, P) = ucp_put_nbx;
S (*f13)(E, void *, N, U, K) = ucp_get;
R (*f14)(E, void *, N, U, K, C) = ucp_get_nb;
S (*f15)(E, void *, N, U, K) = ucp_get_nbi;
R (*f16)(E, void *, N, U, K, P) = ucp_get_nbx;
S (*f17)(E, ucp_atomic_post_op_t, U, N, U, K) = ucp_atomic_post;
R (*f18)(E, ucp_atomic_fetch_op_t, U, void *, N, U, K, C) = ucp_atomic_fetch_nb;
R (*f19)(E, ucp_atomic_op_t, B, N, U, K, P) = ucp_atomic_op_nbx;
S (*f20)(ucp_worker_h, const ucp_ep_params_t *, E *) = ucp_ep_create;
S (*f21)(ucp_worker_h, ucp_address_t **, N *) = ucp_worker_get_address;
S (*f22)(ucp_worker_h, ucp_worker_attr_t *) = ucp_worker_query;
S (*f23)(const ucp_generic_dt_ops_t *, void *, D *) = ucp_dt_create_generic;
"#;

#[test]
fn structures_numbers_and_functions_are_those_of_the_header() {
    if !Path::new("/usr/include/ucp/api/ucp.h").exists() {
        return absent("the header of UCX", "scripts/install-deps installs it with MPICH");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("ucx.c");
    std::fs::write(&file, PROGRAM).expect("a program");
    let compiled = Command::new("cc")
        .args([
            "-std=gnu11",
            "-fsyntax-only",
            "-Werror=incompatible-pointer-types",
            "-Wno-deprecated-declarations",
        ])
        .arg(&file)
        .output()
        .expect("a compiler");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
}
