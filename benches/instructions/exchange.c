/* Two ranks exchange 8 bytes; the argument says how often. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int other = 1 - rank;
    long calls = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    double mine = rank, theirs = 0;
    for (long call = 0; call < calls; call++)
        MPI_Sendrecv(&mine, 1, MPI_DOUBLE, other, 0, &theirs, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MPI_Finalize();
    return theirs == other ? 0 : 1;
}
