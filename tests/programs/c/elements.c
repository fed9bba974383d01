/* How many elements of named types a message has. One rank, which sends to itself. */
#include <mpi.h>
#include <stdio.h>

static char from[4000], into[4000];

static void says(const char *name, MPI_Datatype sent, int count, MPI_Datatype type) {
    int elements, whole;
    MPI_Count many;
    MPI_Status status;
    MPI_Sendrecv(from, count, sent, 0, 0, into, 20, type, 0, 0, MPI_COMM_SELF, &status);
    MPI_Get_elements(&status, type, &elements);
    MPI_Get_elements_c(&status, type, &many);
    MPI_Get_count(&status, type, &whole);
    printf("%s: %d", name, elements == many ? elements : -1);
    if (whole == MPI_UNDEFINED) printf(", in part");
    /* A status in which as many were set says the same. */
    MPI_Status_set_elements(&status, type, elements);
    MPI_Get_elements(&status, type, &elements);
    MPI_Get_count(&status, type, &count);
    printf("%s\n", elements == many && count == whole ? "" : ", set to others");
}

#define SAYS(type, count) says(#type, MPI_##type, count, MPI_##type)

int main(int argc, char **argv) {
    MPI_Datatype type, parts[] = {MPI_LONG_DOUBLE, MPI_INT};
    int lengths[] = {1, 2}, elements, whole;
    MPI_Aint places[] = {0, 16};
    MPI_Status status;
    MPI_Init(&argc, &argv);
    SAYS(INT, 3);
    SAYS(LONG_DOUBLE, 3);
    SAYS(C_FLOAT_COMPLEX, 3);
    SAYS(C_DOUBLE_COMPLEX, 3);
    SAYS(C_LONG_DOUBLE_COMPLEX, 3);
    SAYS(INTEGER16, 3);
    SAYS(LOGICAL16, 3);
    SAYS(REAL16, 3);
    SAYS(COMPLEX32, 3);
    SAYS(2INT, 3);
    SAYS(2REAL, 3);
    SAYS(2DOUBLE_PRECISION, 3);
    SAYS(SHORT_INT, 3);
    SAYS(LONG_DOUBLE_INT, 3);
    MPI_Type_contiguous(2, MPI_LONG_DOUBLE, &type);
    MPI_Type_commit(&type);
    says("two long doubles", type, 2, type);
    says("one of two", MPI_LONG_DOUBLE, 3, type);
    MPI_Type_contiguous(2, MPI_LONG_DOUBLE_INT, &type);
    MPI_Type_commit(&type);
    says("two pairs", type, 2, type);
    says("half of a pair", MPI_LONG_DOUBLE, 1, type);
    MPI_Type_create_struct(2, lengths, places, parts, &type);
    MPI_Type_commit(&type);
    says("structures", type, 2, type);
    says("the first member", MPI_LONG_DOUBLE, 1, type);
    /* Bytes that end inside an element. */
    MPI_Sendrecv(from, 20, MPI_BYTE, 0, 0, into, 40, MPI_BYTE, 0, 0, MPI_COMM_SELF, &status);
    MPI_Get_elements(&status, MPI_LONG_DOUBLE, &elements);
    MPI_Get_count(&status, MPI_LONG_DOUBLE, &whole);
    printf("inside: %d %d\n", elements == MPI_UNDEFINED, whole == MPI_UNDEFINED);
    MPI_Finalize();
    return 0;
}
