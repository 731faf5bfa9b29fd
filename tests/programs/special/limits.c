/* A control variable with three elements, behind those of the MPI: no MPI here has one. To be preloaded behind MEL. In MPI_Finalize it is
 * printed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { ELEMENTS = 3 };
static int limits[ELEMENTS] = {1, 2, 3};

#define NEXT(name) (*(int (*)())dlsym(RTLD_NEXT, name))

static int own(void)
{
    static int number = -1;
    if (number < 0)
        NEXT("PMPI_T_cvar_get_num")(&number);
    return number;
}

int PMPI_T_cvar_get_num(int *number)
{
    int code = NEXT("PMPI_T_cvar_get_num")(number);
    ++*number;
    return code;
}

static void text(const char *from, char *to, int *length)
{
    if (to && length && *length > 0) {
        strncpy(to, from, (size_t)*length - 1);
        to[*length - 1] = 0;
    }
    if (length)
        *length = (int)strlen(from) + 1;
}

int PMPI_T_cvar_get_info(int index, char *name, int *name_len, int *verbosity, MPI_Datatype *datatype, MPI_T_enum *items, char *desc,
                         int *desc_len, int *bind, int *scope)
{
    if (index != own())
        return NEXT("PMPI_T_cvar_get_info")(index, name, name_len, verbosity, datatype, items, desc, desc_len, bind, scope);
    text("mock_limits", name, name_len);
    text("three limits", desc, desc_len);
    if (verbosity)
        *verbosity = MPI_T_VERBOSITY_USER_BASIC;
    if (datatype)
        *datatype = MPI_INT;
    if (items)
        *items = MPI_T_ENUM_NULL;
    if (bind)
        *bind = MPI_T_BIND_NO_OBJECT;
    if (scope)
        *scope = MPI_T_SCOPE_LOCAL;
    return MPI_SUCCESS;
}

int PMPI_T_cvar_handle_alloc(int index, void *object, MPI_T_cvar_handle *handle, int *count)
{
    if (index != own())
        return NEXT("PMPI_T_cvar_handle_alloc")(index, object, handle, count);
    *handle = (MPI_T_cvar_handle)limits;
    *count = ELEMENTS;
    return MPI_SUCCESS;
}

int PMPI_T_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    return *handle == (MPI_T_cvar_handle)limits ? MPI_SUCCESS : NEXT("PMPI_T_cvar_handle_free")(handle);
}

int PMPI_T_cvar_read(MPI_T_cvar_handle handle, void *values)
{
    if (handle != (MPI_T_cvar_handle)limits)
        return NEXT("PMPI_T_cvar_read")(handle, values);
    memcpy(values, limits, sizeof limits);
    return MPI_SUCCESS;
}

int PMPI_T_cvar_write(MPI_T_cvar_handle handle, const void *values)
{
    if (handle != (MPI_T_cvar_handle)limits)
        return NEXT("PMPI_T_cvar_write")(handle, values);
    memcpy(limits, values, sizeof limits);
    return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
    printf("limits: %d,%d,%d\n", limits[0], limits[1], limits[2]);
    fflush(stdout);
    return PMPI_Finalize();
}
