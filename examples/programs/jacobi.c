/* Jacobi iteration for the Laplace equation on a square, in blocks on a grid of processes.
 *
 *     jacobi ROWS COLUMNS STEPS
 *
 * Each process holds a block of the inner points with a border of one point. A step first sends the
 * block's four edges to the neighbours, whose borders they become: a row is contiguous, a column is a
 * vector. Then each point becomes the mean of its four neighbours.
 *
 * The start is an eigenvector of the step, sin(pi x) sin(2 pi y) with zeros on the boundary: each step
 * multiplies it by the mean of cos(pi / (ROWS + 1)) and cos(2 pi / (COLUMNS + 1)). So the right result
 * is known without computing it, and every point is compared with it.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* First of `count` things that part `index` of `parts` has; part `parts` begins where all end. */
static int first(int count, int parts, int index) {
    return (int)((long)count * index / parts);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (argc != 4) {
        fprintf(stderr, "usage: jacobi ROWS COLUMNS STEPS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const int rows = atoi(argv[1]), columns = atoi(argv[2]), steps = atoi(argv[3]);

    int size, rank, dims[2] = {0, 0}, periods[2] = {0, 0}, place[2];
    int up, down, left, right;
    MPI_Comm grid;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_coords(grid, rank, 2, place);
    MPI_Cart_shift(grid, 0, 1, &up, &down);
    MPI_Cart_shift(grid, 1, 1, &left, &right);

    const int top = first(rows, dims[0], place[0]), height = first(rows, dims[0], place[0] + 1) - top;
    const int side = first(columns, dims[1], place[1]), width = first(columns, dims[1], place[1] + 1) - side;
    const size_t pitch = width + 2;
    double *old = calloc((height + 2) * pitch, sizeof(double));
    double *new = calloc((height + 2) * pitch, sizeof(double));
#define AT(block, row, column) (block)[(row) * pitch + (column)]

    const double down_angle = acos(-1) / (rows + 1), right_angle = 2 * acos(-1) / (columns + 1);
    for (int row = 1; row <= height; row++)
        for (int column = 1; column <= width; column++)
            AT(old, row, column) = sin(down_angle * (top + row)) * sin(right_angle * (side + column));

    MPI_Datatype edge;
    MPI_Type_vector(height, 1, (int)pitch, MPI_DOUBLE, &edge);
    MPI_Type_commit(&edge);

    double change = 0;
    const double start = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        MPI_Request requests[8];
        MPI_Irecv(&AT(old, 0, 1), width, MPI_DOUBLE, up, 0, grid, &requests[0]);
        MPI_Irecv(&AT(old, height + 1, 1), width, MPI_DOUBLE, down, 1, grid, &requests[1]);
        MPI_Irecv(&AT(old, 1, 0), 1, edge, left, 2, grid, &requests[2]);
        MPI_Irecv(&AT(old, 1, width + 1), 1, edge, right, 3, grid, &requests[3]);
        MPI_Isend(&AT(old, height, 1), width, MPI_DOUBLE, down, 0, grid, &requests[4]);
        MPI_Isend(&AT(old, 1, 1), width, MPI_DOUBLE, up, 1, grid, &requests[5]);
        MPI_Isend(&AT(old, 1, width), 1, edge, right, 2, grid, &requests[6]);
        MPI_Isend(&AT(old, 1, 1), 1, edge, left, 3, grid, &requests[7]);
        MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);

        change = 0;
        for (int row = 1; row <= height; row++)
            for (int column = 1; column <= width; column++) {
                const double mean = (AT(old, row - 1, column) + AT(old, row + 1, column) +
                                     AT(old, row, column - 1) + AT(old, row, column + 1)) / 4;
                AT(new, row, column) = mean;
                change = fmax(change, fabs(mean - AT(old, row, column)));
            }
        MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, grid);
        double *swap = old;
        old = new, new = swap;
    }
    const double seconds = MPI_Wtime() - start;

    /* The largest difference from the known result, and the sum of squares. */
    const double factor = pow((cos(down_angle) + cos(right_angle)) / 2, steps);
    double error = 0, sum = 0;
    for (int row = 1; row <= height; row++)
        for (int column = 1; column <= width; column++) {
            const double known = sin(down_angle * (top + row)) * sin(right_angle * (side + column)) * factor;
            error = fmax(error, fabs(AT(old, row, column) - known));
            sum += AT(old, row, column) * AT(old, row, column);
        }
    MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, grid);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, grid);
    if (rank == 0) {
        printf("sum of squares %.6f, last change %.6f\n", sum, change);
        printf("%.2f us a step on %d x %d processes\n", seconds / steps * 1e6, dims[0], dims[1]);
    }
    if (error > 1e-12) {
        fprintf(stderr, "rank %d: a point differs by %g from the known result\n", rank, error);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Type_free(&edge);
    MPI_Comm_free(&grid);
    free(old);
    free(new);
    MPI_Finalize();
    return 0;
}
