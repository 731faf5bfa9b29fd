/* Arrays among the variables of an MPI, behind its own: the pools of virtual buffers that MVAPICH2 has, as its users' guide describes them. To
 * be preloaded behind MEL. Buffers beyond the reduced values are given back while the control is on. In MPI_Finalize all is printed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { POOLS = 4 };
static int control, reduced[POOLS] = {1, 2, 3, 4};
static unsigned long allocated[POOLS] = {2000, 20, 21, 22}, used[POOLS] = {500, 5, 6, 7};

struct variable {
    const char *name;
    void *values;
    size_t size;
    int count;
};

static struct variable controls[] = {
    {"MPIR_CVAR_VBUF_POOL_CONTROL", &control, sizeof control, 1},
    {"MPIR_CVAR_VBUF_POOL_REDUCED_VALUE", reduced, sizeof reduced, POOLS},
};
static struct variable levels[] = {
    {"mv2_vbuf_allocated_array", allocated, sizeof allocated, POOLS},
    {"mv2_vbuf_max_use_array", used, sizeof used, POOLS},
};

#define NEXT(name) (*(int (*)())dlsym(RTLD_NEXT, name))

static int first_control(void)
{
    static int number = -1;
    if (number < 0)
        NEXT("PMPI_T_cvar_get_num")(&number);
    return number;
}

/* The MPI may show more variables later: ours are far behind them. */
enum { FIRST_LEVEL = 5000 };

static struct variable *one_of(struct variable *variables, int place)
{
    return place == 0 || place == 1 ? &variables[place] : NULL;
}

static struct variable *by_handle(struct variable *variables, void *handle)
{
    return handle == &variables[0] || handle == &variables[1] ? handle : NULL;
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

#define GIVE(to, value) \
    do { \
        if (to) \
            *(to) = (value); \
    } while (0)

int PMPI_T_cvar_get_num(int *number)
{
    *number = first_control() + 2;
    return MPI_SUCCESS;
}

int PMPI_T_cvar_get_info(int index, char *name, int *name_len, int *verbosity, MPI_Datatype *datatype, MPI_T_enum *items, char *desc,
                         int *desc_len, int *bind, int *scope)
{
    struct variable *own = one_of(controls, index - first_control());
    if (!own)
        return NEXT("PMPI_T_cvar_get_info")(index, name, name_len, verbosity, datatype, items, desc, desc_len, bind, scope);
    text(own->name, name, name_len);
    text("of the pools of virtual buffers", desc, desc_len);
    GIVE(verbosity, MPI_T_VERBOSITY_USER_BASIC);
    GIVE(datatype, MPI_INT);
    GIVE(items, MPI_T_ENUM_NULL);
    GIVE(bind, MPI_T_BIND_NO_OBJECT);
    GIVE(scope, MPI_T_SCOPE_LOCAL);
    return MPI_SUCCESS;
}

int PMPI_T_cvar_handle_alloc(int index, void *object, MPI_T_cvar_handle *handle, int *count)
{
    struct variable *own = one_of(controls, index - first_control());
    if (!own)
        return NEXT("PMPI_T_cvar_handle_alloc")(index, object, handle, count);
    *handle = (MPI_T_cvar_handle)own;
    *count = own->count;
    return MPI_SUCCESS;
}

int PMPI_T_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    return by_handle(controls, *handle) ? MPI_SUCCESS : NEXT("PMPI_T_cvar_handle_free")(handle);
}

int PMPI_T_cvar_read(MPI_T_cvar_handle handle, void *values)
{
    struct variable *own = by_handle(controls, handle);
    if (!own)
        return NEXT("PMPI_T_cvar_read")(handle, values);
    memcpy(values, own->values, own->size);
    return MPI_SUCCESS;
}

int PMPI_T_cvar_write(MPI_T_cvar_handle handle, const void *values)
{
    struct variable *own = by_handle(controls, handle);
    if (!own)
        return NEXT("PMPI_T_cvar_write")(handle, values);
    memcpy(own->values, values, own->size);
    return MPI_SUCCESS;
}

int PMPI_T_pvar_get_num(int *number)
{
    *number = FIRST_LEVEL + 2;
    return MPI_SUCCESS;
}

int PMPI_T_pvar_get_info(int index, char *name, int *name_len, int *verbosity, int *class, MPI_Datatype *datatype, MPI_T_enum *items, char *desc,
                         int *desc_len, int *bind, int *readonly, int *continuous, int *atomic)
{
    struct variable *own = one_of(levels, index - FIRST_LEVEL);
    int of_mpi;
    NEXT("PMPI_T_pvar_get_num")(&of_mpi);
    if (!own && index >= of_mpi)
        return MPI_T_ERR_INVALID_INDEX;
    if (!own)
        return NEXT("PMPI_T_pvar_get_info")(index, name, name_len, verbosity, class, datatype, items, desc, desc_len, bind, readonly, continuous,
                                            atomic);
    text(own->name, name, name_len);
    text("of the pools of virtual buffers", desc, desc_len);
    GIVE(verbosity, MPI_T_VERBOSITY_USER_BASIC);
    GIVE(class, MPI_T_PVAR_CLASS_LEVEL);
    GIVE(datatype, MPI_UNSIGNED_LONG);
    GIVE(items, MPI_T_ENUM_NULL);
    GIVE(bind, MPI_T_BIND_NO_OBJECT);
    GIVE(readonly, 1);
    GIVE(continuous, 1);
    GIVE(atomic, 0);
    return MPI_SUCCESS;
}

int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int index, void *object, MPI_T_pvar_handle *handle, int *count)
{
    struct variable *own = one_of(levels, index - FIRST_LEVEL);
    if (!own)
        return NEXT("PMPI_T_pvar_handle_alloc")(session, index, object, handle, count);
    *handle = (MPI_T_pvar_handle)own;
    *count = own->count;
    return MPI_SUCCESS;
}

int PMPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    return by_handle(levels, *handle) ? MPI_SUCCESS : NEXT("PMPI_T_pvar_handle_free")(session, handle);
}

int PMPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *values)
{
    struct variable *own = by_handle(levels, handle);
    if (!own)
        return NEXT("PMPI_T_pvar_read")(session, handle, values);
    for (int pool = 0; pool < POOLS; pool++)
        if (control && allocated[pool] > (unsigned long)reduced[pool])
            allocated[pool] = (unsigned long)reduced[pool];
    memcpy(values, own->values, own->size);
    return MPI_SUCCESS;
}

int MPI_Finalize(void)
{
    printf("control %d, reduced %d,%d,%d,%d, allocated %lu,%lu,%lu,%lu\n", control, reduced[0], reduced[1], reduced[2], reduced[3], allocated[0],
           allocated[1], allocated[2], allocated[3]);
    fflush(stdout);
    return PMPI_Finalize();
}
