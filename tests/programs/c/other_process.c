/* Speaks to the simulator as the MPI library does, and says that it is another process: its parent, that one's parent, or the
   first of all. With three words it says what is no greeting. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t version = 4;

int main(int argc, char **argv) {
    int from, to;
    uint64_t request[6] = {0};
    const uint32_t head[2] = {UINT32_MAX, 3};
    long other = 1;
    if (sscanf(getenv("MPISIM_CHANNEL"), "%d,%d", &from, &to) != 2) return 1;
    if (argc > 1) other = getppid();
    if (argc > 2) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%ld/stat", other);
        FILE *stat = fopen(path, "r");
        if (!stat || fscanf(stat, "%*d (mpisim) %*c %ld", &other) != 1) return 2;
    }
    memcpy(request, head, sizeof head);
    request[3] = version, request[4] = other, request[5] = (uint64_t)(uintptr_t)&version;
    if (argc > 3) request[3] = version + 1;
    printf("other %ld\n", other), fflush(stdout);
    if (write(to, request, sizeof request) != sizeof request) return 3;
    return read(from, request, 24) == 24 ? 0 : 4;
}
