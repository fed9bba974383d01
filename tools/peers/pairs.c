/* The message rate of pairs of ranks on two nodes: windows of nonblocking messages, an empty answer at the end of
 * each round. As the workload `message_rate` of mpisim.
 *
 * pairs BYTES WINDOW ROUNDS BOTH: BOTH is 1 where either rank of a pair sends a window.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 1024 };

static MPI_Request requests[2 * MOST];

/* Starts a window of messages in one direction. */
static int start(char *buffer, int bytes, int window, int other, int sends, int at)
{
    for (int message = 0; message < window; message++, at++) {
        if (sends)
            MPI_Isend(buffer, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[at]);
        else
            MPI_Irecv(buffer, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, &requests[at]);
    }
    return at;
}

/* The receiver of a window says that it has come. */
static void answer(int other, int sends)
{
    if (sends)
        MPI_Recv(NULL, 0, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, other, 1, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 5 || atoi(argv[2]) > MOST) {
        fprintf(stderr, "usage: pairs BYTES WINDOW ROUNDS BOTH, with a window of at most %d\n", MOST);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int bytes = atoi(argv[1]), window = atoi(argv[2]), rounds = atoi(argv[3]), both = atoi(argv[4]);
    int pairs = size / 2, first = rank < pairs, other = first ? rank + pairs : rank - pairs;
    char *out = calloc(1, bytes + 1), *in = calloc(1, bytes + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < rounds; round++) {
        int at = start(first ? out : in, bytes, window, other, first, 0);
        if (both)
            at = start(first ? in : out, bytes, window, other, !first, at);
        MPI_Waitall(at, requests, MPI_STATUSES_IGNORE);
        answer(other, first);
        if (both)
            answer(other, !first);
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
