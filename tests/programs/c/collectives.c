/* Collective operations over communicators of several kinds, with operators and datatypes of the program's own. */
#include <complex.h>
#include <mpi.h>
#include <stdio.h>

static int rank, size;

/* x -> a x + b modulo 10007, lower ranks first: it does not commute. */
static void join(void *in, void *inout, int *count, MPI_Datatype *type) {
    int (*low)[2] = in, (*high)[2] = inout;
    (void)type;
    for (int at = 0; at < *count; at++) {
        int a = low[at][0] * high[at][0] % 10007, b = (low[at][1] * high[at][0] + high[at][1]) % 10007;
        high[at][0] = a;
        high[at][1] = b;
    }
}

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
    int got[16], mine[16];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    mine[0] = rank + 1;
    MPI_Allreduce(mine, got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(mine, got + 1, 1, MPI_INT, MPI_PROD, MPI_COMM_WORLD);
    if (!rank) got[1] = -1;
    got[2] = rank + 10;
    MPI_Allreduce(MPI_IN_PLACE, got + 2, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    show("sum, product below, greatest", got, 3);

    MPI_Datatype pair;
    MPI_Op op;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(join, 0, &op);
    mine[0] = rank + 2, mine[1] = rank + 3;
    MPI_Reduce(mine, got, 1, pair, op, size - 1, MPI_COMM_WORLD);
    MPI_Bcast(got, 1, pair, size - 1, MPI_COMM_WORLD);
    MPI_Scan(mine, got + 2, 1, pair, op, MPI_COMM_WORLD);
    show("in the order of ranks", got, 4);

    struct { double value; int at; } where = { (rank * 7) % 5, rank }, found;
    MPI_Allreduce(&where, &found, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    double complex z = rank + 2 * I, product;
    MPI_Allreduce(&z, &product, 1, MPI_C_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD);
    got[0] = found.value, got[1] = found.at, got[2] = creal(product), got[3] = cimag(product);
    show("greatest and where, complex product", got, 4);

    MPI_Datatype every_second;
    MPI_Type_vector(3, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    for (int at = 0; at < 6; at++) mine[at] = at % 2 ? -1 : 10 * rank + at / 2;
    for (int at = 0; at < 16; at++) got[at] = -7;
    MPI_Bcast(rank == 1 ? mine : got, 1, every_second, 1, MPI_COMM_WORLD);
    show("every second of rank 1", rank == 1 ? mine : got, 6);

    int counts[8], places[8], sent[8], from[8];
    for (int at = 0; at < size; at++) sent[at] = at + 1, from[at] = at, counts[at] = rank + 1, places[at] = at * (rank + 1);
    for (int at = 0; at < 16; at++) mine[at] = 100 * rank + at, got[at] = -7;
    MPI_Alltoallv(mine, sent, from, MPI_INT, got, counts, places, MPI_INT, MPI_COMM_WORLD);
    show("blocks of all", got, size);

    MPI_Comm half, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, size - 1 - rank % 2, 5, &both);
    mine[0] = 10 + rank;
    MPI_Allreduce(mine, got, 1, MPI_INT, MPI_SUM, half);
    MPI_Allreduce(mine, got + 1, 1, MPI_INT, MPI_SUM, both);
    MPI_Comm_rank(half, got + 2);
    MPI_Comm_remote_size(both, got + 3);
    show("of one half, of the other, rank, size", got, 4);

    MPI_Request requests[3];
    MPI_Iallgather(&rank, 1, MPI_INT, got, 1, MPI_INT, half, requests);
    MPI_Allreduce_init(mine, got + 4, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, MPI_INFO_NULL, requests + 1);
    MPI_Send_init(mine, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, requests + 2);
    for (int round = 0; round < 2; round++) {
        mine[0] = 20 + 10 * round + rank;
        MPI_Startall(2, requests + 1);
        MPI_Recv(got + 5 + round, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Waitall(round ? 2 : 3, requests + (round ? 1 : 0), MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(requests + 1);
    MPI_Request_free(requests + 2);
    got[2] = got[4], got[3] = got[5], got[4] = got[6];
    show("begun and prepared", got, 5);

    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
    MPI_Type_free(&pair);
    MPI_Type_free(&every_second);
    MPI_Op_free(&op);
    MPI_Finalize();
    return 0;
}
