/* Windows of all flavours. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

/* Rank 0 prints what each rank has found. */
static void show(const char *what, const int *found, int count) {
    int all[64];
    MPI_Gather(found, count, MPI_INT, all, count, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank) return;
    printf("%s:", what);
    for (int at = 0; at < count * size; at++) printf(" %d", all[at]);
    printf("\n");
}

int main(int argc, char **argv) {
    int memory[8], got[8], one = 1;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size;

    for (int at = 0; at < 8; at++) memory[at] = 0;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    int mine[6] = {rank, -1, rank + 10, -1, rank + 20, -1};
    MPI_Datatype every_second, apart;
    MPI_Type_vector(3, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    int lengths[2] = {1, 2}, places[2] = {0, 3};
    MPI_Type_indexed(2, lengths, places, MPI_INT, &apart);
    MPI_Type_commit(&apart);
    MPI_Put(mine, 1, every_second, right, 1, 1, apart, win);
    MPI_Win_fence(0, win);
    show("put into blocks apart", memory, 6);

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 6, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(0, win);
    MPI_Win_lock_all(0, win);
    int expected = 0, old, value = rank + 1;
    MPI_Fetch_and_op(&one, &old, MPI_INT, right, 0, MPI_SUM, win);
    MPI_Win_flush(right, win);
    do {
        MPI_Compare_and_swap(&value, &expected, got, MPI_INT, 0, 7, win);
        MPI_Win_flush(0, win);
    } while (got[0] != expected && (expected = got[0], 1));
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    got[0] = old, got[1] = memory[0], got[2] = rank ? -1 : memory[6];
    show("fetched, added to, counted", got, 3);

    MPI_Group all, others;
    MPI_Win_get_group(win, &all);
    int left = (rank + size - 1) % size;
    MPI_Group_incl(all, 1, &left, &others);
    MPI_Win_post(others, 0, win);
    MPI_Group_free(&others);
    MPI_Group_incl(all, 1, &right, &others);
    MPI_Win_start(others, 0, win);
    MPI_Get(got, 1, every_second, right, 1, 3, MPI_INT, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    got[1] = got[2], got[2] = got[4];
    show("got from the right", got, 3);
    MPI_Group_free(&others);
    MPI_Group_free(&all);
    MPI_Win_free(&win);

    int *own, *of_right, unit;
    MPI_Aint bytes;
    MPI_Win_allocate_shared(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &own, &win);
    MPI_Win_lock_all(0, win);
    own[0] = 100 + rank, own[1] = 200 + rank;
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    MPI_Win_shared_query(win, right, &bytes, &unit, &of_right);
    got[0] = of_right[1], got[1] = bytes, got[2] = unit;
    MPI_Get(got + 3, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Win_unlock_all(win);
    show("loaded and got from shared memory", got, 4);
    MPI_Win_free(&win);

    double *far = malloc(10 * sizeof(double));
    for (int at = 0; at < 10; at++) far[at] = 10 * rank + at;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, far, 10 * sizeof(double));
    MPI_Aint address, addresses[8];
    MPI_Get_address(far + 3, &address);
    MPI_Allgather(&address, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD);
    double there;
    MPI_Request request;
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    MPI_Rget(&there, 1, MPI_DOUBLE, right, addresses[right], 1, MPI_DOUBLE, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock(right, win);
    got[0] = there;
    show("attached by the right", got, 1);
    MPI_Win_detach(win, far);
    MPI_Win_free(&win);
    MPI_Type_free(&apart);
    MPI_Type_free(&every_second);
    MPI_Finalize();
    return 0;
}
