/* Bounds of structures: those that C gives them, whatever named types they have; and what two elements of one send. */
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

typedef struct { float value; int index; } float_int;
typedef struct { double value; int index; } double_int;
typedef struct { long value; int index; } long_int;
typedef struct { short value; int index; } short_int;
typedef struct { long double value; int index; } long_double_int;
typedef struct { int value, index; } two_int;

static int wrong;

static void check(const char *name, MPI_Datatype named, MPI_Aint second, MPI_Aint third, MPI_Aint whole) {
    int lengths[3] = {1, 1, 1}, size, inside;
    MPI_Aint places[3] = {0, second, third}, lower, extent;
    MPI_Datatype parts[3] = {MPI_CHAR, named, MPI_CHAR}, made;
    MPI_Type_create_struct(3, lengths, places, parts, &made);
    MPI_Type_commit(&made);
    MPI_Type_size(made, &size);
    MPI_Type_size(named, &inside);
    MPI_Type_get_extent(made, &lower, &extent);
    if (lower != 0 || extent != whole || size != inside + 2) {
        printf("%s: lower bound %ld, extent %ld of %ld, size %d\n", name, (long)lower, (long)extent, (long)whole, size);
        wrong++;
    }
    /* Of two elements each byte of data goes, and none between them. */
    unsigned char from[256], into[256], packed[256];
    int position = 0;
    for (int i = 0; i < 256; i++) from[i] = (unsigned char)i;
    memset(into, 255, sizeof into);
    MPI_Pack(from, 2, made, packed, sizeof packed, &position, MPI_COMM_SELF);
    if (position != 2 * size || packed[0] != 0 || packed[size] != whole || packed[size - 1] != third) {
        printf("%s: %d bytes packed, the second element from %d on\n", name, position, packed[size]);
        wrong++;
    }
    MPI_Sendrecv(from, 2, made, 0, 0, into, 2, made, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    int moved = 0;
    for (int i = 0; i < 256; i++) moved += into[i] != 255 && into[i] == from[i];
    if (moved != 2 * size || into[whole] != whole || into[third] != third) {
        printf("%s: %d bytes moved of %d\n", name, moved, 2 * size);
        wrong++;
    }
    MPI_Type_free(&made);
}

#define CHECK(named, type)                                                                               \
    do {                                                                                                 \
        typedef struct { char first; type second; char third; } all;                                     \
        check(#named, named, offsetof(all, second), offsetof(all, third), sizeof(all));                  \
    } while (0)

static void bounds(const char *name, MPI_Datatype type) {
    MPI_Aint lower, extent;
    int size;
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_size(type, &size);
    printf("%s: lower bound %ld, extent %ld, size %d\n", name, (long)lower, (long)extent, size);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    CHECK(MPI_SHORT, short);
    CHECK(MPI_INT, int);
    CHECK(MPI_LONG, long);
    CHECK(MPI_FLOAT, float);
    CHECK(MPI_DOUBLE, double);
    CHECK(MPI_LONG_DOUBLE, long double);
    CHECK(MPI_WCHAR, wchar_t);
    CHECK(MPI_C_BOOL, _Bool);
    CHECK(MPI_AINT, MPI_Aint);
    CHECK(MPI_BYTE, char);
    CHECK(MPI_C_FLOAT_COMPLEX, float _Complex);
    CHECK(MPI_C_DOUBLE_COMPLEX, double _Complex);
    CHECK(MPI_C_LONG_DOUBLE_COMPLEX, long double _Complex);
    CHECK(MPI_FLOAT_INT, float_int);
    CHECK(MPI_DOUBLE_INT, double_int);
    CHECK(MPI_LONG_INT, long_int);
    CHECK(MPI_SHORT_INT, short_int);
    CHECK(MPI_LONG_DOUBLE_INT, long_double_int);
    CHECK(MPI_2INT, two_int);
    printf("wrong: %d\n", wrong);

    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, 16};
    MPI_Datatype parts[2] = {MPI_INT, MPI_FLOAT_INT}, made, none;
    MPI_Type_create_struct(2, lengths, places, parts, &made);
    bounds("int and pair", made);
    /* What the program sets stays. */
    MPI_Type_create_resized(MPI_FLOAT_INT, 0, 8, &parts[1]);
    MPI_Type_create_struct(2, lengths, places, parts, &made);
    bounds("int and resized pair", made);
    MPI_Type_contiguous(3, MPI_LONG_DOUBLE_INT, &made);
    bounds("3 pairs", made);
    /* An array has its bounds, though nothing lies in it. */
    int sizes[2] = {3, 2}, starts[2] = {0, 0}, all[1] = {2}, grid[1] = {4};
    int spread[1] = {MPI_DISTRIBUTE_BLOCK}, by[1] = {MPI_DISTRIBUTE_DFLT_DARG};
    MPI_Type_contiguous(0, MPI_DOUBLE, &none);
    MPI_Type_create_resized(none, -1, 11, &none);
    MPI_Type_create_subarray(2, sizes, sizes, starts, MPI_ORDER_C, none, &made);
    bounds("array of nothing", made);
    MPI_Type_create_darray(4, 3, 1, all, spread, by, grid, MPI_ORDER_C, MPI_INT, &made);
    bounds("no part of an array", made);
    MPI_Finalize();
    return 0;
}
