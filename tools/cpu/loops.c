/* What a core takes for the loops of an MPI library, without the library: see README.md. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { TIMES = 301, MOST = 131072 };
static const size_t SPAN = (size_t)288 << 20;
static char *memory, *packed;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int order(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* One row: median, tenth and ninetieth percentile of a loop, in ns an item. */
static void row(const char *what, long size, long apart, double *times) {
    qsort(times, TIMES, sizeof *times, order);
    printf("%s,%ld,%ld,%.3f,%.3f,%.3f\n", what, size, apart, times[TIMES / 2], times[TIMES / 10],
           times[TIMES * 9 / 10]);
}

/* A multiplication takes three cycles, and each waits for the one before. */
static void clock_rate(void) {
    double times[TIMES];
    for (int t = 0; t < TIMES; t++) {
        long x = 3;
        double begin = now();
        for (int i = 0; i < 20000; i++)
            __asm__ volatile("imul %0,%0\n imul %0,%0\n imul %0,%0\n imul %0,%0" : "+r"(x));
        times[t] = (now() - begin) / 80000;
    }
    row("multiplication", 0, 0, times);
}

/* As a library packs blocks: primitive by primitive, or by a call for each. */
#define BY_PRIMITIVE(type, name)                                                                   \
    __attribute__((noinline)) static void name(const char *from, char *to, intptr_t blocks,        \
                                               intptr_t length, intptr_t apart) {                  \
        uintptr_t at = 0;                                                                          \
        for (intptr_t i = 0; i < blocks; i++)                                                      \
            for (intptr_t j = 0; j < length; j++) {                                                \
                *(type *)(to + at) = *(const type *)(from + i * apart + j * sizeof(type));         \
                at += sizeof(type);                                                                \
            }                                                                                      \
    }
BY_PRIMITIVE(int8_t, by_byte)
BY_PRIMITIVE(int32_t, by_integer)

__attribute__((noinline)) static void by_call(const char *from, char *to, intptr_t blocks,
                                              intptr_t length, intptr_t apart) {
    for (intptr_t i = 0; i < blocks; i++, to += length, from += apart)
        memcpy(to, from, length);
}

typedef void pack(const char *, char *, intptr_t, intptr_t, intptr_t);

static void packing(const char *what, pack *of, long primitive, long bytes) {
    for (long block = 4; block <= 4096 && block <= bytes; block *= 2) {
        double times[TIMES];
        long blocks = bytes / block, again = 1 + 20000 / bytes;
        for (int t = 0; t < TIMES; t++) {
            double begin = now();
            for (long i = 0; i < again; i++)
                of(memory, packed, blocks, block / primitive, 8 * block);
            times[t] = (now() - begin) / again / blocks;
        }
        row(what, block, 8 * block, times);
    }
}

/* Runs of lines, so far from one to the next; no load waits for another. */
static void lines(long run, long apart) {
    double times[TIMES];
    long sum = 0, blocks = 16384 / run;
    for (int t = 0; t < TIMES; t++) {
        double begin = now();
        for (long i = 0; i < blocks; i++)
            for (long j = 0; j < run; j++)
                sum += *(volatile long *)(memory + i * apart + 64 * j);
        times[t] = (now() - begin) / blocks / run;
    }
    row("line", run, apart, times);
}

/* A queue is walked past: each entry is compared, and has the link to the next. */
__attribute__((noinline)) static void *walk(char *at, long tag) {
    for (; at; at = *(char **)at)
        if (*(uint64_t *)(at + tag) == 5)
            return at;
    return 0;
}

/* Entries in the order in which a pool gives them out: downwards in slabs. */
static void queue(const char *what, long pitch, long slab, long tag) {
    for (long length = 64; length <= MOST; length *= 2) {
        static char *entry[MOST + 1];
        if (length * pitch > (long)SPAN)
            return;
        for (long i = 0; i < length; i++)
            entry[i] = memory + (i / slab * slab + (slab - 1 - i % slab)) * pitch;
        for (long i = 0; i < length; i++) {
            *(char **)entry[i] = i + 1 < length ? entry[i + 1] : 0;
            *(uint64_t *)(entry[i] + tag) = 77;
        }
        double times[TIMES];
        long again = 1 + 2000 / length, found = 0;
        for (int t = 0; t < TIMES; t++) {
            double begin = now();
            for (long i = 0; i < again; i++)
                found += walk(entry[0], tag) != 0;
            times[t] = (now() - begin) / again / length;
        }
        row(found ? "wrong" : what, length, pitch, times);
    }
}

static char *pages(size_t bytes) {
    char *all = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED)
        exit(1);
    madvise(all, bytes, MADV_NOHUGEPAGE);
    memset(all, 1, bytes);
    return all;
}

int main(void) {
    memory = pages(SPAN);
    packed = pages(2 << 20);
    printf("what,size,apart,median_ns,p10_ns,p90_ns\n");
    clock_rate();
    packing("byte near", by_byte, 1, 2048);
    packing("integer near", by_integer, 4, 2048);
    packing("memcpy near", by_call, 1, 2048);
    packing("memcpy far", by_call, 1, 1 << 20);
    for (long apart = 64; apart <= 4096; apart *= 2)
        for (long run = 1; run * 64 <= apart && run <= 16; run *= 4)
            lines(run, apart);
    queue("entry", 128, MOST, 16);
    queue("entry of UCX", 320, 128, 16);
    queue("entry of ob1", 768, 63, 480);
    queue("fragment of ob1", 832, 63, 80);
    return 0;
}
