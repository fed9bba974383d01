/* Random nested datatypes, a line for each seed of the arguments: bounds, and digests of what is packed and sent. Each MPI
 * library prints the same, where MPI says what is right. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long long state;

static int random_below(unsigned most) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (int)((state >> 33) % most);
}

static MPI_Datatype base(void) {
    MPI_Datatype all[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_LONG, MPI_FLOAT_INT, MPI_2INT};
    return all[random_below(7)];
}

static MPI_Datatype spread(MPI_Datatype child) {
    int sizes[2], which[2], by[2], grid[2], order, rank;
    MPI_Datatype made;
    int rows = 1 + random_below(3), columns = 1 + random_below(2);
    grid[0] = rows;
    grid[1] = columns;
    for (int i = 0; i < 2; i++) {
        sizes[i] = 1 + random_below(6);
        which[i] = random_below(2) ? MPI_DISTRIBUTE_CYCLIC : MPI_DISTRIBUTE_BLOCK;
        if (random_below(2)) by[i] = MPI_DISTRIBUTE_DFLT_DARG;
        else if (which[i] == MPI_DISTRIBUTE_BLOCK) by[i] = (sizes[i] + grid[i] - 1) / grid[i];
        else by[i] = 1 + random_below(2);
    }
    order = random_below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    rank = random_below(rows * columns);
    MPI_Type_create_darray(rows * columns, rank, 2, sizes, which, by, grid, order, child, &made);
    return made;
}

static MPI_Datatype around(MPI_Datatype child) {
    MPI_Aint lower, extent, places[3];
    MPI_Datatype made, types[3];
    int lengths[3], indices[3], sizes[3], parts[3], starts[3], count, length, number;
    MPI_Type_get_extent(child, &lower, &extent);
    switch (random_below(10)) {
    case 0:
        MPI_Type_contiguous(random_below(4), child, &made);
        break;
    case 1:
        number = random_below(5), length = random_below(3), count = random_below(4);
        MPI_Type_vector(count, length, number, child, &made);
        break;
    case 2:
        number = random_below(60), length = 1 + random_below(2), count = random_below(4);
        MPI_Type_create_hvector(count, length, number, child, &made);
        break;
    case 3:
        count = 1 + random_below(3);
        for (int i = 0; i < count; i++) lengths[i] = random_below(3), indices[i] = random_below(6);
        MPI_Type_indexed(count, lengths, indices, child, &made);
        break;
    case 4:
        count = 1 + random_below(3);
        for (int i = 0; i < count; i++) lengths[i] = random_below(3), places[i] = random_below(80);
        MPI_Type_create_hindexed(count, lengths, places, child, &made);
        break;
    case 5:
        count = 1 + random_below(3);
        for (int i = 0; i < count; i++) indices[i] = random_below(6);
        MPI_Type_create_indexed_block(count, 1 + random_below(2), indices, child, &made);
        break;
    case 6:
        count = 1 + random_below(3);
        for (int i = 0; i < count; i++) {
            lengths[i] = random_below(3), places[i] = random_below(90);
            types[i] = i ? base() : child;
        }
        MPI_Type_create_struct(count, lengths, places, types, &made);
        break;
    case 7:
        count = 1 + random_below(3);
        for (int i = 0; i < count; i++) {
            sizes[i] = 1 + random_below(4);
            parts[i] = 1 + random_below(sizes[i]);
            starts[i] = random_below(sizes[i] - parts[i] + 1);
        }
        number = random_below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        MPI_Type_create_subarray(count, sizes, parts, starts, number, child, &made);
        break;
    case 8:
        extent += random_below(20), lower = random_below(9) - 4;
        MPI_Type_create_resized(child, lower, extent, &made);
        break;
    default:
        made = spread(child);
    }
    return made;
}

static MPI_Datatype make(int depth) {
    MPI_Datatype child, made;
    if (!depth || (depth < 3 && random_below(4) == 0)) {
        MPI_Type_dup(base(), &made);
        return made;
    }
    child = make(depth - 1);
    made = around(child);
    MPI_Type_free(&child);
    return made;
}

static unsigned digest(const char *bytes, int count) {
    unsigned digest = 5381;
    for (int i = 0; i < count; i++) digest = digest * 33 + (unsigned char)bytes[i];
    return digest;
}

static void moved(MPI_Datatype type, int count, int size) {
    const int all = 600000, origin = 200000;
    char *data = malloc(all), *packed = malloc((size_t)size * count + 64);
    int position = 0, received;
    MPI_Status status;
    for (int i = 0; i < all; i++) data[i] = (char)(i * 131 + (i >> 8) * 7);
    MPI_Pack(data + origin, count, type, packed, size * count + 64, &position, MPI_COMM_SELF);
    printf(" pack %d %08x", position, digest(packed, position));
    MPI_Sendrecv(data + origin, count, type, 0, 0, packed, size * count, MPI_BYTE, 0, 0, MPI_COMM_SELF, &status);
    MPI_Get_count(&status, MPI_BYTE, &received);
    printf(" send %d %08x", received, digest(packed, size * count));
    free(data);
    free(packed);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (int i = 1; i < argc; i++) {
        int seed = atoi(argv[i]), size;
        MPI_Aint lower, extent, true_lower, true_extent;
        state = (unsigned long long)seed * 7919 + 17;
        MPI_Datatype type = make(2 + seed % 3);
        MPI_Type_commit(&type);
        MPI_Type_size(type, &size);
        MPI_Type_get_extent(type, &lower, &extent);
        MPI_Type_get_true_extent(type, &true_lower, &true_extent);
        printf("%d size %d lb %ld ex %ld tlb %ld tex %ld", seed, size, (long)lower, (long)extent,
               size ? (long)true_lower : 0, size ? (long)true_extent : 0);
        if (size > 0) moved(type, 1 + seed % 3, size);
        printf("\n");
        MPI_Type_free(&type);
    }
    MPI_Finalize();
    return 0;
}
