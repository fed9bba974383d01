/* What MPI forbids and libraries pass over: the run goes on. Two ranks. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int rank, other;
static long a[100], b[100], c[100];
static MPI_Request requests[4];

/* Two operations of one epoch with the same memory of the origin. */
static void one_sided(const char *how) {
    MPI_Win window;
    long *memory;
    MPI_Win_allocate(800, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_lock_all(0, window);
    if (!strcmp(how, "get and put")) {
        MPI_Get(a, 1, MPI_LONG, other, 0, 1, MPI_LONG, window);
        MPI_Put(a, 1, MPI_LONG, other, 8, 1, MPI_LONG, window); /* get and put */
    } else if (!strcmp(how, "put and get")) {
        MPI_Put(a, 1, MPI_LONG, other, 8, 1, MPI_LONG, window);
        MPI_Get(a, 1, MPI_LONG, other, 0, 1, MPI_LONG, window); /* put and get */
    } else if (!strcmp(how, "rget and rput")) {
        MPI_Rget(a, 2, MPI_LONG, other, 0, 2, MPI_LONG, window, &requests[0]);
        MPI_Rput(a, 2, MPI_LONG, other, 100, 2, MPI_LONG, window, &requests[1]); /* rget and rput */
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (!strcmp(how, "fetch into origin")) {
        MPI_Fetch_and_op(a, a, MPI_LONG, other, 0, MPI_SUM, window); /* fetch into origin */
    } else if (!strcmp(how, "fetch crosswise")) {
        MPI_Fetch_and_op(a, b, MPI_LONG, other, 0, MPI_SUM, window);
        MPI_Fetch_and_op(b, a, MPI_LONG, other, 8, MPI_SUM, window); /* fetch crosswise */
    } else if (!strcmp(how, "get and accumulate")) {
        MPI_Get_accumulate(a, 2, MPI_LONG, a, 2, MPI_LONG, other, 0, 2, MPI_LONG, MPI_SUM, window); /* get and accumulate */
    } else if (!strcmp(how, "put and receive")) {
        MPI_Put(a, 1, MPI_LONG, other, 0, 1, MPI_LONG, window);
        MPI_Irecv(a, 1, MPI_LONG, other, 0, MPI_COMM_WORLD, &requests[0]); /* put and receive */
        MPI_Win_flush(other, window);
        MPI_Send(b, 1, MPI_LONG, other, 0, MPI_COMM_WORLD);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

/* Functions that need no other rank, and write what a receive writes. */
static void local(const char *how) {
    int position = 0;
    MPI_Datatype pieces;
    MPI_Type_vector(10, 1, 2, MPI_LONG, &pieces);
    MPI_Type_commit(&pieces);
    MPI_Irecv(a, 20, MPI_LONG, other, 1, MPI_COMM_WORLD, &requests[0]);
    if (!strcmp(how, "reduce")) MPI_Reduce_local(b, a, 10, MPI_LONG, MPI_SUM);                     /* reduce */
    if (!strcmp(how, "reduce out of")) MPI_Reduce_local(a, b, 10, MPI_LONG, MPI_SUM);              /* reduce out of */
    if (!strcmp(how, "pack")) MPI_Pack(b, 10, MPI_LONG, a, 800, &position, MPI_COMM_WORLD);        /* pack */
    if (!strcmp(how, "pack out of")) MPI_Pack(a, 1, pieces, b, 800, &position, MPI_COMM_WORLD);    /* pack out of */
    if (!strcmp(how, "unpack")) MPI_Unpack(b, 800, &position, a, 1, pieces, MPI_COMM_WORLD);       /* unpack */
    if (!strcmp(how, "unpack out of")) MPI_Unpack(a, 800, &position, b, 10, MPI_LONG, MPI_COMM_WORLD); /* unpack out of */
    /* No byte of the receive is touched. */
    if (!strcmp(how, "beside")) MPI_Unpack(b, 800, &position, a + 20, 1, pieces, MPI_COMM_WORLD);
    if (!strcmp(how, "beside")) MPI_Pack(b, 10, MPI_LONG, c, 800, &position, MPI_COMM_WORLD);
    if (!strcmp(how, "beside")) MPI_Reduce_local(b, c, 10, MPI_LONG, MPI_SUM);
    MPI_Send(b, 20, MPI_LONG, other, 1, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Type_free(&pieces);
}

/* What is open when the program calls MPI_Finalize. */
static void open(const char *how) {
    static char large[400000], other_large[400000];
    MPI_Comm halves;
    if (!strcmp(how, "receives"))
        for (int tag = 0; tag < 3; tag++)
            MPI_Irecv(&a[tag], 1, MPI_LONG, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &requests[tag]); /* receives */
    if (!strcmp(how, "started")) {
        MPI_Recv_init(a, 1, MPI_LONG, other, 7, MPI_COMM_WORLD, &requests[0]);
        MPI_Start(&requests[0]); /* started */
    }
    if (!strcmp(how, "large")) {
        MPI_Irecv(large, 400000, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[0]); /* large */
        MPI_Isend(other_large, 400000, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[1]);
    }
    if (!strcmp(how, "under way")) {
        MPI_Irecv(large, 400000, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[0]); /* under way */
        MPI_Isend(other_large, 400000, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[1]);
    }
    if (!strcmp(how, "matched")) {
        MPI_Irecv(large, 400000, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[0]); /* matched */
        MPI_Send(b, 1, MPI_LONG, other, 0, MPI_COMM_WORLD);
    }
    /* Messages that arrive, and are never received. */
    if (!strcmp(how, "one") && rank == 0) MPI_Send(a, 1, MPI_LONG, 1, 5, MPI_COMM_WORLD);
    if (!strcmp(how, "several") && rank == 0) {
        for (int i = 0; i < 4; i++) MPI_Send(a, 1, MPI_LONG, 1, 5, MPI_COMM_WORLD);
        MPI_Send(a, 2, MPI_LONG, 1, 6, MPI_COMM_WORLD);
    }
    if (!strcmp(how, "tags") && rank == 0)
        for (int tag = 0; tag < 9; tag++) MPI_Send(a, 1, MPI_LONG, 1, tag, MPI_COMM_WORLD);
    if (!strcmp(how, "probed")) {
        MPI_Message message;
        if (rank == 0) MPI_Send(a, 1, MPI_LONG, 1, 5, MPI_COMM_WORLD);
        if (rank == 1) MPI_Mprobe(0, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    }
    if (!strcmp(how, "split")) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &halves);
        if (rank == 1) MPI_Send(a, 1, MPI_LONG, 1, 5, halves);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* A message that does not arrive. */
    if (!strcmp(how, "collective") && rank == 0) MPI_Bcast(a, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (!strcmp(how, "late") && rank == 0) MPI_Send(a, 1, MPI_LONG, 1, 5, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    if (argc > 2 && !strcmp(argv[1], "one-sided")) one_sided(argv[2]);
    if (argc > 2 && !strcmp(argv[1], "local")) local(argv[2]);
    if (argc > 2 && !strcmp(argv[1], "open")) open(argv[2]);
    MPI_Finalize();
    return 0;
}
