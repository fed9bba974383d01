/* Sends in buffered mode without a buffer: each returns an error of class MPI_ERR_BUFFER. One rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void says(const char *call, int error) {
    int class;
    MPI_Error_class(error, &class);
    printf("%s: %s\n", call, class == MPI_ERR_BUFFER ? "no buffer" : class == MPI_SUCCESS ? "done" : "another error");
}

int main(int argc, char **argv) {
    int number = 7, got, bytes;
    void *buffer = malloc(1000);
    MPI_Request request;
    MPI_Init(&argc, &argv);
    if (argc > 1) {
        MPI_Bsend(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
        return 0;
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    says("MPI_Bsend", MPI_Bsend(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF));
    says("MPI_Ibsend", MPI_Ibsend(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request));
    says("to no process", MPI_Bsend(&number, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF));
    says("MPI_Bsend_init", MPI_Bsend_init(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request));
    says("MPI_Start", MPI_Start(&request));
    says("MPI_Startall", MPI_Startall(1, &request));
    MPI_Buffer_attach(buffer, 1000);
    says("with a buffer", MPI_Start(&request));
    MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    MPI_Buffer_detach(&buffer, &bytes);
    says("detached", MPI_Bsend(&number, 1, MPI_INT, 0, 0, MPI_COMM_SELF));
    MPI_Finalize();
    return 0;
}
