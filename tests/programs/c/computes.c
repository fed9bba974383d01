/* Ranks that compute for different times, wait for each other and poll. */
#include <mpi.h>
#include <stdio.h>

static double work(long steps) {
    volatile double sum = 0;
    for (long step = 0; step < steps; step++) sum += 0.5 * (double)step;
    return sum;
}

int main(int argc, char **argv) {
    int rank, size, arrived = 0, left;
    long polls = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double start = MPI_Wtime();
    for (int step = 0; step < 5; step++) {
        double mine = work(200000 * (rank + 1)), all;
        MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Irecv(&left, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &request);
    work(100000 * (size - rank));
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    while (!arrived) {
        MPI_Test(&request, &arrived, MPI_STATUS_IGNORE);
        polls++;
    }
    printf("rank %d: %.9f s, %ld polls\n", rank, MPI_Wtime() - start, polls);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    printf("a line without end");
    return 0;
}
