/* Buffers that are given twice, beside some that only lie side by side, and an attached buffer without room for what a
   library keeps beside a message. */
#include <mpi.h>
#include <stddef.h>

int main(int argc, char **argv) {
    int rank, size, all[64] = {0}, to[2], from[2], counts[2] = {1, 1};
    char room[60], enough[40 + MPI_BSEND_OVERHEAD], *detached;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(all, all, 1, MPI_INT, MPI_SUM, comm); /* allreduce of one buffer */
    MPI_Gather(all, 1, MPI_INT, rank ? NULL : all, 1, MPI_INT, 0, comm); /* gather of one buffer */
    MPI_Allgather(all + 1, 1, MPI_INT, all, 1, MPI_INT, comm); /* allgather of a part */
    for (int i = 0; i < 2; i++)
        from[i] = 2 * i, to[i] = 2 * i + 1;
    MPI_Alltoallv(all, counts, from, MPI_INT, all, counts, to, MPI_INT, comm); /* blocks side by side */
    to[1] = 2;
    MPI_Alltoallv(all, counts, from, MPI_INT, all, counts, to, MPI_INT, comm); /* blocks that overlap */
    MPI_Allreduce(all, all + 1, 1, MPI_INT, MPI_SUM, comm);
    MPI_Allreduce(MPI_IN_PLACE, all, 1, MPI_INT, MPI_SUM, comm);
    MPI_Bcast(all, 1, MPI_INT, 0, comm);
    for (int turn = 0; turn < 2; turn++) {
        int count;
        if (rank == 0) {
            MPI_Buffer_attach(turn ? enough : room, turn ? sizeof enough : sizeof room);
            if (turn)
                MPI_Bsend(all, 10, MPI_INT, 1, 3, comm);
            else
                MPI_Bsend(all, 10, MPI_INT, 1, 3, comm); /* no room */
            MPI_Buffer_detach(&detached, &count);
        } else {
            MPI_Recv(all, 10, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
