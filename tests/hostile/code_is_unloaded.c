/* Code that has called MPI is unmapped, and its place is taken by something else: its call sites lead nowhere.
 *
 * ranks: 2
 */
#include "hostile.h"

typedef int barrier_of(MPI_Comm);

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 20; i++) {
        communicate(2);
        /* movabs rax, MPI_Barrier; sub rsp, 8; call rax; add rsp, 8; ret */
        unsigned char code[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0x48, 0x83, 0xec, 0x08,
                                0xff, 0xd0, 0x48, 0x83, 0xc4, 0x08, 0xc3};
        barrier_of *target = MPI_Barrier;
        memcpy(code + 2, &target, 8);
        void *place = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(place != MAP_FAILED);
        memcpy(place, code, sizeof code);
        barrier_of *copied;
        memcpy(&copied, &place, sizeof copied);
        REQUIRE(copied(MPI_COMM_WORLD) == MPI_SUCCESS);
        munmap(place, 4096);
    }
    return finish();
}
