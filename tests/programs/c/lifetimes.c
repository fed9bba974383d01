/* Objects that are freed while operations use them, memory of several windows, and what is never freed. */
#include <mpi.h>
#include <stdio.h>

static int rank, size;

/* The communicator is freed while collectives over it are under way, and before a persistent one begins. */
static void communicators(void) {
    MPI_Comm comm;
    MPI_Request requests[4];
    int one = 1, sum = 0, root = rank ? 0 : 5, later = rank ? 0 : 6;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Ibarrier(comm, &requests[0]);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[1]);
    MPI_Ibcast(&root, 1, MPI_INT, 0, comm, &requests[2]);
    MPI_Bcast_init(&later, 1, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[3]);
    MPI_Comm_free(&comm);
    MPI_Start(&requests[3]);
    /* In another order on each second rank. */
    MPI_Wait(&requests[rank % 2 ? 3 : 0], MPI_STATUS_IGNORE);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[3]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_free(&comm);
    if (rank == size - 1) printf("freed and used: %d %d %d\n", sum, root, later);
}

/* A target datatype that begins before its displacement, and two gets with a synchronisation of memory between them. */
static void displacements(void) {
    int memory[8], got[2][8], lengths[2] = {1, 1}, places[2] = {-3, 2};
    MPI_Datatype around, apart;
    MPI_Win win;
    for (int at = 0; at < 8; at++) memory[at] = 10 * rank + at;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Type_indexed(2, lengths, places, MPI_INT, &around);
    MPI_Type_vector(2, 1, 4, MPI_INT, &apart);
    MPI_Type_commit(&around);
    MPI_Type_commit(&apart);
    int next = (rank + 1) % size;
    for (int at = 0; at < 16; at++) got[at / 8][at % 8] = -1;
    MPI_Win_lock_all(0, win);
    MPI_Get(got[0], 1, apart, next, 4, 1, around, win);
    MPI_Win_sync(win);
    MPI_Get(got[1], 1, apart, next, 3, 1, around, win);
    MPI_Win_flush(next, win);
    MPI_Win_unlock_all(win);
    if (rank == 0) printf("around: %d %d %d, %d %d %d\n", got[0][0], got[0][1], got[0][4], got[1][0], got[1][1], got[1][4]);
    MPI_Type_free(&around);
    MPI_Type_free(&apart);
    MPI_Win_free(&win);
}

/* The same memory is attached to two windows, and detached from one. The values that are put overlap. */
static void attached(void) {
    static long memory;
    long value = 3;
    MPI_Aint mine, theirs;
    MPI_Win one, other;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &one);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &other);
    MPI_Win_attach(one, &memory, sizeof memory);
    MPI_Win_attach(other, &memory, sizeof memory);
    MPI_Win_detach(one, &memory);
    MPI_Get_address(&memory, &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, (rank + size - 1) % size, 0, &theirs, 1, MPI_AINT, (rank + 1) % size, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_lock_all(0, other);
    MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, theirs, 1, MPI_LONG, other);
    MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, theirs, 1, MPI_LONG, other);
    MPI_Win_unlock_all(other);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("put into what stayed attached: %ld\n", memory);
    MPI_Win_free(&one);
    /* The other window is never freed. */
}

int main(int argc, char **argv) {
    MPI_Request request;
    int number = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    communicators();
    displacements();
    attached();
    MPI_Barrier(MPI_COMM_WORLD);
    /* Never completed, and never received. */
    if (rank == 0) MPI_Isend(&number, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request);
    MPI_Finalize();
    return 0;
}
