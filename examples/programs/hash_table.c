/* Counts words in a hash table that lies in the memory of all processes.
 *
 *     hash_table WORDS SLOTS
 *
 * Each process has a window of SLOTS slots, and counts WORDS words without a message to their owner: it
 * takes a free slot for a new word by compare-and-swap, tries the next slot where another word is, and
 * adds to the slot's count by fetch-and-add. A word is a number; half of all are among eight popular
 * ones, so processes do meet.
 *
 * In the end rank 0 counts all words of all processes by itself, and each slot is compared with that.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORD, COUNT, SLOT };
static const long KINDS = 1000, POPULAR = 8;

/* Word `index` of a process, from 1 to KINDS; the function is a mixer of bits (splitmix64). */
static long word_of(int rank, int index) {
    unsigned long bits = ((unsigned long)rank << 32 | (unsigned)index) + 0x9e3779b97f4a7c15;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
    bits ^= bits >> 31;
    return 1 + (long)((bits >> 1) % (bits & 1 ? KINDS : POPULAR));
}

/* Where the search for a word begins, in all slots of all processes. */
static long home(long word, long all_slots) {
    return (long)((unsigned long)word * 0x9e3779b97f4a7c15 % (unsigned long)all_slots);
}

/* Counts a word; answers how many slots have been looked at. */
static long count(MPI_Win win, long word, long slots, int size) {
    const long all_slots = slots * size, one = 1, empty = 0;
    for (long tried = 0; tried < all_slots; tried++) {
        const long at = (home(word, all_slots) + tried) % all_slots;
        const int owner = (int)(at / slots);
        const MPI_Aint slot = at % slots * SLOT;
        long found, before;
        MPI_Compare_and_swap(&word, &empty, &found, MPI_LONG, owner, slot + WORD, win);
        MPI_Win_flush(owner, win);
        if (found != empty && found != word) continue;
        MPI_Fetch_and_op(&one, &before, MPI_LONG, owner, slot + COUNT, MPI_SUM, win);
        MPI_Win_flush(owner, win);
        return tried + 1;
    }
    fprintf(stderr, "the table is full\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 0;
}

int main(int argc, char **argv) {
    int size, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int words = argc == 3 ? atoi(argv[1]) : 0, slots = argc == 3 ? atoi(argv[2]) : 0;
    if (words < 1 || (long)slots * size < KINDS) {
        fprintf(stderr, "usage: hash_table WORDS SLOTS, with %ld slots at least in all\n", KINDS);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long *table, looked = 0;
    MPI_Win win;
    MPI_Win_allocate(slots * SLOT * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &table, &win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    for (int at = 0; at < slots * SLOT; at++) table[at] = 0;
    MPI_Win_unlock(rank, win);

    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    MPI_Win_lock_all(0, win);
    for (int index = 0; index < words; index++) looked += count(win, word_of(rank, index), slots, size);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    const double seconds = MPI_Wtime() - start;

    /* What each word's count is by a loop over all words, without a table in windows. */
    long *right = calloc(KINDS + 1, sizeof(long)), totals[3] = {0, 0, looked};
    if (rank == 0)
        for (int other = 0; other < size; other++)
            for (int index = 0; index < words; index++) right[word_of(other, index)]++;
    MPI_Bcast(right, (int)KINDS + 1, MPI_LONG, 0, MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (int slot = 0; slot < slots; slot++) {
        const long word = table[slot * SLOT + WORD], counted = table[slot * SLOT + COUNT];
        totals[0] += counted;
        totals[1] += word ? counted != right[word] : counted != 0;
    }
    MPI_Win_unlock(rank, win);
    MPI_Allreduce(MPI_IN_PLACE, totals, 3, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%ld words counted, %ld slots wrong\n", totals[0], totals[1]);
        printf("%.3f us a word, %.2f slots looked at\n", seconds / words * 1e6, (double)totals[2] / totals[0]);
    }
    if (totals[0] != (long)words * size || totals[1]) MPI_Abort(MPI_COMM_WORLD, 1);
    free(right);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
