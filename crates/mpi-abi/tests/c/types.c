/* Makes datatypes and lets the library under test say what their elements are. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

unsigned abi_probe_signature(MPI_Datatype type);

struct both { int number; double value; };

static int wrong;

static void same(const char *what, MPI_Datatype one, MPI_Datatype other)
{
    if (abi_probe_signature(one) != abi_probe_signature(other) || abi_probe_signature(one) == 0) {
        printf("%s: %x %x\n", what, abi_probe_signature(one), abi_probe_signature(other));
        wrong = 1;
    }
}

static void none(const char *what, MPI_Datatype type)
{
    if (abi_probe_signature(type) != 0) {
        printf("%s: %x\n", what, abi_probe_signature(type));
        wrong = 1;
    }
}

static MPI_Datatype structure(int count, const MPI_Datatype *types)
{
    int lengths[] = { 1, 1, 0 };
    MPI_Aint places[] = { 0, offsetof(struct both, value), 16 };
    MPI_Datatype made;
    MPI_Type_create_struct(count, lengths, places, types, &made);
    MPI_Type_commit(&made);
    return made;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Datatype row, column, of_columns, part, copy, wide, both, backwards, twice, opaque, inner;
    MPI_Type_contiguous(3, MPI_INT, &row);
    MPI_Type_vector(2, 1, 4, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &of_columns);
    int sizes[] = { 4, 4 }, subsizes[] = { 2, 2 }, starts[] = { 1, 1 };
    MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &part);
    MPI_Type_dup(part, &copy);
    same("a row", MPI_INT, row);
    same("columns", MPI_INT, of_columns);
    same("a part", MPI_INT, copy);
    same("another name", MPI_INT, MPI_INT32_T);

    both = structure(2, (MPI_Datatype[]){ MPI_INT, MPI_DOUBLE });
    backwards = structure(2, (MPI_Datatype[]){ MPI_DOUBLE, MPI_INT });
    MPI_Type_create_resized(both, 0, 64, &wide);
    MPI_Type_commit(&wide);
    MPI_Type_contiguous(2, wide, &twice);
    same("two structures", both, twice);
    same("a pair", MPI_DOUBLE_INT, backwards);
    inner = structure(3, (MPI_Datatype[]){ row, MPI_INT, MPI_BYTE });
    same("a structure of what is alike", MPI_INT, inner);
    /* int int float float, made in two ways. */
    MPI_Datatype two_ints, two_floats, first, second;
    MPI_Type_contiguous(2, MPI_INT, &two_ints);
    MPI_Type_contiguous(2, MPI_FLOAT, &two_floats);
    int lengths[] = { 1, 2 }, other_lengths[] = { 2, 1 };
    MPI_Aint places[] = { 0, 8 };
    MPI_Type_create_struct(2, lengths, places, (MPI_Datatype[]){ two_ints, MPI_FLOAT }, &first);
    MPI_Type_create_struct(2, other_lengths, places, (MPI_Datatype[]){ MPI_INT, two_floats }, &second);
    same("two of each", first, second);
    MPI_Type_free(&two_ints);
    MPI_Type_free(&two_floats);
    MPI_Type_free(&first);
    MPI_Type_free(&second);
    if (abi_probe_signature(both) == abi_probe_signature(backwards)) {
        puts("the order does not matter");
        wrong = 1;
    }
    opaque = structure(2, (MPI_Datatype[]){ MPI_INT, MPI_BYTE });
    none("bytes", MPI_BYTE);
    none("a structure with bytes", opaque);

    /* The types are as they were: what was given back to us were copies. */
    int data[64] = { 0 }, size;
    MPI_Sendrecv(data, 1, wide, 0, 1, data + 32, 1, wide, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Type_size(twice, &size);
    wrong |= size != 24;
    MPI_Datatype *all[] = { &row, &column, &of_columns, &part, &copy, &wide, &both, &backwards, &twice, &opaque, &inner };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        MPI_Type_free(all[i]);
    MPI_Finalize();
    return wrong;
}
