/* Transposes a matrix whose rows are distributed over the processes.
 *
 *     transpose ORDER ROUNDS
 *
 * A process holds ORDER / size rows. What process p sends to process q is the block where p's rows meet
 * q's columns. The datatype of the sender takes a block column by column, and that of the receiver puts
 * it down as rows: one MPI_Alltoall transposes, and the program copies nothing.
 *
 * Element (i, j) is i * ORDER + j, so each element of the transposed matrix is known.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int size, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int order = argc == 3 ? atoi(argv[1]) : 0, rounds = argc == 3 ? atoi(argv[2]) : 0;
    if (order < size || order % size || rounds < 1) {
        fprintf(stderr, "usage: transpose ORDER ROUNDS, with an order that %d processes divide\n", size);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const int rows = order / size;
    const MPI_Aint block = rows * sizeof(double);
    double *matrix = malloc(rows * (size_t)order * sizeof(double));
    double *turned = malloc(rows * (size_t)order * sizeof(double));
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < order; column++)
            matrix[row * (size_t)order + column] = (rank * rows + row) * (double)order + column;

    /* The block for one process, column after column; the next process's begins `rows` elements on. */
    MPI_Datatype column, column_after_column, outgoing;
    MPI_Type_vector(rows, 1, order, MPI_DOUBLE, &column);
    MPI_Type_create_hvector(rows, 1, sizeof(double), column, &column_after_column);
    MPI_Type_create_resized(column_after_column, 0, block, &outgoing);
    MPI_Type_commit(&outgoing);
    MPI_Type_free(&column);
    MPI_Type_free(&column_after_column);
    /* The same block of the transposed matrix, row after row. */
    MPI_Datatype row_after_row, incoming;
    MPI_Type_vector(rows, rows, order, MPI_DOUBLE, &row_after_row);
    MPI_Type_create_resized(row_after_row, 0, block, &incoming);
    MPI_Type_commit(&incoming);
    MPI_Type_free(&row_after_row);

    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int round = 0; round < rounds; round++)
        MPI_Alltoall(matrix, 1, outgoing, turned, 1, incoming, MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - start;

    long wrong = 0;
    double trace = 0;
    for (int row = 0; row < rows; row++)
        for (int column = 0; column < order; column++)
            wrong += turned[row * (size_t)order + column] != column * (double)order + rank * rows + row;
    for (int row = 0; row < rows; row++) trace += turned[row * (size_t)order + rank * rows + row];
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &trace, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("trace %.0f, %ld elements wrong\n", trace, wrong);
        printf("%.2f us a transposition\n", seconds / rounds * 1e6);
    }
    /* The sum of i * ORDER + i. */
    if (wrong || trace != order * (order - 1.0) / 2 * (order + 1.0)) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Type_free(&outgoing);
    MPI_Type_free(&incoming);
    free(matrix);
    free(turned);
    MPI_Finalize();
    return 0;
}
