/* Each of MPI's operators on each named type: the error classes as a table, and the results of those that C can compute. */
#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NAMED(name) {MPI_##name, #name}

static const struct { MPI_Datatype type; const char *name; } types[] = {
    NAMED(CHAR), NAMED(SHORT), NAMED(INT), NAMED(LONG), NAMED(LONG_LONG), NAMED(SIGNED_CHAR), NAMED(UNSIGNED_CHAR),
    NAMED(UNSIGNED_SHORT), NAMED(UNSIGNED), NAMED(UNSIGNED_LONG), NAMED(UNSIGNED_LONG_LONG), NAMED(INT8_T),
    NAMED(INT16_T), NAMED(INT32_T), NAMED(INT64_T), NAMED(UINT8_T), NAMED(UINT16_T), NAMED(UINT32_T), NAMED(UINT64_T),
    NAMED(AINT), NAMED(COUNT), NAMED(OFFSET), NAMED(INTEGER), NAMED(INTEGER1), NAMED(INTEGER2), NAMED(INTEGER4),
    NAMED(INTEGER8), NAMED(FLOAT), NAMED(DOUBLE), NAMED(LONG_DOUBLE), NAMED(REAL), NAMED(DOUBLE_PRECISION),
    NAMED(REAL4), NAMED(REAL8), NAMED(C_BOOL), NAMED(CXX_BOOL), NAMED(LOGICAL), NAMED(LOGICAL1), NAMED(LOGICAL2),
    NAMED(LOGICAL4), NAMED(LOGICAL8), NAMED(LOGICAL16), NAMED(C_FLOAT_COMPLEX), NAMED(C_DOUBLE_COMPLEX),
    NAMED(C_LONG_DOUBLE_COMPLEX), NAMED(CXX_FLOAT_COMPLEX), NAMED(CXX_DOUBLE_COMPLEX), NAMED(CXX_LONG_DOUBLE_COMPLEX),
    NAMED(COMPLEX), NAMED(DOUBLE_COMPLEX), NAMED(COMPLEX8), NAMED(COMPLEX16), NAMED(BYTE), NAMED(PACKED), NAMED(WCHAR),
    NAMED(CHARACTER), NAMED(FLOAT_INT), NAMED(DOUBLE_INT), NAMED(LONG_INT), NAMED(SHORT_INT), NAMED(LONG_DOUBLE_INT),
    NAMED(2INT), NAMED(2INTEGER), NAMED(2REAL), NAMED(2DOUBLE_PRECISION),
};
static const struct { MPI_Op operator; const char *name; } operators[] = {
    NAMED(MAX), NAMED(MIN), NAMED(SUM), NAMED(PROD), NAMED(LAND), NAMED(LOR), NAMED(LXOR),
    NAMED(BAND), NAMED(BOR), NAMED(BXOR), NAMED(MINLOC), NAMED(MAXLOC),
};
enum { TYPES = sizeof types / sizeof types[0], OPERATORS = sizeof operators / sizeof operators[0] };

/* Letters of the operators that each type takes; types with the same letters on one line. */
static void table(void) {
    static char takes[TYPES][OPERATORS + 1];
    for (int i = 0; i < TYPES; i++) {
        for (int j = 0; j < OPERATORS; j++) {
            char from[64] = {0}, into[64] = {0};
            int class;
            MPI_Error_class(MPI_Allreduce(from, into, 1, types[i].type, operators[j].operator, MPI_COMM_SELF), &class);
            if (class == MPI_ERR_OP) takes[i][j] = '.';
            else takes[i][j] = class == MPI_SUCCESS ? "AISPaoxAOXnm"[j] : '?';
        }
    }
    for (int i = 0; i < TYPES; i++) {
        int known = 0;
        for (int j = 0; j < i; j++) known |= !strcmp(takes[i], takes[j]);
        if (known) continue;
        printf("%s:", takes[i]);
        for (int j = i; j < TYPES; j++)
            if (!strcmp(takes[i], takes[j])) printf(" %s", types[j].name);
        printf("\n");
    }
}

static int wrong, combined;

static void compared(const char *type, const char *operator, const char *call, const void *found, const void *expected,
                     size_t bytes) {
    combined++;
    if (memcmp(found, expected, bytes)) {
        printf("%s of %s: %s is wrong\n", operator, type, call);
        wrong++;
    }
}

/* Elements of three sources: numbers around 0 and at the ends of the type. */
enum { ELEMENTS = 6, SOURCES = 3 };
static const uint64_t bits[SOURCES][ELEMENTS] = {
    {0, 1, 0x8000000080008080, 0x7fffffff7fff7f7f, 5, 0xfffffffffffffffe},
    {3, 0, 0x8000000080008081, 1, 0xfffffffffffffff9, 7},
    {0, 2, 12, 0xffffffffffffffff, 0x55, 0},
};

#define WITH(type, named, op, name, expression)                                                              \
    do {                                                                                                     \
        type source[SOURCES][ELEMENTS], local[ELEMENTS], expected[ELEMENTS];                                  \
        for (int s = 0; s < SOURCES; s++)                                                                     \
            for (int e = 0; e < ELEMENTS; e++) source[s][e] = (type)bits[s][e];                               \
        memcpy(expected, source[0], sizeof expected);                                                         \
        memcpy(local, source[0], sizeof local);                                                               \
        for (int s = 1; s < SOURCES; s++) {                                                                   \
            for (int e = 0; e < ELEMENTS; e++) {                                                              \
                type a = source[s][e], b = expected[e];                                                       \
                expected[e] = (type)(expression);                                                             \
            }                                                                                                 \
            MPI_Reduce_local(source[s], local, ELEMENTS, named, op);                                          \
        }                                                                                                     \
        compared(#named, name, "MPI_Reduce_local", local, expected, sizeof local);                            \
        reduced(named, op, #named, name, source[rank], expected, sizeof(type));                               \
    } while (0)

#define WHOLE(type, named)                                     \
    do {                                                       \
        WITH(type, named, MPI_MAX, "MAX", a > b ? a : b);      \
        WITH(type, named, MPI_MIN, "MIN", a < b ? a : b);      \
        WITH(type, named, MPI_SUM, "SUM", (uint64_t)a + (uint64_t)b);  \
        WITH(type, named, MPI_PROD, "PROD", (uint64_t)a * (uint64_t)b); \
        BITS(type, named);                                     \
    } while (0)
#define BITS(type, named)                                      \
    do {                                                       \
        WITH(type, named, MPI_BAND, "BAND", a & b);            \
        WITH(type, named, MPI_BOR, "BOR", a | b);              \
        WITH(type, named, MPI_BXOR, "BXOR", a ^ b);            \
    } while (0)
#define TRUTH(type, named)                                     \
    do {                                                       \
        WITH(type, named, MPI_LAND, "LAND", a && b);           \
        WITH(type, named, MPI_LOR, "LOR", a || b);             \
        WITH(type, named, MPI_LXOR, "LXOR", !a != !b);         \
    } while (0)

static void reduced(MPI_Datatype type, MPI_Op operator, const char *type_name, const char *operator_name,
                    const void *mine, const void *expected, size_t width) {
    char result[8 * ELEMENTS], *memory;
    int rank;
    MPI_Win window;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(mine, result, ELEMENTS, type, operator, MPI_COMM_WORLD);
    compared(type_name, operator_name, "MPI_Allreduce", result, expected, width * ELEMENTS);
    MPI_Win_allocate((MPI_Aint)(width * ELEMENTS), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    memcpy(memory, mine, width * ELEMENTS);
    MPI_Win_fence(0, window);
    int carried = 1;
    if (rank != 0)
        carried = MPI_Accumulate(mine, ELEMENTS, type, 0, 0, ELEMENTS, type, operator, window) == MPI_SUCCESS;
    MPI_Win_fence(0, window);
    MPI_Allreduce(MPI_IN_PLACE, &carried, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0 && carried)
        compared(type_name, operator_name, "MPI_Accumulate", memory, expected, width * ELEMENTS);
    MPI_Win_free(&window);
}

/* One place that all ranks change, one after the other, by the atomics of one element. */
static void atomics(int rank, int ranks) {
    char *memory, one = 3, old = 0, first = 0, next;
    MPI_Win window;
    MPI_Win_allocate(1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    *memory = -100;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    MPI_Fetch_and_op(&one, &old, MPI_CHAR, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == ranks - 1) {
        first = (char)(-100 + 3 * ranks);
        next = 77;
        MPI_Compare_and_swap(&next, &first, &old, MPI_CHAR, 0, 0, window);
        MPI_Win_flush(0, window);
        printf("swapped: %d\n", old == first);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_unlock_all(window);
    if (rank == 0) printf("at the end: %d\n", *memory);
    MPI_Win_free(&window);
}

static void adds(void *from, void *into, int *count, MPI_Datatype *type) {
    for (int i = 0; i < *count; i++) ((int *)into)[i] += ((int *)from)[i];
}

static void takes(void *from, void *into, int *count, MPI_Datatype *type) {
    for (int i = 0; i < *count; i++) ((int *)into)[i] = ((int *)from)[i];
}

/* Each rank makes and uses the functions of the program in another order. */
static void own(int rank, int ranks) {
    MPI_Op sum, other;
    int mine = 1 << rank, result;
    if (rank == 0) MPI_Op_create(takes, 1, &other);
    MPI_Op_create(adds, 1, &sum);
    if (rank == 0) MPI_Allreduce(&mine, &result, 1, MPI_INT, other, MPI_COMM_SELF);
    MPI_Allreduce(&mine, &result, 1, MPI_INT, sum, MPI_COMM_WORLD);
    if (result != (1 << ranks) - 1) wrong++;
    MPI_Op_free(&sum);
    if (rank == 0) MPI_Op_free(&other);
}

int main(int argc, char **argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 0) table();
    WHOLE(signed char, MPI_CHAR);
    WHOLE(signed char, MPI_SIGNED_CHAR);
    WHOLE(unsigned char, MPI_UNSIGNED_CHAR);
    WHOLE(short, MPI_SHORT);
    WHOLE(unsigned short, MPI_UNSIGNED_SHORT);
    WHOLE(int, MPI_INT);
    WHOLE(unsigned, MPI_UNSIGNED);
    WHOLE(long, MPI_LONG);
    WHOLE(unsigned long, MPI_UNSIGNED_LONG);
    WHOLE(int32_t, MPI_INTEGER);
    WHOLE(int8_t, MPI_INTEGER1);
    WHOLE(MPI_Aint, MPI_AINT);
    BITS(unsigned char, MPI_BYTE);
    TRUTH(signed char, MPI_CHAR);
    TRUTH(int, MPI_INT);
    TRUTH(uint64_t, MPI_UINT64_T);
    TRUTH(_Bool, MPI_C_BOOL);
    TRUTH(int32_t, MPI_LOGICAL);
    TRUTH(int16_t, MPI_LOGICAL2);
    TRUTH(int64_t, MPI_LOGICAL8);
    float pair[2] = {2.5f, 7}, other[2] = {2.5f, 4};
    MPI_Reduce_local(other, pair, 1, MPI_2REAL, MPI_MAXLOC);
    if (rank == 0) printf("greatest and where: %g %g\n", pair[0], pair[1]);
    atomics(rank, ranks);
    own(rank, ranks);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("combined: %d, wrong: %d\n", combined, wrong);
    MPI_Finalize();
    return 0;
}
