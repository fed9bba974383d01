/* Functions of attributes that call MPI themselves: a private communicator is copied and freed with the one that it
   belongs to. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank;

static int copied(MPI_Comm comm, int key, void *extra, void *value, void *new_value, int *flag) {
    MPI_Comm *own = malloc(sizeof *own);
    int size;
    (void)comm, (void)key, (void)extra;
    MPI_Comm_dup(*(MPI_Comm *)value, own);
    MPI_Comm_size(*own, &size);
    if (!rank) printf("copied, of %d ranks\n", size);
    *(MPI_Comm **)new_value = own;
    *flag = 1;
    return MPI_SUCCESS;
}

static int deleted(MPI_Comm comm, int key, void *value, void *extra) {
    int sum = 1;
    (void)comm, (void)key, (void)extra;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, *(MPI_Comm *)value);
    int freed = MPI_Comm_free(value);
    if (!rank) printf("deleted by %d ranks: %d\n", sum, freed);
    free(value);
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int key;
    MPI_Comm_create_keyval(copied, deleted, &key, NULL);
    MPI_Comm *own = malloc(sizeof *own), twin, third;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, own);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, own);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    MPI_Comm_idup(twin, &third, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&twin);
    MPI_Comm_delete_attr(third, key);
    MPI_Comm_free(&third);
    own = malloc(sizeof *own);
    MPI_Comm_dup(MPI_COMM_SELF, own);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, own);
    if (!rank) printf("finalize\n");
    MPI_Finalize();
    return 0;
}
