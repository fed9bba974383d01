/* Rank 0 makes one call again and again until rank 1 has changed its part of a window; or so many that change nothing. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, how, many, one = 1, seen = 0, flag, *part;
    MPI_Win win;
    MPI_Request idle;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    how = atoi(argv[1]);
    many = atoi(argv[2]);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
    *part = 0;
    MPI_Recv_init(&flag, 1, MPI_INT, 1, 55, MPI_COMM_WORLD, &idle);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_unlock(0, win);
    } else {
        volatile int *now = part;
        int calls = 0;
        if (how == 3)
            MPI_Win_lock_all(0, win);
        while (!*now && calls < many) {
            calls++;
            switch (how) {
            case 0:
                MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
                MPI_Get(&seen, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
                MPI_Win_unlock(0, win);
                break;
            case 1:
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
                MPI_Win_unlock(0, win);
                break;
            case 2:
                MPI_Win_lock_all(0, win);
                MPI_Win_unlock_all(win);
                break;
            case 3:
                MPI_Win_sync(win);
                break;
            case 4:
                MPI_Test(&idle, &flag, MPI_STATUS_IGNORE);
                break;
            case 5:
                MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
                break;
            case 6:
                MPI_Send(&one, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
                break;
            case 7:
                MPI_Barrier(MPI_COMM_SELF);
                break;
            }
        }
        if (how == 3)
            MPI_Win_unlock_all(win);
        printf("%s\n", *now ? "arrived" : "not arrived");
    }
    MPI_Request_free(&idle);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
