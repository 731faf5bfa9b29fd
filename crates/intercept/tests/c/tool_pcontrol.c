/* Another tool, which understands further arguments of MPI_Pcontrol: words and numbers, by how many words there are. */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>

int MPI_Pcontrol(const int level, ...)
{
    va_list more;
    va_start(more, level);
    if (level != 1) {
        int count = va_arg(more, int);
        fprintf(stderr, "level %d:", level);
        fprintf(stderr, " %s", va_arg(more, const char *));
        fprintf(stderr, " %g", va_arg(more, double));
        fprintf(stderr, " %s", va_arg(more, const char *));
        fprintf(stderr, " %g", va_arg(more, double));
        fprintf(stderr, " %s", va_arg(more, const char *));
        fprintf(stderr, " %s", va_arg(more, const char *));
        fprintf(stderr, " %g", va_arg(more, double));
        fprintf(stderr, " %s", va_arg(more, const char *));
        if (count == 8) {
            fprintf(stderr, " %g", va_arg(more, double));
            fprintf(stderr, " %s", va_arg(more, const char *));
        }
        fprintf(stderr, "\n");
    }
    va_end(more);
    return MPI_SUCCESS;
}
