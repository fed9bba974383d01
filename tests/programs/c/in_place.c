/* Every operation that takes MPI_IN_PLACE, with counts around the bounds of libraries' rules; each result is compared
   with its closed form. The argument says whether the operations wait (0), are begun (1) or are prepared (2). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int form, rank, size, wrong;

#define CALL(waits, begins, ...)                                                                                       \
    do {                                                                                                               \
        MPI_Request request;                                                                                           \
        if (form == 0) {                                                                                               \
            MPI_##waits(__VA_ARGS__, MPI_COMM_WORLD);                                                                  \
        } else if (form == 1) {                                                                                        \
            MPI_I##begins(__VA_ARGS__, MPI_COMM_WORLD, &request);                                                      \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                     \
        } else {                                                                                                       \
            MPI_##waits##_init(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &request);                                  \
            MPI_Start(&request);                                                                                       \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                     \
            MPI_Request_free(&request);                                                                                \
        }                                                                                                              \
    } while (0)

static void expect(const char *what, int count, int root, int place, long found, long expected) {
    if (found == expected)
        return;
    if (wrong++ < 10)
        printf("rank %d: %s of %d ints, root %d: number %d is %ld, not %ld\n", rank, what, count, root, place, found,
               expected);
}

/* What a rank gives at a place. */
static int given(int from, int place) { return 1000 * from + place % 7; }

/* The sum over the first so many ranks. */
static int sum(int ranks, int place) { return 1000 * (ranks * (ranks - 1) / 2) + ranks * (place % 7); }

/* (a, b) stands for x -> a x + b modulo a prime; lower ranks are applied first. */
typedef struct {
    int a, b;
} Map;
enum { PRIME = 10007 };

static Map after(Map first, Map then) {
    return (Map){first.a * then.a % PRIME, (first.b * then.a + then.b) % PRIME};
}

static void compose(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++)
        ((Map *)inout)[i] = after(((Map *)in)[i], ((Map *)inout)[i]);
}

static Map map_of(int from, int place) { return (Map){2 + from + place % 3, 5 * from + 1}; }

static Map composed(int ranks, int place) {
    Map all = {1, 0};
    for (int from = 0; from < ranks; from++)
        all = after(all, map_of(from, place));
    return all;
}

static void sums(int count, int *all, const int *counts) {
    for (int root = 0; root < size; root += size > 1 ? size - 1 : 1) {
        for (int i = 0; i < count; i++)
            all[i] = given(rank, i);
        if (rank == root)
            CALL(Reduce, reduce, MPI_IN_PLACE, all, count, MPI_INT, MPI_SUM, root);
        else
            CALL(Reduce, reduce, all, NULL, count, MPI_INT, MPI_SUM, root);
        for (int i = 0; rank == root && i < count; i++)
            expect("reduce", count, root, i, all[i], sum(size, i));
    }
    for (int i = 0; i < count; i++)
        all[i] = given(rank, i);
    CALL(Allreduce, allreduce, MPI_IN_PLACE, all, count, MPI_INT, MPI_SUM);
    for (int i = 0; i < count; i++)
        expect("allreduce", count, 0, i, all[i], sum(size, i));
    for (int i = 0; i < count; i++)
        all[i] = given(rank, i);
    CALL(Scan, scan, MPI_IN_PLACE, all, count, MPI_INT, MPI_SUM);
    for (int i = 0; i < count; i++)
        expect("scan", count, 0, i, all[i], sum(rank + 1, i));
    for (int i = 0; i < count; i++)
        all[i] = given(rank, i);
    CALL(Exscan, exscan, MPI_IN_PLACE, all, count, MPI_INT, MPI_SUM);
    for (int i = 0; rank > 0 && i < count; i++)
        expect("exscan", count, 0, i, all[i], sum(rank, i));
    for (int i = 0; i < size * count; i++)
        all[i] = given(rank, i);
    CALL(Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, all, count, MPI_INT, MPI_SUM);
    for (int i = 0; i < count; i++)
        expect("reduce_scatter_block", count, 0, i, all[i], sum(size, rank * count + i));
    for (int i = 0; i < size * count; i++)
        all[i] = given(rank, i);
    CALL(Reduce_scatter, reduce_scatter, MPI_IN_PLACE, all, counts, MPI_INT, MPI_SUM);
    int before = 0;
    for (int i = 0; i < rank; i++)
        before += counts[i];
    for (int i = 0; i < counts[rank]; i++)
        expect("reduce_scatter", count, 0, i, all[i], sum(size, before + i));
}

static void maps(int count, Map *all, MPI_Datatype pair, MPI_Op op) {
    for (int root = 0; root < size; root += size > 1 ? size - 1 : 1) {
        for (int i = 0; i < count; i++)
            all[i] = map_of(rank, i);
        if (rank == root)
            CALL(Reduce, reduce, MPI_IN_PLACE, all, count, pair, op, root);
        else
            CALL(Reduce, reduce, all, NULL, count, pair, op, root);
        for (int i = 0; rank == root && i < count; i++)
            expect("reduce in order", count, root, i, all[i].b, composed(size, i).b);
    }
    for (int i = 0; i < count; i++)
        all[i] = map_of(rank, i);
    CALL(Allreduce, allreduce, MPI_IN_PLACE, all, count, pair, op);
    for (int i = 0; i < count; i++)
        expect("allreduce in order", count, 0, i, all[i].b, composed(size, i).b);
    for (int i = 0; i < count; i++)
        all[i] = map_of(rank, i);
    CALL(Scan, scan, MPI_IN_PLACE, all, count, pair, op);
    for (int i = 0; i < count; i++)
        expect("scan in order", count, 0, i, all[i].b, composed(rank + 1, i).b);
    for (int i = 0; i < size * count; i++)
        all[i] = map_of(rank, i);
    CALL(Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, all, count, pair, op);
    for (int i = 0; i < count; i++)
        expect("reduce_scatter_block in order", count, 0, i, all[i].b, composed(size, rank * count + i).b);
}

static void blocks(int count, int *all, const int *counts, const int *places) {
    int own = counts[rank], total = places[size - 1] + counts[size - 1];
    for (int root = 0; root < size; root += size > 1 ? size - 1 : 1) {
        for (int i = 0; i < size * count; i++)
            all[i] = rank == root && i / count != rank ? -1 : given(rank, i % count);
        if (rank == root)
            CALL(Gather, gather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, count, MPI_INT, root);
        else
            CALL(Gather, gather, all, count, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, root);
        for (int i = 0; rank == root && i < size * count; i++)
            expect("gather", count, root, i, all[i], given(i / count, i % count));
        for (int i = 0; i < size * count; i++)
            all[i] = rank == root ? given(i / count, i % count) : -1;
        if (rank == root)
            CALL(Scatter, scatter, all, count, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root);
        else
            CALL(Scatter, scatter, NULL, 0, MPI_DATATYPE_NULL, all, count, MPI_INT, root);
        for (int i = 0; i < count; i++)
            expect("scatter", count, root, i, all[rank == root ? rank * count + i : i], given(rank, i));
        for (int i = 0; i < total; i++)
            all[i] = -1;
        for (int i = 0; i < own; i++)
            all[rank == root ? places[rank] + i : i] = given(rank, i);
        if (rank == root)
            CALL(Gatherv, gatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, places, MPI_INT, root);
        else
            CALL(Gatherv, gatherv, all, own, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, root);
        for (int from = 0; rank == root && from < size; from++)
            for (int i = 0; i < counts[from]; i++)
                expect("gatherv", count, root, i, all[places[from] + i], given(from, i));
        for (int from = 0; from < size; from++)
            for (int i = 0; i < counts[from]; i++)
                all[places[from] + i] = rank == root ? given(from, i) : -1;
        if (rank == root)
            CALL(Scatterv, scatterv, all, counts, places, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, root);
        else
            CALL(Scatterv, scatterv, NULL, NULL, NULL, MPI_DATATYPE_NULL, all, own, MPI_INT, root);
        for (int i = 0; i < own; i++)
            expect("scatterv", count, root, i, all[rank == root ? places[rank] + i : i], given(rank, i));
    }
    for (int i = 0; i < size * count; i++)
        all[i] = i / count == rank ? given(rank, i % count) : -1;
    CALL(Allgather, allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, count, MPI_INT);
    for (int i = 0; i < size * count; i++)
        expect("allgather", count, 0, i, all[i], given(i / count, i % count));
    for (int i = 0; i < total; i++)
        all[i] = -1;
    for (int i = 0; i < own; i++)
        all[places[rank] + i] = given(rank, i);
    CALL(Allgatherv, allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, places, MPI_INT);
    for (int from = 0; from < size; from++)
        for (int i = 0; i < counts[from]; i++)
            expect("allgatherv", count, 0, i, all[places[from] + i], given(from, i));
    for (int i = 0; i < size * count; i++)
        all[i] = given(rank, 13 * (i / count) + i % count);
    CALL(Alltoall, alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, count, MPI_INT);
    for (int i = 0; i < size * count; i++)
        expect("alltoall", count, 0, i, all[i], given(i / count, 13 * rank + i % count));
    /* The blocks of two ranks for each other are of one length. */
    int *each = malloc(size * sizeof *each), *starts = malloc(size * sizeof *starts);
    int *bytes = malloc(size * sizeof *bytes);
    MPI_Datatype *types = malloc(size * sizeof *types);
    for (int way = 0; way < 2; way++) {
        for (int other = 0, end = 0; other < size; end += each[other++]) {
            each[other] = (rank + other) % 3 ? count : count / 2;
            starts[other] = end, bytes[other] = end * (int)sizeof *all, types[other] = MPI_INT;
            for (int i = 0; i < each[other]; i++)
                all[end + i] = given(rank, 13 * other + i);
        }
        if (way)
            CALL(Alltoallw, alltoallw, MPI_IN_PLACE, NULL, NULL, NULL, all, each, bytes, types);
        else
            CALL(Alltoallv, alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, all, each, starts, MPI_INT);
        for (int other = 0; other < size; other++)
            for (int i = 0; i < each[other]; i++)
                expect(way ? "alltoallw" : "alltoallv", count, 0, i, all[starts[other] + i],
                       given(other, 13 * rank + i));
    }
    free(each), free(starts), free(bytes), free(types);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    form = argc > 1 ? atoi(argv[1]) : 0;
    MPI_Datatype pair;
    MPI_Op op;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &op);
    int of[] = {1, 30, 1000, 3000}, *counts = malloc(size * sizeof *counts), *places = malloc(size * sizeof *places);
    for (int which = 0; which < (int)(sizeof of / sizeof *of); which++) {
        int count = of[which];
        for (int i = 0, end = 0; i < size; end += counts[i++])
            counts[i] = i % 3 == 1 ? count / 2 : count, places[i] = end;
        Map *all = malloc(size * count * sizeof *all);
        sums(count, (int *)all, counts);
        maps(count, all, pair, op);
        blocks(count, (int *)all, counts, places);
        free(all);
    }
    printf("rank %d: %d wrong\n", rank, wrong);
    free(counts), free(places);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    MPI_Finalize();
    return wrong != 0;
}
