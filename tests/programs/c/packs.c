/* Elements packed by the program, sent as MPI_PACKED, and in external32. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, position = 0, size, numbers[6] = {1, 2, 3, 4, 5, 6};
    double value = 0.5;
    char buffer[200];
    unsigned char bytes[64];
    MPI_Aint place = 0, needed;
    MPI_Datatype every_other;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_vector(3, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    if (rank == 0) {
        MPI_Pack_size(1, every_other, MPI_COMM_WORLD, &size);
        printf("enough %d\n", size >= 12);
        MPI_Pack(numbers, 1, every_other, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
        MPI_Pack(&value, 1, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
        MPI_Send(buffer, position, MPI_PACKED, 1, 0, MPI_COMM_WORLD);
        printf("no room %d\n", MPI_Pack(numbers, 2, MPI_INT, buffer, 4, (position = 0, &position), MPI_COMM_WORLD) != MPI_SUCCESS);

        MPI_Pack_external_size("external32", 1, every_other, &needed);
        MPI_Pack_external("external32", numbers, 1, every_other, bytes, sizeof bytes, &place);
        MPI_Pack_external("external32", &value, 1, MPI_DOUBLE, bytes, sizeof bytes, &place);
        printf("%d of %d:", (int)needed, (int)place);
        for (int at = 0; at < place; at++) printf(" %02x", bytes[at]);
        printf("\n");
        memset(numbers, 0, sizeof numbers);
        place = 0;
        MPI_Unpack_external("external32", bytes, sizeof bytes, &place, numbers, 3, MPI_INT);
        printf("back %d %d %d, at %d\n", numbers[0], numbers[1], numbers[2], (int)place);
        printf("unknown form %d\n", MPI_Pack_external("internal", numbers, 1, MPI_INT, bytes, 64, &place) != MPI_SUCCESS);
    } else {
        memset(numbers, 0, sizeof numbers);
        MPI_Recv(buffer, sizeof buffer, MPI_PACKED, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Unpack(buffer, sizeof buffer, &position, &numbers[1], 1, every_other, MPI_COMM_WORLD);
        MPI_Unpack(buffer, sizeof buffer, &position, &value, 1, MPI_DOUBLE, MPI_COMM_WORLD);
        if (numbers[1] != 1 || numbers[3] != 3 || numbers[5] != 5 || numbers[0] || numbers[2] || value != 0.5) MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Type_free(&every_other);
    MPI_Finalize();
    return 0;
}
