/* Counts that no program means: an error of MPI or the end of the run, in a sentence. */
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const MPI_Count huge = (MPI_Count)1 << 61;

static void class(const char *name, int code) {
    int class;
    MPI_Error_class(code, &class);
    printf("%s: %s\n", name, class == MPI_ERR_COUNT ? "MPI_ERR_COUNT" : class == MPI_ERR_ARG ? "MPI_ERR_ARG" : "other");
}

static void returned(void) {
    MPI_Count counts[1] = {huge}, sizes[1] = {(MPI_Count)1 << 60};
    MPI_Aint places[1] = {0};
    MPI_Datatype parts[1] = {MPI_INT}, made;
    MPI_Request request;
    int by[1] = {MPI_DISTRIBUTE_DFLT_DARG}, grid[1] = {INT_MAX}, which[1] = {MPI_DISTRIBUTE_BLOCK}, number;
    class("struct", MPI_Type_create_struct_c(huge, counts, counts, parts, &made));
    class("indexed", MPI_Type_indexed_c(huge, counts, counts, MPI_INT, &made));
    class("hindexed_block", MPI_Type_create_hindexed_block_c(huge, 1, counts, MPI_INT, &made));
    class("contiguous", MPI_Type_contiguous_c(huge, MPI_DOUBLE, &made));
    by[0] = INT_MAX;
    class("darray", MPI_Type_create_darray_c(INT_MAX, 0, 1, sizes, which, by, grid, MPI_ORDER_C, MPI_DOUBLE, &made));
    class("send", MPI_Send_c(&number, huge, MPI_DOUBLE, 0, 0, MPI_COMM_SELF));
    class("alltoall", MPI_Alltoall_c(&number, huge, MPI_INT, &number, huge, MPI_INT, MPI_COMM_WORLD));
    class("alltoallv", MPI_Alltoallv_c(&number, counts, places, MPI_DOUBLE, &number, counts, places, MPI_DOUBLE, MPI_COMM_SELF));
    class("reduce_scatter",
          MPI_Reduce_scatter_init_c(&number, &number, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF, MPI_INFO_NULL, &request));
    class("reduce_scatter_block", MPI_Reduce_scatter_block_c(&number, &number, huge, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF));
    class("partitions", MPI_Psend_init(&number, 60000, huge, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &request));
}

int main(int argc, char **argv) {
    int number = 0, index, flag;
    const char *how = argv[1];
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Request request = MPI_REQUEST_NULL;
    if (!strcmp(how, "returned")) returned();
    if (!strcmp(how, "testany")) MPI_Testany(INT_MAX, &request, &index, &flag, MPI_STATUS_IGNORE);
    if (!strcmp(how, "waitall")) MPI_Waitall(INT_MAX, &request, MPI_STATUSES_IGNORE);
    if (!strcmp(how, "startall")) MPI_Startall(INT_MAX, &request);
    if (!strcmp(how, "send")) MPI_Send_c(&number, (MPI_Count)1 << 40, MPI_BYTE, 0, 0, MPI_COMM_SELF);
    if (!strcmp(how, "bcast")) MPI_Bcast_c(&number, (MPI_Count)1 << 45, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "pack")) {
        MPI_Count position = 0;
        MPI_Pack_c(&number, (MPI_Count)1 << 45, MPI_BYTE, &number, 4, &position, MPI_COMM_SELF);
    }
    if (!strcmp(how, "group")) {
        MPI_Group world, made;
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        MPI_Group_incl(world, INT_MAX, &number, &made);
    }
    MPI_Finalize();
    return 0;
}
