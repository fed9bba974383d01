/* Ranks 0 and 1 send a message of SIZE bytes to and fro, ROUNDS times after 10 rounds, and compare its bytes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    int bytes = atoi(argv[1]), rounds = atoi(argv[2]), rank, size, count;
    double start = 0;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *out = malloc(bytes + 1), *in = malloc(bytes + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < rounds + 10 && rank < 2; round++) {
        if (round == 10) start = MPI_Wtime();
        memset(out, (round + rank) & 127, bytes);
        if (rank == 0) MPI_Send(out, bytes, MPI_BYTE, 1, 7, MPI_COMM_WORLD);
        MPI_Recv(in, bytes, MPI_BYTE, 1 - rank, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (rank == 1) MPI_Send(out, bytes, MPI_BYTE, 0, 7, MPI_COMM_WORLD);
        MPI_Get_count(&status, MPI_BYTE, &count);
        for (int at = 0; at < bytes; at++)
            if (in[at] != ((round + 1 - rank) & 127)) MPI_Abort(MPI_COMM_WORLD, 3);
        if (count != bytes || status.MPI_SOURCE != 1 - rank || status.MPI_TAG != 7) MPI_Abort(MPI_COMM_WORLD, 4);
    }
    double end = MPI_Wtime();
    if (rank == 0) printf("latency %.6f\n", (end - start) / (2.0 * rounds) * 1e6);
    MPI_Finalize();
    return 0;
}
