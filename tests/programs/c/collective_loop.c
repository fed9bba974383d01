/* The collective of its argument, ROUNDS times after a barrier: from the first rank's start to the last one's end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    const char *which = argv[1];
    int bytes = atoi(argv[2]), rounds = atoi(argv[3]), rank, size;
    double start, end, first, last;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *in = calloc(size, bytes), *out = calloc(size, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    for (int round = 0; round < rounds; round++) {
        if (!strcmp(which, "allreduce")) MPI_Allreduce(in, out, bytes / 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (!strcmp(which, "allgather")) MPI_Allgather(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
        if (!strcmp(which, "alltoall")) MPI_Alltoall(in, bytes, MPI_BYTE, out, bytes, MPI_BYTE, MPI_COMM_WORLD);
        if (!strcmp(which, "bcast")) MPI_Bcast(in, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    end = MPI_Wtime();
    MPI_Reduce(&start, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("took %.6f\n", (last - first) * 1e6);
    MPI_Finalize();
    return 0;
}
