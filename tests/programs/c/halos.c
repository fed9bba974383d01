/* Receives into data that lies in pieces: what a message does not fill stays as it is, and what MPI_Request_get_status
   has told is there. */
#include <mpi.h>
#include <stdio.h>

enum { ROWS = 4, COLUMNS = 6 };

static int grid[ROWS][COLUMNS], rank, size;

static void fill(void) {
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++) grid[row][column] = 100 * rank + 10 * row + column;
}

/* The column at the left edge, one digit string for each rank. */
static void tell(const char *what) {
    for (int who = 0; who < size; who++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (who != rank) continue;
        printf("%s %d:", what, rank);
        for (int row = 0; row < ROWS; row++) printf(" %d", grid[row][0]);
        printf("\n");
    }
}

int main(int argc, char **argv) {
    MPI_Datatype column;
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = rank ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    MPI_Type_vector(ROWS, 1, COLUMNS, MPI_INT, &column);
    MPI_Type_commit(&column);
    fill();
    MPI_Sendrecv(&grid[0][COLUMNS - 1], 1, column, right, 0, &grid[0][0], 1, column, left, 0, MPI_COMM_WORLD, &status);
    tell("halo");
    fill();
    int two[2] = {-1 - rank, -2 - rank};
    MPI_Sendrecv(two, 2, MPI_INT, right, 1, &grid[0][0], 1, column, left, 1, MPI_COMM_WORLD, &status);
    tell("short");
    fill();
    MPI_Isendrecv(two, right == MPI_PROC_NULL ? 0 : 1, MPI_INT, right, 2, &grid[0][0], 1, column, left, 2, MPI_COMM_WORLD,
                  &request);
    while (!flag) MPI_Request_get_status(request, &flag, &status);
    int seen = grid[0][0];
    grid[0][0] = 7;
    two[0] = 0;
    MPI_Wait(&request, &status);
    tell("begun");
    for (int who = 0; who < size; who++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (who == rank) printf("seen before the wait %d: %d\n", rank, seen);
    }
    MPI_Isend(two, 2, MPI_INT, rank, 3, MPI_COMM_WORLD, &request);
    MPI_Recv(two, 2, MPI_INT, rank, 3, MPI_COMM_WORLD, &status);
    MPI_Wait(&request, &status);
    MPI_Type_free(&column);
    MPI_Finalize();
    return 0;
}
