/* Files are not carried: a program hears of it by an error that returns, unless it says otherwise. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int class_of(int code) {
    int class;
    MPI_Error_class(code, &class);
    return class;
}

int main(int argc, char **argv) {
    int rank;
    MPI_File file = (MPI_File)(intptr_t)1;
    MPI_Errhandler handler;
    MPI_Offset size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1) MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_ARE_FATAL);
    int opened = class_of(MPI_File_open(MPI_COMM_WORLD, "out", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file));
    int deleted = class_of(MPI_File_delete("out", MPI_INFO_NULL));
    int asked = class_of(MPI_File_get_size(file, &size));
    int closed = class_of(MPI_File_close(&file));
    MPI_File_get_errhandler(MPI_FILE_NULL, &handler);
    if (!rank) {
        printf("open %d, delete %d: %d; no file %d; without one: %d, %d\n", opened == MPI_ERR_UNSUPPORTED_OPERATION,
               deleted == MPI_ERR_UNSUPPORTED_OPERATION, MPI_ERR_UNSUPPORTED_OPERATION, file == MPI_FILE_NULL,
               asked == MPI_ERR_FILE, closed == MPI_ERR_FILE);
        printf("errors return: %d\n", handler == MPI_ERRORS_RETURN);
    }
    MPI_Finalize();
    return 0;
}
