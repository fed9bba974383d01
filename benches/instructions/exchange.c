/* Two ranks exchange 8 bytes, as often as the argument says: what a call of a real program costs the simulator. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank;
    long there = 0, here = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int left = argc > 1 ? atoi(argv[1]) : 1; left > 0; left--) {
        there = left;
        MPI_Sendrecv(&there, 1, MPI_LONG, 1 - rank, 0, &here, 1, MPI_LONG, 1 - rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        if (here != there)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
