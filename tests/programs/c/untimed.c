/* Does what takes no simulated time, or reads the clocks of the system. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

enum { PIECES = 1000 };

static void packs(int rank) {
    static double data[2 * PIECES], packed[PIECES];
    MPI_Datatype column;
    MPI_Type_vector(PIECES, 1, 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    MPI_Bcast(data, 1, column, 0, MPI_COMM_WORLD);
    MPI_Bcast(packed, PIECES, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank) return;
    int position = 0;
    MPI_Pack(data, 1, column, packed, sizeof packed, &position, MPI_COMM_SELF);
    position = 0;
    MPI_Unpack(packed, sizeof packed, &position, data, 1, column, MPI_COMM_SELF);
    MPI_Reduce_local(data, packed, PIECES, MPI_DOUBLE, MPI_SUM);
}

int main(int argc, char **argv) {
    int rank;
    struct timeval day;
    struct timespec now;
    const char *how = argv[1];
    if (!strcmp(how, "before")) gettimeofday(&day, NULL);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(how, "packs")) packs(rank);
    if (!strcmp(how, "wtime")) MPI_Wtime();
    if (!strcmp(how, "cpu")) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    if (!strcmp(how, "clocks")) {
        if (rank == 1) clock_gettime(CLOCK_MONOTONIC, &now);
        if (rank == 2) gettimeofday(&day, NULL);
        if (rank == 3) time(NULL);
    }
    MPI_Finalize();
    if (!strcmp(how, "after")) time(NULL);
    return 0;
}
