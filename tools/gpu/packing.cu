// Measures on a real GPU what `src/hardware/gpu/` predicts: a pack kernel, copies, and what they cost
// each other. Prints every run as a row of CSV; nothing is averaged or left out.
//
//   nvcc -O3 -o packing packing.cu && ./packing > packing.csv
//
// Source of the experiments: `gpu-pack` Figs. 4 and 5, Table 2. Never run by those who wrote it: see
// README.md.

#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#define CHECK(call)                                                                        \
    do {                                                                                   \
        cudaError_t status = (call);                                                       \
        if (status != cudaSuccess) {                                                       \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,             \
                         cudaGetErrorString(status));                                      \
            std::exit(1);                                                                  \
        }                                                                                  \
    } while (0)

// Elements are doubles: count blocks of `length`, `stride` apart.
struct Vector {
    size_t count, length, stride;
    size_t packed() const { return count * length; }
    size_t extent() const { return (count - 1) * stride + length; }
};

// A thread for each element, as in the document; divisions are of 64 bits.
__global__ void pack(const double *data, double *packed, Vector type) {
    size_t id = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (id < type.count * type.length)
        packed[id] = data[id / type.length * type.stride + id % type.length];
}

__global__ void unpack(double *data, const double *packed, Vector type) {
    size_t id = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (id < type.count * type.length)
        data[id / type.length * type.stride + id % type.length] = packed[id];
}

// Keeps all SMs busy for about so many of their clocks.
__global__ void compute(long long clocks, int *never) {
    long long start = clock64();
    while (clock64() - start < clocks) {
    }
    if (clocks < 0) *never = 1;
}

static const size_t MOST = size_t(16) << 20;  // bytes, packed
static const int RUNS = 20;

static double *data_, *staging, *other_device;  // device memory
static double *host, *other_host;               // pinned
static double *host_seen;                       // `host` as the device sees it
static size_t data_bytes;
static cudaStream_t one, two;

static void launch_pack(const Vector &type, double *into, cudaStream_t stream) {
    const unsigned threads = 256;
    unsigned blocks = unsigned((type.packed() + threads - 1) / threads);
    pack<<<blocks, threads, 0, stream>>>(data_, into, type);
    CHECK(cudaGetLastError());
}

static void launch_unpack(const Vector &type, const double *from, cudaStream_t stream) {
    const unsigned threads = 256;
    unsigned blocks = unsigned((type.packed() + threads - 1) / threads);
    unpack<<<blocks, threads, 0, stream>>>(data_, from, type);
    CHECK(cudaGetLastError());
}

static void rows(const Vector &type, double *into, cudaMemcpyKind kind, cudaStream_t stream) {
    size_t width = type.length * sizeof(double), pitch = type.stride * sizeof(double);
    CHECK(cudaMemcpy2DAsync(into, width, data_, pitch, width, type.count, kind, stream));
}

using Clock = std::chrono::steady_clock;
static double since(Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// Times until `stream` has done what was asked for, from the asking on, on the host's clock.
static void alone(const char *name, const Vector &type, const std::function<void()> &ask) {
    ask();  // once before, for what happens only once
    CHECK(cudaDeviceSynchronize());
    for (int run = 0; run < RUNS; run++) {
        auto start = Clock::now();
        ask();
        CHECK(cudaStreamSynchronize(one));
        std::printf("%s,%zu,%zu,%zu,%d,%.2f,\n", name, type.count, type.length * sizeof(double),
                    type.stride * sizeof(double), run, since(start));
    }
}

// Asks for `first` in one stream and at once for `second` in the other: the time of each until done.
static void order(const char *name, const Vector &type, const std::function<void()> &first,
                  const std::function<void()> &second) {
    for (int run = 0; run < RUNS; run++) {
        CHECK(cudaDeviceSynchronize());
        auto start = Clock::now();
        first();
        double gap = since(start);
        second();
        double ends[2] = {-1, -1};
        while (ends[0] < 0 || ends[1] < 0) {
            cudaStream_t streams[2] = {two, one};
            for (int at = 0; at < 2; at++) {
                if (ends[at] >= 0) continue;
                cudaError_t status = cudaStreamQuery(streams[at]);
                if (status == cudaSuccess) {
                    ends[at] = since(start);
                } else if (status != cudaErrorNotReady) {
                    CHECK(status);
                }
            }
        }
        std::printf("%s,%zu,%zu,%zu,%d,%.2f,%.2f\n", name, type.count,
                    type.length * sizeof(double), type.stride * sizeof(double), run, ends[0],
                    ends[1] - gap);
    }
}

static void check_bytes(const Vector &type) {
    std::vector<double> filled(type.extent());
    for (size_t at = 0; at < filled.size(); at++) filled[at] = double(at);
    size_t bytes = filled.size() * sizeof(double);
    CHECK(cudaMemcpy(data_, filled.data(), bytes, cudaMemcpyHostToDevice));
    launch_pack(type, host_seen, one);
    CHECK(cudaStreamSynchronize(one));
    for (size_t id = 0; id < type.packed(); id++) {
        if (host[id] != double(id / type.length * type.stride + id % type.length)) {
            std::fprintf(stderr, "element %zu is packed wrongly\n", id);
            std::exit(1);
        }
    }
}

static void methods(const Vector &type) {
    size_t bytes = type.packed() * sizeof(double);
    check_bytes(type);
    alone("kernel", type, [&] { launch_pack(type, host_seen, one); });
    alone("kernel_staged", type, [&] {
        launch_pack(type, staging, one);
        CHECK(cudaMemcpyAsync(host, staging, bytes, cudaMemcpyDeviceToHost, one));
    });
    alone("memcpy2d", type, [&] { rows(type, host, cudaMemcpyDeviceToHost, one); });
    alone("device_vector", type, [&] {
        rows(type, staging, cudaMemcpyDeviceToDevice, one);
        CHECK(cudaMemcpyAsync(host, staging, bytes, cudaMemcpyDeviceToHost, one));
    });
    alone("kernel_unpack", type, [&] { launch_unpack(type, host_seen, one); });
}

static void contention(int clock_khz) {
    Vector type = {262144, 8, 8};
    size_t bytes = type.packed() * sizeof(double);
    int sms = 0, *never = nullptr;
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaMalloc(&never, sizeof(int)));
    struct Named {
        const char *name;
        std::function<void()> ask;
    };
    Named packs[] = {
        {"kernel", [&] { launch_pack(type, host_seen, one); }},
        {"memcpy2d", [&] { rows(type, host, cudaMemcpyDeviceToHost, one); }},
    };
    Named users[] = {
        // 1 ms on two blocks of 1024 threads an SM: all threads of one of 2048.
        {"compute", [&] { compute<<<2 * sms, 1024, 0, two>>>(clock_khz, never); }},
        {"to_device",
         [&] { CHECK(cudaMemcpyAsync(other_device, other_host, bytes, cudaMemcpyHostToDevice, two)); }},
        {"to_host",
         [&] { CHECK(cudaMemcpyAsync(other_host, other_device, bytes, cudaMemcpyDeviceToHost, two)); }},
    };
    for (auto &pack : packs) {
        for (auto &user : users) {
            char name[64];
            std::snprintf(name, sizeof name, "%s+%s", user.name, pack.name);
            order(name, type, user.ask, pack.ask);
        }
    }
    CHECK(cudaFree(never));
}

int main() {
    int clock_khz = 0;
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    CHECK(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, 0));
    std::fprintf(stderr, "%s, %d SMs, %d kHz\n", device.name, device.multiProcessorCount, clock_khz);
    data_bytes = MOST * 64;
    CHECK(cudaMalloc(&data_, data_bytes));
    CHECK(cudaMalloc(&staging, MOST));
    CHECK(cudaMalloc(&other_device, MOST));
    CHECK(cudaHostAlloc(&host, MOST, cudaHostAllocMapped));
    CHECK(cudaHostAlloc(&other_host, MOST, cudaHostAllocDefault));
    CHECK(cudaHostGetDevicePointer(&host_seen, host, 0));
    CHECK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    std::printf("what,count,block_bytes,stride_bytes,run,first_us,second_us\n");
    const size_t lengths[] = {1, 2, 4, 16, 17, 32, 64};
    for (size_t length : lengths)
        for (size_t bytes = 1 << 10; bytes <= MOST; bytes *= 4)
            if (bytes / sizeof(double) >= length)
                methods(Vector{bytes / sizeof(double) / length, length, 64});
    contention(clock_khz);
}
