/* Functions of a library that are called as Fortran might call MPI, but are none of MPI's. */
double mpi_init(int a, int b, int c, int d, int e, int f, int g, double h, double i)
{
    return a + b + c + d + e + f + 10 * g + h * i;
}

double MPI_SEND(double a, int b)
{
    return a * b;
}
