/* As much of an MPI as the C functions of the events interface search behind them. It has the binary
 * interface of MPICH, no events of its own, and two categories, of which the second contains the first. */
#include <stddef.h>
#include <string.h>

enum { ARG = 12, NOT_INITIALIZED = 60, INVALID_INDEX = 62, INVALID_NAME = 73 };

static int initialized;

int PMPI_Init(int *argc, char ***argv) { (void)argc, (void)argv; return 0; }
int PMPI_Initialized(int *flag) { *flag = 1; return 0; }
int PMPI_Finalized(int *flag) { *flag = 0; return 0; }
int PMPI_Get_version(int *version, int *subversion) { *version = 4, *subversion = 0; return 0; }

int PMPI_Get_library_version(char *text, int *length)
{
    strcpy(text, "MPICH (mock)");
    *length = (int)strlen(text);
    return 0;
}

int PMPI_Info_create(int *info)
{
    static int last;
    *info = 0x10000 + ++last % 0x10000;
    return 0;
}

int PMPI_T_init_thread(int required, int *provided)
{
    initialized++;
    if (provided != NULL)
        *provided = required;
    return 0;
}

int PMPI_T_finalize(void)
{
    if (initialized == 0)
        return NOT_INITIALIZED;
    initialized--;
    return 0;
}

int PMPI_T_category_get_num(int *number)
{
    *number = 2;
    return 0;
}

static void give(char *text, int *length, const char *value)
{
    int whole = (int)strlen(value) + 1;
    if (length == NULL)
        return;
    if (text != NULL && *length > 0) {
        int written = *length < whole ? *length : whole;
        memcpy(text, value, (size_t)written - 1);
        text[written - 1] = '\0';
        *length = written;
    } else {
        *length = whole;
    }
}

int PMPI_T_category_get_info(int index, char *name, int *name_len, char *desc, int *desc_len, int *cvars,
                             int *pvars, int *categories)
{
    if (index < 0 || index > 1)
        return INVALID_INDEX;
    give(name, name_len, index == 0 ? "first" : "second");
    give(desc, desc_len, "");
    if (cvars != NULL)
        *cvars = 1;
    if (pvars != NULL)
        *pvars = 0;
    if (categories != NULL)
        *categories = index;
    return 0;
}

int PMPI_T_category_get_index(const char *name, int *index)
{
    if (strcmp(name, "first") != 0 && strcmp(name, "second") != 0)
        return INVALID_NAME;
    *index = name[0] == 's';
    return 0;
}

static int list(int index, int len, int *indices, int number)
{
    if (index < 0 || index > 1)
        return INVALID_INDEX;
    for (int i = 0; i < len && i < number; i++)
        indices[i] = 0;
    return 0;
}

int PMPI_T_category_get_cvars(int index, int len, int *indices) { return list(index, len, indices, 1); }
int PMPI_T_category_get_pvars(int index, int len, int *indices) { return list(index, len, indices, 0); }
int PMPI_T_category_get_categories(int index, int len, int *indices) { return list(index, len, indices, index); }
int PMPI_T_category_changed(int *stamp) { *stamp = 7; return 0; }
