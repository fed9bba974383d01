/* Allreduces of one double: `allreduce CALLS`. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double mine = 1, sum = 0;
    for (int calls = argc > 1 ? atoi(argv[1]) : 1; calls > 0; calls--)
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return sum == size ? 0 : 1;
}
