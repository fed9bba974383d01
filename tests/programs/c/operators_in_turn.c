/* Rank 0 uses the second operator before all ranks use the first one. */
#include <mpi.h>
#include <stdio.h>

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void multiply(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] *= ((int *)in)[i];
}

int main(int argc, char **argv) {
    int rank, own = 1, result = 2;
    MPI_Op sum, product;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Op_create(add, 1, &sum);
    MPI_Op_create(multiply, 1, &product);
    if (rank == 0)
        MPI_Reduce_local(&own, &result, 1, MPI_INT, product);
    own = rank + 1;
    MPI_Allreduce(&own, &result, 1, MPI_INT, sum, MPI_COMM_WORLD);
    printf("sum %d\n", result);
    MPI_Op_free(&sum);
    MPI_Op_free(&product);
    MPI_Finalize();
    return 0;
}
