/* Info objects: keys, values and their lengths; hints of a communicator. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int class_of(int error) {
    int class;
    MPI_Error_class(error, &class);
    return class;
}

static void show(MPI_Info info) {
    int count, flag, room;
    char key[MPI_MAX_INFO_KEY], value[MPI_MAX_INFO_VAL];
    MPI_Info_get_nkeys(info, &count);
    printf("%d keys:", count);
    for (int at = 0; at < count; at++) {
        MPI_Info_get_nthkey(info, at, key);
        room = sizeof value;
        MPI_Info_get_string(info, key, &room, value, &flag);
        printf(" %s=%s(%d,%d)", key, value, room, flag);
    }
    printf("\n");
}

int main(int argc, char **argv) {
    int rank, flag, length, room = 4;
    char value[MPI_MAX_INFO_VAL];
    MPI_Info info, copy, env;
    MPI_Comm comm;
    MPI_Info_create(&info);
    MPI_Info_set(info, "first", "1");
    MPI_Info_set(info, "second", "twenty");
    MPI_Info_set(info, "first", "one");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Info_dup(info, &copy);
    MPI_Info_delete(info, "first");
    if (!rank) {
        show(info);
        show(copy);
        MPI_Info_get_valuelen(copy, "second", &length, &flag);
        printf("length %d %d\n", length, flag);
        MPI_Info_get_string(copy, "second", &room, value, &flag);
        printf("cut %s, needs %d\n", value, room);
        MPI_Info_get(copy, "third", 10, value, &flag);
        printf("third %d\n", flag);
        printf("no key %d\n", class_of(MPI_Info_delete(copy, "third")) == MPI_ERR_INFO_NOKEY);
        printf("empty key %d\n", class_of(MPI_Info_set(copy, "", "x")) == MPI_ERR_INFO_KEY);
        printf("no info %d\n", class_of(MPI_Info_set(MPI_INFO_NULL, "a", "x")) == MPI_ERR_INFO);
        printf("no number %d\n", class_of(MPI_Info_get_nthkey(copy, 2, value)) == MPI_ERR_ARG);
    }
    MPI_Info_free(&copy);
    if (!rank) printf("freed %d\n", copy == MPI_INFO_NULL);
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Comm_get_info(comm, &copy);
    MPI_Comm_set_info(comm, copy);
    MPI_Info_get_nkeys(MPI_INFO_ENV, &length);
    MPI_Info_create_env(argc, argv, &env);
    MPI_Info_free(&env);
    MPI_Info_free(&copy);
    MPI_Info_free(&info);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
