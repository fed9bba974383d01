/* Arguments of collectives that do not agree, one for each word: the ranks of the first argument's sentence give other
   counts than the ranks that they talk to. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IS(word) (!strcmp(argv[1], word))

static int sends[4096], takes[4096];

int main(int argc, char **argv) {
    int rank, size, gives[64], wants[64], from[64], to[64];
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    MPI_Datatype types[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    /* The count that differs, who gives it, and for whom. */
    int other = atoi(argv[2]), who = atoi(argv[3]), at = argc > 4 ? atoi(argv[4]) : who;
    int mine = rank == who ? other : 1;
    for (int i = 0; i < 64; i++)
        gives[i] = wants[i] = 1, from[i] = to[i] = 8 * i, types[i] = MPI_INT;
    if (rank == who && strstr(argv[1], "gives"))
        gives[at] = other;
    if (rank == who && strstr(argv[1], "wants"))
        wants[at] = other;
    if (IS("alltoall"))
        MPI_Alltoall(sends, other, MPI_INT, takes, 1, MPI_INT, comm);
    if (IS("ialltoall")) {
        MPI_Ialltoall(sends, other, MPI_INT, takes, 1, MPI_INT, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (IS("alltoallv gives") || IS("alltoallv wants"))
        MPI_Alltoallv(sends, gives, from, MPI_INT, takes, wants, to, MPI_INT, comm);
    if (IS("ialltoallv gives")) {
        MPI_Ialltoallv(sends, gives, from, MPI_INT, takes, wants, to, MPI_INT, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (IS("alltoallv_init wants")) {
        MPI_Alltoallv_init(sends, gives, from, MPI_INT, takes, wants, to, MPI_INT, comm, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
    if (IS("alltoallw gives"))
        MPI_Alltoallw(sends, gives, from, types, takes, wants, to, types, comm);
    if (IS("gather"))
        MPI_Gather(sends, mine, MPI_INT, takes, 1, MPI_INT, 0, comm);
    if (IS("gatherv wants"))
        MPI_Gatherv(sends, 1, MPI_INT, takes, wants, to, MPI_INT, 0, comm);
    if (IS("scatter"))
        MPI_Scatter(sends, 1, MPI_INT, takes, mine, MPI_INT, 0, comm);
    if (IS("scatterv gives"))
        MPI_Scatterv(sends, gives, from, MPI_INT, takes, 1, MPI_INT, 0, comm);
    if (IS("allgather"))
        MPI_Allgather(sends, mine, MPI_INT, takes, 1, MPI_INT, comm);
    if (IS("allgatherv"))
        MPI_Allgatherv(sends, mine, MPI_INT, takes, wants, to, MPI_INT, comm);
    if (IS("allgatherv wants"))
        MPI_Allgatherv(sends, 1, MPI_INT, takes, wants, to, MPI_INT, comm);
    if (IS("reduce_scatter gives"))
        MPI_Reduce_scatter(sends, takes, gives, MPI_INT, MPI_SUM, comm);
    if (IS("neighbours give")) {
        MPI_Comm ring;
        int dims[1] = {size}, periods[1] = {1};
        MPI_Cart_create(comm, 1, dims, periods, 0, &ring);
        MPI_Neighbor_allgather(sends, mine, MPI_INT, takes, 1, MPI_INT, ring);
    }
    printf("end\n");
    MPI_Finalize();
    return 0;
}
