/* Clocks of the C library before, between and after calls of MPI; a loop that waits for a moment ends. */
#include <mpi.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

static double monotonic(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static double day(void) {
    struct timeval now;
    gettimeofday(&now, NULL);
    return now.tv_sec + now.tv_usec * 1e-6;
}

int main(int argc, char **argv) {
    int rank;
    const double before = monotonic();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const double start = MPI_Wtime(), first = monotonic(), today = day();
    for (int turn = 0; turn < 100; turn++) MPI_Barrier(MPI_COMM_WORLD);
    const double taken = MPI_Wtime() - start, seen = monotonic() - first, passed = day() - today;
    const double wait = monotonic() + 1e-5;
    long readings = 0;
    while (monotonic() < wait) readings++;
    struct timespec coarse;
    clock_gettime(CLOCK_REALTIME, &coarse);
    printf("%d: %d %d %d, %ld readings, year %d\n", rank, before <= first, seen - taken < 1e-6 && taken - seen < 1e-6,
           passed - taken < 2e-6 && taken - passed < 2e-6, readings, gmtime(&coarse.tv_sec)->tm_year + 1900);
    MPI_Finalize();
    return time(NULL) == coarse.tv_sec ? 0 : 1;
}
