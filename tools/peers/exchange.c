/* Each rank exchanges 8 bytes with its neighbour, an even one with the next: `exchange CALLS`. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int other = rank ^ 1;
    double mine = rank, theirs = -1;
    for (int calls = argc > 1 ? atoi(argv[1]) : 1; calls > 0; calls--)
        MPI_Sendrecv(&mine, 1, MPI_DOUBLE, other, 0, &theirs, 1, MPI_DOUBLE, other, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    MPI_Finalize();
    return theirs == other ? 0 : 1;
}
