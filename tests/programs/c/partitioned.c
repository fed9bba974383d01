/* Messages whose partitions become ready in any order, twice over; a different number of them at the receiver. */
#include <mpi.h>
#include <stdio.h>

#define PARTS 8
#define LENGTH 1000

int main(int argc, char **argv) {
    static double sent[PARTS * LENGTH], got[PARTS * LENGTH];
    int rank, size, wrong = 0, seen = 0, flag = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Request requests[3];
    MPI_Psend_init(sent, PARTS, LENGTH, MPI_DOUBLE, right, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(got, PARTS / 2, 2 * LENGTH, MPI_DOUBLE, left, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Psend_init(sent, 1, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
    for (int round = 0; round < 2; round++) {
        MPI_Startall(3, requests);
        for (int at = 0; at < PARTS * LENGTH; at++) sent[at] = 1e6 * round + 1e5 * rank + at;
        MPI_Pready_range(4, 5, requests[0]);
        MPI_Pready_list(3, (int[]){7, 0, 6}, requests[0]);
        for (int part = 1; part < 4; part++) MPI_Pready(part, requests[0]);
        MPI_Pready(0, requests[2]);
        for (int part = 0; part < PARTS / 2; part++) {
            for (flag = 0; !flag;) MPI_Parrived(requests[1], part, &flag);
            seen++;
        }
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        for (int at = 0; at < PARTS * LENGTH; at++) wrong += got[at] != 1e6 * round + 1e5 * left + at;
        MPI_Parrived(requests[1], 0, &flag);
    }
    for (int at = 0; at < 3; at++) MPI_Request_free(&requests[at]);
    MPI_Reduce(rank ? &wrong : MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!rank) printf("partitions seen: %d, wrong: %d, done: %d\n", seen, wrong, flag);
    MPI_Finalize();
    return 0;
}
