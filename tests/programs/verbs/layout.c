/* The places in libibverbs' structures that MEL reads (crates/intercept/src/io/verbs/abi.rs), checked with the real header. Compiling is the
 * test. */
#include <infiniband/verbs.h>
#include <stddef.h>

#define AT(structure, member, place) _Static_assert(offsetof(struct structure, member) == (place), #structure "." #member)

AT(ibv_device, name, 24);
AT(ibv_context, device, 0);
AT(ibv_context, ops.post_send, 208);
AT(ibv_qp, context, 0);
AT(ibv_qp, qp_type, 60);
AT(ibv_pd, context, 0);
AT(ibv_ah, context, 0);
AT(ibv_ah_attr, grh.dgid, 0);
AT(ibv_ah_attr, grh.sgid_index, 20);
AT(ibv_ah_attr, dlid, 24);
AT(ibv_ah_attr, is_global, 29);
AT(ibv_ah_attr, port_num, 30);
AT(ibv_qp_attr, ah_attr, 56);
AT(ibv_qp_attr, port_num, 129);
AT(ibv_send_wr, next, 8);
AT(ibv_send_wr, sg_list, 16);
AT(ibv_send_wr, num_sge, 24);
AT(ibv_send_wr, opcode, 28);
AT(ibv_send_wr, wr.rdma.remote_addr, 40);
AT(ibv_send_wr, wr.atomic.remote_addr, 40);
AT(ibv_send_wr, wr.ud.ah, 40);
AT(ibv_sge, addr, 0);
AT(ibv_sge, length, 8);
_Static_assert(sizeof(struct ibv_sge) == 16 && sizeof(struct ibv_ah_attr) == 32, "sizes");
_Static_assert(IBV_WR_RDMA_WRITE == 0 && IBV_WR_RDMA_WRITE_WITH_IMM == 1 && IBV_WR_SEND == 2, "operations");
_Static_assert(IBV_WR_SEND_WITH_IMM == 3 && IBV_WR_RDMA_READ == 4 && IBV_WR_ATOMIC_CMP_AND_SWP == 5, "operations");
_Static_assert(IBV_WR_ATOMIC_FETCH_AND_ADD == 6 && IBV_WR_SEND_WITH_INV == 9 && IBV_WR_TSO == 10, "operations");
_Static_assert(IBV_QPT_UD == 4, "kinds of queue pairs");
_Static_assert(IBV_QP_PORT == 1 << 5 && IBV_QP_AV == 1 << 7, "masks");
