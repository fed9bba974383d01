/* A queue of tasks: rank 0 hands them out, and each other rank takes the next one when it is done.
 *
 *     work_queue LIMIT TASKS
 *
 * A task is an interval of numbers, its result the list of the primes in it. The tasks are uneven: a
 * higher number takes more divisions, and a lower interval has more primes. Rank 0 takes messages from
 * any rank with any tag, and the tag says what a message is.
 *
 * Workers divide by odd numbers. Rank 0 checks their primes with the sieve of Eratosthenes.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { READY, PRIMES, TASK, STOP };

/* First number of a task. */
static int first(int limit, int tasks, int task) {
    return (int)((long)limit * task / tasks);
}

static int is_prime(int number) {
    if (number % 2 == 0) return number == 2;
    for (int divisor = 3; divisor <= number / divisor; divisor += 2)
        if (number % divisor == 0) return 0;
    return number > 1;
}

static void work(int limit, int tasks) {
    int task, *primes = malloc((limit / tasks + 2) * sizeof(int));
    MPI_Status status;
    MPI_Send(NULL, 0, MPI_INT, 0, READY, MPI_COMM_WORLD);
    for (;;) {
        MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == STOP) break;
        int found = 0;
        for (int number = first(limit, tasks, task); number < first(limit, tasks, task + 1); number++)
            if (is_prime(number)) primes[found++] = number;
        MPI_Send(primes, found, MPI_INT, 0, PRIMES, MPI_COMM_WORLD);
    }
    free(primes);
}

/* Hands out all tasks, marks each prime that comes back, and counts what each worker has done. */
static void hand_out(int limit, int tasks, int workers, char *marked, int *done) {
    int next = 0, *primes = malloc((limit / tasks + 2) * sizeof(int));
    while (workers) {
        MPI_Status status;
        int count;
        MPI_Recv(primes, limit / tasks + 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        for (int at = 0; at < count; at++) marked[primes[at]]++;
        if (status.MPI_TAG == PRIMES) done[status.MPI_SOURCE]++;
        if (next < tasks) {
            MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, TASK, MPI_COMM_WORLD);
            next++;
        } else {
            MPI_Send(NULL, 0, MPI_INT, status.MPI_SOURCE, STOP, MPI_COMM_WORLD);
            workers--;
        }
    }
    free(primes);
}

/* Numbers below `limit` that are marked other than once if they are prime, or at all if they are not. */
static int wrong(int limit, const char *marked) {
    char *composite = calloc(limit, 1);
    int wrong = 0;
    for (int number = 0; number < limit; number++) {
        const int prime = number > 1 && !composite[number];
        for (long multiple = 2L * number; prime && multiple < limit; multiple += number) composite[multiple] = 1;
        wrong += marked[number] != prime;
    }
    free(composite);
    return wrong;
}

int main(int argc, char **argv) {
    int size, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int limit = argc == 3 ? atoi(argv[1]) : 0, tasks = argc == 3 ? atoi(argv[2]) : 0;
    if (size < 2 || limit < 1 || tasks < 1 || tasks > limit) {
        fprintf(stderr, "usage: work_queue LIMIT TASKS, on two processes at least\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (rank == 0) {
        char *marked = calloc(limit, 1);
        int *done = calloc(size, sizeof(int)), count = 0, least = tasks, most = 0;
        const double start = MPI_Wtime();
        hand_out(limit, tasks, size - 1, marked, done);
        const double seconds = MPI_Wtime() - start;
        for (int number = 0; number < limit; number++) count += marked[number];
        for (int worker = 1; worker < size; worker++) {
            if (done[worker] < least) least = done[worker];
            if (done[worker] > most) most = done[worker];
        }
        printf("%d primes below %d\n", count, limit);
        printf("%.3f us a task, %d to %d tasks a worker\n", seconds / tasks * 1e6, least, most);
        if (wrong(limit, marked)) MPI_Abort(MPI_COMM_WORLD, 1);
        free(marked);
        free(done);
    } else {
        work(limit, tasks);
    }
    MPI_Finalize();
    return 0;
}
