// Prints for each function of this MPI the sizes of its parameters, as its header declares them.
#include <cstdio>
#include <mpi.h>

template <class... A> static void show(const char *name, int (*)(A...))
{
    std::printf("%s", name);
    ((std::printf(" %zu", sizeof(A))), ...);
    std::printf("\n");
}

template <class... A> static void show(const char *name, int (*)(A..., ...))
{
    show(name, static_cast<int (*)(A...)>(nullptr));
}

int main()
{
#define SHOW(name) show(#name, name);
#include FUNCTIONS
    return 0;
}
