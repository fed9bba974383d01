/* Does wrong what its argument names. */
#include <mpi.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void aborts(MPI_Comm *comm, int *code, ...) { MPI_Abort(*comm, 6); }

static void fails(MPI_Comm *comm, int *code, ...) { MPI_Send(code, 1, MPI_INT, 5, 0, *comm); }

static void leaves(void *in, void *out, int *length, MPI_Datatype *type) { exit(3); }

int main(int argc, char **argv) {
    int rank, number = 0;
    volatile int *nowhere = 0;
    const char *how = argv[1];
    if (!strcmp(how, "before")) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(how, "crash") && rank == 1) *nowhere = 1;
    if (!strcmp(how, "pause")) {
        printf("%d\n", (int)getpid());
        fflush(stdout);
        pause();
    }
    if (!strcmp(how, "exit") && rank == 1) exit(5);
    if (!strcmp(how, "abort") && rank == 1) MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(how, "deadlock")) MPI_Recv(&number, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(how, "waits") && rank) {
        MPI_Request request;
        MPI_Irecv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
        MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
    }
    if (!strcmp(how, "rank")) MPI_Send(&number, 1, MPI_INT, 5, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "probes")) {
        for (int probe = 0; probe < 20000; probe++)
            MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &number, MPI_STATUS_IGNORE);
    }
    if (!strcmp(how, "missing")) {
        char port[MPI_MAX_PORT_NAME];
        MPI_Open_port(MPI_INFO_NULL, port);
    }
    if (!strcmp(how, "truncated")) {
        int numbers[2] = {1, 2};
        if (rank) MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else MPI_Send(numbers, 2, MPI_INT, 1, 0, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "changed") || !strcmp(how, "restarted")) {
        static char numbers[300000];
        MPI_Request request;
        if (rank) MPI_Recv(numbers, sizeof numbers, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else if (!strcmp(how, "changed")) MPI_Isend(numbers, sizeof numbers, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
        else MPI_Send_init(numbers, sizeof numbers, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &request);
        numbers[7] = 1;
        if (!rank && !strcmp(how, "restarted")) MPI_Start(&request);
        if (!rank) MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if ((!strcmp(how, "handler") || !strcmp(how, "again")) && rank) {
        MPI_Errhandler handler;
        MPI_Comm_create_errhandler(strcmp(how, "again") ? aborts : fails, &handler);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
        MPI_Send(&number, 1, MPI_INT, 5, 0, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "operator")) {
        MPI_Op op;
        int sum;
        MPI_Op_create(leaves, 1, &op);
        MPI_Allreduce(&number, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "address") && !rank) MPI_Send((void *)16, 4, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "handled")) {
        static char numbers[2][100000];
        MPI_Request requests[2];
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        for (int at = 0; at < 2; at++)
            if (rank) MPI_Irecv(numbers[at], sizeof numbers[at], MPI_CHAR, 0, at, MPI_COMM_WORLD, &requests[at]);
            else MPI_Isend(numbers[at], sizeof numbers[at], MPI_CHAR, 1, at, MPI_COMM_WORLD, &requests[at]);
        if (!rank) numbers[0][99999] = 1;
        int error = MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        if (error != (rank ? MPI_SUCCESS : MPI_ERR_BUFFER)) return 2;
        if (requests[0] != MPI_REQUEST_NULL || requests[1] != MPI_REQUEST_NULL) return 3;
    }
    if (!strcmp(how, "constant")) {
        static const int constant = 1;
        int one = 1;
        if (!rank) MPI_Send(&one, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        else MPI_Recv((void *)&constant, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (!strcmp(how, "starts") && rank) {
        /* A program that a rank starts is no rank, and does not write into the rank's channel. */
        if (!system("./program fine 2>/dev/null")) return 2;
    }
    if (!strcmp(how, "forks") && rank) {
        int child = fork();
        if (!child) for (;;) pause();
        printf("child %d\n", child);
    }
    if (!strcmp(how, "refused")) {
        MPI_File file;
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        if (MPI_Send(&number, 1, MPI_INT, 5, 0, MPI_COMM_WORLD) != MPI_ERR_RANK) return 2;
        if (MPI_File_open(MPI_COMM_WORLD, "x", 0, MPI_INFO_NULL, &file) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 9);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (!strcmp(how, "after")) MPI_Barrier(MPI_COMM_WORLD);
    return !strcmp(how, "status") ? 4 : 0;
}
