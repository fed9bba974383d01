/* What is easily overlooked: empty statuses, units of shared windows, classes with codes, null handles, errors of
 * statuses, data without elements and without a type. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, size, flag, unit, class, code, length;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    MPI_Win win;
    MPI_Aint bytes;
    char *base, *mine;
    MPI_Win_allocate_shared(16 * (rank + 1), 1 << rank, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    MPI_Win_shared_query(win, (rank + 1) % size, &bytes, &unit, &base);
    printf("%d: the next one has %ld bytes in units of %d\n", rank, (long)bytes, unit);
    MPI_Win_free(&win);
    MPI_Barrier(MPI_COMM_WORLD);

    if (!rank) {
        MPI_Status status = {.MPI_ERROR = 77};
        MPI_Request none = MPI_REQUEST_NULL;
        MPI_Test(&none, &flag, &status);
        printf("empty status: %d %d %d %d\n", flag, status.MPI_SOURCE == MPI_ANY_SOURCE, status.MPI_TAG == MPI_ANY_TAG,
               status.MPI_ERROR);
        MPI_Op_commutative(MPI_REPLACE, &flag);
        printf("MPI_REPLACE commutes: %d\n", flag);
        MPI_Win_get_name(MPI_WIN_NULL, name, &length);
        printf("%s %d\n", name, length);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Add_error_class(&class);
        MPI_Add_error_code(class, &code);
        int kept = MPI_Remove_error_class(class) != MPI_SUCCESS;
        int gone = MPI_Remove_error_code(code) == MPI_SUCCESS && MPI_Remove_error_class(class) == MPI_SUCCESS;
        printf("a class with a code stays: %d, without one it goes: %d\n", kept, gone);
        MPI_Status both[2] = {{.MPI_ERROR = -77}, {.MPI_ERROR = -77}};
        MPI_Request requests[2];
        int one = 1, other;
        MPI_Isend(&one, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]);
        MPI_Irecv(&other, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[1]);
        MPI_Waitall(2, requests, both);
        printf("errors of statuses: %d %d\n", both[0].MPI_ERROR, both[1].MPI_ERROR);
        MPI_Isend(NULL, 0, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_SELF, &requests[0]);
        int taken = MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_SELF, &status) == MPI_SUCCESS;
        MPI_Get_count(&status, MPI_BYTE, &length);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        int refused = MPI_Send(&one, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_SELF) == MPI_ERR_TYPE;
        printf("no type, no elements: %d %d, one element: %d\n", taken, length, refused);
    }
    MPI_Finalize();
    return 0;
}
