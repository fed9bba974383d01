/* Grids and graphs of four ranks: who stands where, who is whose neighbour, and what neighbours exchange. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank;

/* Rank after rank, in their order. */
static void say(const char *what, const int *numbers, int count) {
    char line[200] = "", all[4][200];
    int length = sprintf(line, "%d %s:", rank, what);
    for (int at = 0; at < count; at++) length += sprintf(line + length, " %d", numbers[at]);
    MPI_Gather(line, 200, MPI_CHAR, all, 200, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int from = 0; !rank && from < 4; from++) printf("%s\n", all[from]);
}

int main(int argc, char **argv) {
    int dims[3] = {0, 0, 0}, periods[2] = {1, 0}, size, number;
    int got[12], kind, remain[2] = {0, 1}, given[4];
    MPI_Comm grid, row, graph, copy;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Dims_create(60, 3, dims);
    say("dims", dims, 3);
    dims[0] = 0, dims[1] = 2;
    MPI_Dims_create(4, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Cart_get(grid, 2, got, got + 2, got + 4);
    say("grid", got, 6);
    MPI_Cart_shift(grid, 0, 1, &got[0], &got[1]);
    MPI_Cart_shift(grid, 1, 1, &got[2], &got[3]);
    say("shift", got, 4);
    MPI_Cart_coords(grid, 3 - rank, 2, got);
    got[0] += 2;
    MPI_Cart_rank(grid, got, &got[2]);
    say("coords", got, 3);
    for (int at = 0; at < 4; at++) given[at] = 10 * rank + at, got[at] = -1;
    MPI_Neighbor_alltoall(given, 1, MPI_INT, got, 1, MPI_INT, grid);
    say("neighbours", got, 4);
    memset(got, -1, sizeof got);
    MPI_Datatype pair;
    MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Neighbor_allgather(given, 2, MPI_INT, got, 1, pair, grid);
    say("in pieces", got, 12);
    MPI_Type_free(&pair);
    MPI_Cart_sub(grid, remain, &row);
    MPI_Comm_size(row, &size);
    MPI_Comm_rank(row, &number);
    MPI_Cartdim_get(row, &kind);
    int part[] = {size, number, kind};
    say("row", part, 3);
    MPI_Comm_dup(grid, &copy);
    MPI_Topo_test(copy, &kind);
    number = kind == MPI_CART;
    say("copy", &number, 1);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&row);
    MPI_Comm_free(&grid);

    int three[] = {3};
    MPI_Cart_create(MPI_COMM_WORLD, 1, three, periods, 0, &grid);
    number = grid == MPI_COMM_NULL;
    say("left out", &number, 1);
    if (!number) MPI_Comm_free(&grid);

    int ends[] = {2, 3, 4}, edges[] = {1, 2, 0, 0};
    MPI_Graph_create(MPI_COMM_WORLD, 3, ends, edges, 0, &graph);
    number = 0;
    if (graph != MPI_COMM_NULL) {
        MPI_Graph_neighbors_count(graph, rank, &number);
        MPI_Graph_neighbors(graph, rank, number, got);
        MPI_Ineighbor_allgather(&rank, 1, MPI_INT, got + number, 1, MPI_INT, graph, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Comm_free(&graph);
    }
    say("graph", got, 2 * number);

    int from[] = {(rank + 3) % 4}, to[] = {(rank + 1) % 4}, weights[] = {rank + 5};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, from, weights, 1, to, weights, MPI_INFO_NULL, 0, &copy);
    MPI_Dist_graph_neighbors(copy, 1, got, got + 1, 1, got + 2, got + 3);
    MPI_Neighbor_alltoall(&rank, 1, MPI_INT, got + 4, 1, MPI_INT, copy);
    say("ring", got, 5);
    MPI_Comm_free(&copy);

    /* Rank 0 names all edges: a star, away from rank 1. */
    int centre[] = {1}, three_of_it[] = {3}, points[] = {0, 2, 3}, heavy[] = {7, 8, 9}, in, out, weighted;
    MPI_Dist_graph_create(MPI_COMM_WORLD, !rank, centre, three_of_it, points, heavy, MPI_INFO_NULL, 0, &copy);
    MPI_Dist_graph_neighbors_count(copy, &in, &out, &weighted);
    MPI_Dist_graph_neighbors(copy, in, got, got + in, out, got + 2 * in, got + 2 * in + out);
    number = -1;
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, &number, 1, MPI_INT, copy);
    got[2 * in + 2 * out] = number;
    say("star", got, 2 * in + 2 * out + 1);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
