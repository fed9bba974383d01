/* Pairs of ranks, as osu_mbw_mr: the first half sends windows of messages to the second, ROUNDS times, and waits for
   an empty message after each. The bytes that arrive are compared. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, DATA = 0, OVER = 1 };

int main(int argc, char **argv) {
    int bytes = atoi(argv[1]), rounds = atoi(argv[2]), rank, size;
    MPI_Request requests[WINDOW];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int pairs = size / 2, sends = rank < pairs, peer = sends ? rank + pairs : rank - pairs;
    char *memory = malloc((size_t)WINDOW * bytes + 1);
    memset(memory, sends ? 1 + rank : 0, (size_t)WINDOW * bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), end, first, last;
    for (int round = 0; round < rounds; round++) {
        for (int message = 0; message < WINDOW; message++) {
            char *buffer = memory + (size_t)message * bytes;
            if (sends) MPI_Isend(buffer, bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &requests[message]);
            else MPI_Irecv(buffer, bytes, MPI_CHAR, peer, DATA, MPI_COMM_WORLD, &requests[message]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (sends) MPI_Recv(NULL, 0, MPI_CHAR, peer, OVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Send(NULL, 0, MPI_CHAR, peer, OVER, MPI_COMM_WORLD);
    }
    end = MPI_Wtime();
    for (int at = 0; at < WINDOW * bytes; at++)
        if (memory[at] != 1 + (sends ? rank : peer)) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Reduce(&start, &first, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("message rate %.3f\n", (double)pairs * rounds * WINDOW / (last - first));
    MPI_Finalize();
    return 0;
}
