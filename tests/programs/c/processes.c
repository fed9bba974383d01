/* What a rank does beside its calls of MPI, as its argument says. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char data[100000];

static void *calls(void *unused) {
    for (;;) MPI_Barrier(MPI_COMM_SELF);
    return unused;
}

/* The process is killed in a while. */
static void dies_soon(void) {
    const pid_t own = getpid();
    if (fork() == 0) {
        sleep(1);
        kill(own, SIGKILL);
        _exit(0);
    }
}

int main(int argc, char **argv) {
    const char *how = argv[1];
    int rank, size;
    if (!strcmp(how, "killed early")) raise(SIGKILL);
    if (!strcmp(how, "closes"))
        for (int file = 0; file < 1000; file++) close(file);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(how, "sleeps")) {
        const struct timespec half = {0, 500000000};
        const double start = MPI_Wtime();
        sleep(atoi(argv[2]));
        const double slept = MPI_Wtime() - start;
        usleep(250000);
        nanosleep(&half, NULL);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &half, NULL);
        printf("slept %.3f %.3f\n", slept, MPI_Wtime() - start);
    }
    if (!strcmp(how, "prints"))
        for (int lines = atoi(argv[2]); lines > 0; lines--) {
            for (int piece = atoi(argv[3]); piece > 0; piece--) fputs("0123456789abcdef", stdout);
            puts("");
        }
    /* One rank only: of two, either may be the first whose threads meet. */
    if (!strcmp(how, "threads") && rank == 0) {
        pthread_t other;
        pthread_create(&other, NULL, calls, NULL);
        calls(NULL);
    }
    if (!strcmp(how, "killed in a call")) {
        if (rank == 1) dies_soon();
        if (rank == 0) sleep(2), MPI_Send(data, sizeof data, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        if (rank == 1) MPI_Recv(data, sizeof data, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
