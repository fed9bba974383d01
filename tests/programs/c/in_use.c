/* Memory that is handed to MPI twice: MPI allows it where both operations read. */
#include <mpi.h>
#include <string.h>

static int x[8], y[8];

int main(int argc, char **argv)
{
    int rank, two = 2;
    MPI_Request a = MPI_REQUEST_NULL, b = MPI_REQUEST_NULL;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(y, sizeof y, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    const char *how = argc > 1 ? argv[1] : "";
    int other = 1 - rank, is = 0;
#define HOW(name) (is = strcmp(how, name) == 0)
    if (HOW("received into a send") && rank == 0) {
        MPI_Isend(x, 2, MPI_INT, other, 1, MPI_COMM_WORLD, &a);
        MPI_Irecv(x + 1, 1, MPI_INT, other, 2, MPI_COMM_WORLD, &b);
    } else if (is) {
        MPI_Irecv(x, 2, MPI_INT, other, 1, MPI_COMM_WORLD, &a);
        MPI_Isend(x + 4, 1, MPI_INT, other, 2, MPI_COMM_WORLD, &b);
    }
    if (HOW("sent out of a get") && rank == 0) {
        MPI_Win_lock_all(0, win);
        MPI_Get(x, 2, MPI_INT, other, 0, 2, MPI_INT, win);
        MPI_Send(x + 1, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
        MPI_Win_unlock_all(win);
    } else if (is) {
        MPI_Recv(x, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (HOW("received into a partition") && rank == 0) {
        MPI_Psend_init(x, 2, 2, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &a);
        MPI_Start(&a);
        MPI_Recv(x + 2, 2, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Pready(0, a);
        MPI_Recv(x, 2, MPI_INT, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Pready(1, a);
    } else if (is) {
        MPI_Precv_init(x, 2, 2, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &a);
        MPI_Start(&a);
        MPI_Send(y, 2, MPI_INT, other, 2, MPI_COMM_WORLD);
        MPI_Send(y, 2, MPI_INT, other, 2, MPI_COMM_WORLD);
    }
    if (is) {
        MPI_Wait(&a, MPI_STATUS_IGNORE);
        MPI_Wait(&b, MPI_STATUS_IGNORE);
        if (a != MPI_REQUEST_NULL)
            MPI_Request_free(&a);
    }
    if (HOW("both buffers are one"))
        MPI_Allreduce(x, x, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (HOW("allowed")) {
        MPI_Datatype even, odd;
        MPI_Type_vector(2, 1, 2, MPI_INT, &even);
        MPI_Type_commit(&even);
        MPI_Type_dup(even, &odd);
        /* Two that read, and two whose elements lie between each other's. */
        MPI_Isend(x, 2, MPI_INT, other, 1, MPI_COMM_WORLD, &a);
        MPI_Send(x, 2, MPI_INT, other, 1, MPI_COMM_WORLD);
        MPI_Recv(x + 4, 2, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(x + 4, 2, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&a, MPI_STATUS_IGNORE);
        MPI_Irecv(x, 1, even, other, 2, MPI_COMM_WORLD, &a);
        MPI_Irecv(x + 1, 1, odd, other, 3, MPI_COMM_WORLD, &b);
        MPI_Send(x + 4, 2, MPI_INT, other, 2, MPI_COMM_WORLD);
        MPI_Send(x + 4, 2, MPI_INT, other, 3, MPI_COMM_WORLD);
        MPI_Waitall(2, (MPI_Request[]){a, b}, MPI_STATUSES_IGNORE);
        /* The root of a broadcast reads, and elsewhere a result is not significant. */
        MPI_Ibcast(x, 2, MPI_INT, 0, MPI_COMM_WORLD, &a);
        if (rank == 0)
            MPI_Send(x, 2, MPI_INT, other, 4, MPI_COMM_WORLD);
        else
            MPI_Recv(x + 4, 2, MPI_INT, other, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&a, MPI_STATUS_IGNORE);
        MPI_Reduce(x, rank == 0 ? x + 4 : x, two, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Allreduce(MPI_IN_PLACE, x, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Win_fence(0, win);
        MPI_Get(x, 2, MPI_INT, other, 0, 2, MPI_INT, win);
        MPI_Win_fence(0, win);
        MPI_Send(x, 2, MPI_INT, other, 5, MPI_COMM_WORLD);
        MPI_Recv(x, 2, MPI_INT, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Type_free(&even);
        MPI_Type_free(&odd);
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
