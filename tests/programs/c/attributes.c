/* Attributes of communicators and datatypes: what copy and delete functions are called with, and in which order. */
#include <mpi.h>
#include <stdio.h>

static int rank, refuses;

static int copies(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    if (!rank) printf("copy of %d with %d\n", *(int *)in, *(int *)extra);
    *(void **)out = in;
    *flag = *(int *)in != 3;
    return MPI_SUCCESS;
}

static int deletes(MPI_Comm comm, int key, void *value, void *extra) {
    if (!rank) printf("delete of %d with %d\n", *(int *)value, *(int *)extra);
    return refuses ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int deletes_of_type(MPI_Datatype type, int key, void *value, void *extra) {
    if (!rank) printf("delete of %d of a datatype\n", *(int *)value);
    return MPI_SUCCESS;
}

static void show(MPI_Comm comm, int key) {
    int *value, flag, error = MPI_Comm_get_attr(comm, key, &value, &flag), class;
    MPI_Error_class(error, &class);
    if (rank) return;
    if (error) printf("key error %d\n", class == MPI_ERR_KEYVAL);
    else if (flag) printf("value %d\n", *value);
    else printf("no value\n");
}

int main(int argc, char **argv) {
    int values[] = {1, 2, 3, 4, 5}, extra = 9, keys[3], gone, plain, of_type, size, *value, flag;
    MPI_Comm comm;
    MPI_Datatype type, same;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int at = 0; at < 3; at++) {
        MPI_Comm_create_keyval(copies, deletes, &keys[at], &extra);
        MPI_Comm_set_attr(MPI_COMM_WORLD, keys[at], &values[at]);
    }
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &plain, 0);
    MPI_Comm_set_attr(MPI_COMM_WORLD, plain, &values[4]);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keys[1], &values[3]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int at = 0; at < 3; at++) show(comm, keys[at]);
    show(comm, plain);
    show(MPI_COMM_WORLD, plain);
    gone = keys[0];
    MPI_Comm_free_keyval(&keys[0]);
    if (!rank) printf("freed %d\n", keys[0] == MPI_KEYVAL_INVALID);
    show(comm, MPI_KEYVAL_INVALID);
    refuses = 1;
    if (!rank) printf("refused %d\n", MPI_Comm_free(&comm) == MPI_ERR_OTHER && comm != MPI_COMM_NULL);
    else MPI_Comm_free(&comm);
    refuses = 0;
    MPI_Comm_free(&comm);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, gone);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, keys[1]);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, keys[2]);
    show(MPI_COMM_WORLD, keys[1]);

    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, deletes_of_type, &of_type, 0);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_set_attr(type, of_type, &values[0]);
    MPI_Type_dup(type, &same);
    MPI_Type_free(&type);
    MPI_Type_get_attr(same, of_type, &value, &flag);
    if (!rank) printf("kept %d\n", flag && *value == 1);
    MPI_Type_free(&same);

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    if (!rank) printf("tags %d\n", flag && *value >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
    if (!rank) printf("universe %d\n", !flag || *value >= size);
    if (!rank) printf("set by MPI %d\n", MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, 0) != MPI_SUCCESS);
    MPI_Comm_set_attr(MPI_COMM_SELF, keys[1], &values[0]);
    MPI_Comm_set_attr(MPI_COMM_SELF, keys[2], &values[1]);
    MPI_Finalize();
    return 0;
}
