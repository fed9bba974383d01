/* Plays the programs of generate.py on a real MPI library, and writes what each call returned.
 *
 * usage: mpirun -n N play PROGRAMS RESULTS
 *
 * PROGRAMS has lines: `case ID`, `rank R`, `buffer NUMBER BYTES`, and `STATEMENT KEY=VALUE ...` for each
 * statement of that rank. Each rank writes RESULTS.R: a line `ID STATEMENT KEY=VALUE ...` for each statement
 * that returns something. A statement with `poll=1` is called until its flag is true, or until so many
 * requests have ended; then it writes the last answer, or the sum of all outcounts.
 */
#define _GNU_SOURCE
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 256

static int me, size;
static FILE *out;
static char *keys[64], *values[64];
static int pairs;
static char *buffers[MOST];
static size_t lengths[MOST];
static MPI_Comm comms[MOST];
static MPI_Request requests[MOST];
static MPI_Message messages[MOST];
static MPI_Datatype int64_pair;
static MPI_Op affine;
static char *attached;

static void fail(const char *what, const char *which)
{
    fprintf(stderr, "rank %d: %s `%s`\n", me, what, which);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* Keys of the statement */

static const char *text(const char *key)
{
    for (int i = 0; i < pairs; i++)
        if (!strcmp(keys[i], key)) return values[i];
    return NULL;
}

static long number(const char *key, long otherwise)
{
    const char *value = text(key);
    if (!value) return otherwise;
    if (!strcmp(value, "any")) return strstr(key, "tag") ? MPI_ANY_TAG : MPI_ANY_SOURCE;
    if (!strcmp(value, "proc_null")) return MPI_PROC_NULL;
    if (!strcmp(value, "mpi_root")) return MPI_ROOT;
    if (!strcmp(value, "undefined")) return MPI_UNDEFINED;
    return atol(value);
}

static int list(const char *key, int *into)
{
    const char *value = text(key);
    int count = 0;
    for (; value && *value; value = strchr(value, ',') ? strchr(value, ',') + 1 : "")
        into[count++] = atoi(value);
    return count;
}

static void *buffer(const char *key)
{
    const char *value = text(key);
    /* MPICH wants an address even of a buffer that it does not use. */
    static char unused[8];
    return value ? buffers[atoi(value)] : unused;
}

static MPI_Comm comm(void) { return comms[number("comm", 0)]; }

static MPI_Datatype type(void)
{
    const char *name = text("type");
    if (!name || !strcmp(name, "int32")) return MPI_INT32_T;
    if (!strcmp(name, "int64")) return MPI_INT64_T;
    if (!strcmp(name, "double")) return MPI_DOUBLE;
    if (!strcmp(name, "int32_pair")) return MPI_2INT;
    if (!strcmp(name, "int64_pair")) return int64_pair;
    if (!strcmp(name, "int8")) return MPI_INT8_T;
    if (!strcmp(name, "int16")) return MPI_INT16_T;
    if (!strcmp(name, "uint8")) return MPI_UINT8_T;
    if (!strcmp(name, "uint16")) return MPI_UINT16_T;
    if (!strcmp(name, "uint32")) return MPI_UINT32_T;
    if (!strcmp(name, "uint64")) return MPI_UINT64_T;
    if (!strcmp(name, "float")) return MPI_FLOAT;
    fail("no type", name);
    return MPI_DATATYPE_NULL;
}

static MPI_Op operator(void)
{
    const char *name = text("operator");
    if (!name || !strcmp(name, "sum")) return MPI_SUM;
    if (!strcmp(name, "prod")) return MPI_PROD;
    if (!strcmp(name, "max")) return MPI_MAX;
    if (!strcmp(name, "min")) return MPI_MIN;
    if (!strcmp(name, "land")) return MPI_LAND;
    if (!strcmp(name, "lor")) return MPI_LOR;
    if (!strcmp(name, "lxor")) return MPI_LXOR;
    if (!strcmp(name, "band")) return MPI_BAND;
    if (!strcmp(name, "bor")) return MPI_BOR;
    if (!strcmp(name, "bxor")) return MPI_BXOR;
    if (!strcmp(name, "maxloc")) return MPI_MAXLOC;
    if (!strcmp(name, "minloc")) return MPI_MINLOC;
    if (!strcmp(name, "affine")) return affine;
    fail("no operator", name);
    return MPI_OP_NULL;
}

/* x -> a x + b modulo 1000003, the lower ranks' map first: as `affine` of tests/vectors/collectives_*.json. */
static void compose(void *in, void *inout, int *len, MPI_Datatype *of)
{
    int64_t *low = in, *high = inout;
    (void) of;
    for (int i = 0; i < *len; i++, low += 2, high += 2) {
        int64_t a = low[0] * high[0] % 1000003, b = (low[1] * high[0] + high[1]) % 1000003;
        high[0] = a;
        high[1] = b;
    }
}

/* What is written */

static void write_status(const char *before, const MPI_Status *status)
{
    int count, cancelled;
    MPI_Get_count((MPI_Status *) status, MPI_BYTE, &count);
    MPI_Test_cancelled((MPI_Status *) status, &cancelled);
    fprintf(out, " %scancelled=%d", before, cancelled);
    if (cancelled) return;
    if (status->MPI_SOURCE == MPI_ANY_SOURCE) fprintf(out, " %ssource=undefined", before);
    else if (status->MPI_SOURCE == MPI_PROC_NULL) fprintf(out, " %ssource=proc_null", before);
    else fprintf(out, " %ssource=%d", before, status->MPI_SOURCE);
    if (status->MPI_TAG == MPI_ANY_TAG) fprintf(out, " %stag=undefined", before);
    else fprintf(out, " %stag=%d", before, status->MPI_TAG);
    fprintf(out, " %scount=%d", before, count);
}

static void write_number(const char *key, long value)
{
    if (value == MPI_UNDEFINED) fprintf(out, " %s=undefined", key);
    else fprintf(out, " %s=%ld", key, value);
}

static int width(const char *name)
{
    if (!name || !strcmp(name, "int32") || !strcmp(name, "uint32") || !strcmp(name, "float")) return 4;
    if (!strcmp(name, "int32_pair")) return 4;
    if (!strcmp(name, "int8") || !strcmp(name, "uint8")) return 1;
    if (!strcmp(name, "int16") || !strcmp(name, "uint16")) return 2;
    return 8;
}

/* Reads or writes numbers of a buffer; a pair is two of them. */
static void access_buffer(int writes)
{
    const char *name = text("type"), *value = text("values");
    long at = number("at", 0), count = number("count", 0);
    int bytes = width(name), paired = name && strstr(name, "pair") != NULL;
    int real = name && (!strcmp(name, "double") || !strcmp(name, "float"));
    int unsign = name && *name == 'u';
    char *where = (char *) buffer("buf") + at * bytes * (paired ? 2 : 1);
    for (long i = 0; i < count; i++, where += bytes) {
        if (writes) {
            long long whole = strtoll(value, (char **) &value, 10);
            if (*value == ',') value++;
            if (real && bytes == 8) *(double *) where = (double) whole;
            else if (real) *(float *) where = (float) whole;
            else memcpy(where, &whole, bytes);
        } else {
            long long whole = 0;
            if (real) {
                double found = bytes == 8 ? *(double *) where : *(float *) where;
                fprintf(out, "%s%.17g", i ? "," : " values=", found);
                continue;
            }
            memcpy(&whole, where, bytes);
            int shift = 64 - 8 * bytes;
            if (unsign) fprintf(out, "%s%llu", i ? "," : " values=", (unsigned long long) whole);
            else fprintf(out, "%s%lld", i ? "," : " values=", whole << shift >> shift);
        }
    }
}

/* Calls that complete requests; the flag of a test, 1 of others. */

static int one(const char *op)
{
    MPI_Request *request = &requests[number("req", 0)];
    MPI_Status status = {0};
    int flag = 1, tests = strcmp(op, "wait");
    if (!tests) MPI_Wait(request, &status);
    else if (!strcmp(op, "test")) MPI_Test(request, &flag, &status);
    else MPI_Request_get_status(*request, &flag, &status);
    if (!flag && number("poll", 0)) return 0;
    if (tests) write_number("flag", flag);
    if (flag) write_status("", &status);
    return 1;
}

static int several(const char *op)
{
    static int sum;
    int which[MOST], indices[MOST], count = list("reqs", which), flag = 1, index = 0, ended = 0;
    MPI_Request local[MOST];
    /* A library that leaves a status as it was shows 0. */
    static MPI_Status statuses[MOST];
    memset(statuses, 0, sizeof statuses);
    int polls = (int) number("poll", 0), done = 1;
    for (int i = 0; i < count; i++) local[i] = requests[which[i]];
    if (!strcmp(op, "waitall")) {
        MPI_Waitall(count, local, statuses);
    } else if (!strcmp(op, "testall")) {
        MPI_Testall(count, local, &flag, statuses);
    } else if (!strcmp(op, "waitany")) {
        MPI_Waitany(count, local, &index, statuses);
    } else if (!strcmp(op, "testany")) {
        MPI_Testany(count, local, &index, &flag, statuses);
    } else if (!strcmp(op, "waitsome")) {
        MPI_Waitsome(count, local, &ended, indices, statuses);
    } else {
        MPI_Testsome(count, local, &ended, indices, statuses);
    }
    for (int i = 0; i < count; i++) requests[which[i]] = local[i];
    char before[32];
    if (!strcmp(op, "waitall") || !strcmp(op, "testall")) {
        if (!flag && polls) return 0;
        if (*op == 't') write_number("flag", flag);
        for (int i = 0; flag && i < count; i++) {
            snprintf(before, sizeof before, "%d.", i);
            write_status(before, &statuses[i]);
        }
    } else if (strstr(op, "any")) {
        if (!flag && polls) return 0;
        if (*op == 't') write_number("flag", flag);
        write_number("index", flag ? index : MPI_UNDEFINED);
        if (flag) write_status("", statuses);
    } else if (polls) {
        /* Until all that it was asked for have ended, or none is open: `poll` says how many these are. */
        sum += ended == MPI_UNDEFINED ? 0 : ended;
        done = sum >= polls || ended == MPI_UNDEFINED;
        if (done) write_number("outcount", sum), sum = 0;
    } else {
        write_number("outcount", ended);
        for (int i = 0; ended != MPI_UNDEFINED && i < ended; i++) {
            snprintf(before, sizeof before, "%d.", i);
            fprintf(out, " %sindex=%d", before, indices[i]);
            write_status(before, &statuses[i]);
        }
    }
    return done;
}

static int arrived(void)
{
    int flag = 0;
#if MPI_VERSION >= 4
    MPI_Parrived(requests[number("req", 0)], (int) number("partition", 0), &flag);
#endif
    if (!flag && number("poll", 0)) return 0;
    write_number("flag", flag);
    return 1;
}

static int probe(const char *op)
{
    int source = (int) number("src", 0), tag = (int) number("tag", 0), flag = 1;
    MPI_Message *message = &messages[number("handle", 0)];
    MPI_Status status;
    if (!strcmp(op, "probe")) MPI_Probe(source, tag, comm(), &status);
    else if (!strcmp(op, "iprobe")) MPI_Iprobe(source, tag, comm(), &flag, &status);
    else if (!strcmp(op, "mprobe")) MPI_Mprobe(source, tag, comm(), message, &status);
    else MPI_Improbe(source, tag, comm(), &flag, message, &status);
    if (!flag && number("poll", 0)) return 0;
    if (*op == 'i') write_number("flag", flag);
    if (flag) write_status("", &status);
    return 1;
}

/* Messages; 0 where `op` is none. */

static int message(const char *op)
{
    void *buf = buffer("buf"), *recvbuf = buffer("recvbuf"), *sendbuf = buffer("sendbuf");
    int bytes = (int) number("size", 0), room = (int) number("max", 0);
    int to = (int) number("to", 0), source = (int) number("src", 0), tag = (int) number("tag", 0);
    int send_tag = (int) number("send_tag", 0), recv_tag = (int) number("recv_tag", 0);
    MPI_Request *request = &requests[number("req", 0)];
    MPI_Status status;
#define IF(name, call) if (!strcmp(op, name)) { call; return 1; }
#define SEND(name, function) IF(name, function(buf, bytes, MPI_BYTE, to, tag, comm()))
#define ISEND(name, function) IF(name, function(buf, bytes, MPI_BYTE, to, tag, comm(), request))
    SEND("send", MPI_Send)
    SEND("ssend", MPI_Ssend)
    SEND("bsend", MPI_Bsend)
    SEND("rsend", MPI_Rsend)
    ISEND("isend", MPI_Isend)
    ISEND("issend", MPI_Issend)
    ISEND("ibsend", MPI_Ibsend)
    ISEND("irsend", MPI_Irsend)
    ISEND("send_init", MPI_Send_init)
    ISEND("ssend_init", MPI_Ssend_init)
    ISEND("bsend_init", MPI_Bsend_init)
    ISEND("rsend_init", MPI_Rsend_init)
    IF("irecv", MPI_Irecv(buf, room, MPI_BYTE, source, tag, comm(), request))
    IF("recv_init", MPI_Recv_init(buf, room, MPI_BYTE, source, tag, comm(), request))
    IF("recv", MPI_Recv(buf, room, MPI_BYTE, source, tag, comm(), &status); write_status("", &status))
    IF("mrecv", MPI_Mrecv(buf, room, MPI_BYTE, &messages[number("handle", 0)], &status);
        write_status("", &status))
    IF("imrecv", MPI_Imrecv(buf, room, MPI_BYTE, &messages[number("handle", 0)], request))
    IF("sendrecv", MPI_Sendrecv(sendbuf, bytes, MPI_BYTE, to, send_tag, recvbuf, room, MPI_BYTE, source,
        recv_tag, comm(), &status); write_status("", &status))
    IF("sendrecv_replace", MPI_Sendrecv_replace(buf, bytes, MPI_BYTE, to, send_tag, source, recv_tag,
        comm(), &status); write_status("", &status))
#if MPI_VERSION >= 4
    IF("isendrecv", MPI_Isendrecv(sendbuf, bytes, MPI_BYTE, to, send_tag, recvbuf, room, MPI_BYTE, source,
        recv_tag, comm(), request))
    IF("isendrecv_replace", MPI_Isendrecv_replace(buf, bytes, MPI_BYTE, to, send_tag, source, recv_tag,
        comm(), request))
    int partitions = (int) number("partitions", 1), part = bytes / partitions;
    IF("psend_init", MPI_Psend_init(buf, partitions, part, MPI_BYTE, to, tag, comm(), MPI_INFO_NULL, request))
    IF("precv_init", MPI_Precv_init(buf, partitions, part, MPI_BYTE, source, tag, comm(), MPI_INFO_NULL, request))
    IF("pready", MPI_Pready((int) number("partition", 0), *request))
    IF("pready_range", MPI_Pready_range((int) number("first", 0), (int) number("last", 0), *request))
    if (!strcmp(op, "pready_list")) {
        int which[MOST], count = list("list", which);
        MPI_Pready_list(count, which, *request);
        return 1;
    }
#endif
    return 0;
}

/* Collectives; 0 where `op` is none. */

static int collective(const char *op)
{
    static int counts[MOST], displs[MOST], others[MOST], other_displs[MOST];
    void *buf = buffer("buf"), *recvbuf = buffer("recvbuf"), *sendbuf = buffer("sendbuf");
    int bytes = (int) number("size", 0), count = (int) number("count", 0), root = (int) number("root", 0);
    MPI_Request *request = &requests[number("req", 0)];
    MPI_Comm on = comm();
    int sizes = list("sizes", counts);
    if (!sizes) sizes = list("counts", counts);
    if (!sizes) sizes = list("send_sizes", counts);
    int back = list("receive_sizes", others), rank;
    for (int i = 0, sum = 0; i < sizes; sum += counts[i++]) displs[i] = sum;
    for (int i = 0, sum = 0; i < back; sum += others[i++]) other_displs[i] = sum;
    MPI_Comm_rank(on, &rank);
    int mine = rank < sizes ? counts[rank] : 0, starts = *op == 'i', inter, own;
    MPI_Comm_test_inter(on, &inter);
    MPI_Comm_size(on, &own);
    const char *kind = op + starts;
    int prepares = strlen(op) > 5 && !strcmp(op + strlen(op) - 5, "_init");
    char plain[64];
    snprintf(plain, sizeof plain, "%.*s", (int) strlen(kind) - 5 * prepares, kind);
    kind = plain;
    int *from = counts;
    if (inter && !strcmp(kind, "allgatherv")) {
        /* First what the own group gives, then what it gets. */
        from += own;
        for (int i = 0, first = displs[own]; i < sizes - own; i++) displs[i] = displs[own + i] - first;
    }
    if (number("in_place", 0)) {
        if (!strcmp(kind, "scatter") || !strcmp(kind, "scatterv")) recvbuf = MPI_IN_PLACE;
        else sendbuf = MPI_IN_PLACE;
    }
#if MPI_VERSION >= 4
#define PREPARE(Name, ...) MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request)
#else
#define PREPARE(Name, ...) MPIX_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request)
#endif
#define ALL(name, Name, name_, ...) \
    if (!strcmp(kind, name)) { \
        if (prepares) PREPARE(Name, __VA_ARGS__, on); \
        else if (starts) MPI_I##name_(__VA_ARGS__, on, request); \
        else MPI_##Name(__VA_ARGS__, on); \
        return 1; \
    }
    if (!strcmp(kind, "barrier")) {
        if (starts) MPI_Ibarrier(on, request);
        else if (prepares) PREPARE(Barrier, on);
        else MPI_Barrier(on);
        return 1;
    }
    ALL("bcast", Bcast, bcast, buf, bytes, MPI_BYTE, root)
    ALL("scatter", Scatter, scatter, sendbuf, bytes, MPI_BYTE, recvbuf, bytes, MPI_BYTE, root)
    ALL("scatterv", Scatterv, scatterv, sendbuf, counts, displs, MPI_BYTE, recvbuf, mine, MPI_BYTE, root)
    ALL("gather", Gather, gather, sendbuf, bytes, MPI_BYTE, recvbuf, bytes, MPI_BYTE, root)
    ALL("gatherv", Gatherv, gatherv, sendbuf, mine, MPI_BYTE, recvbuf, counts, displs, MPI_BYTE, root)
    ALL("allgather", Allgather, allgather, sendbuf, bytes, MPI_BYTE, recvbuf, bytes, MPI_BYTE)
    ALL("allgatherv", Allgatherv, allgatherv, sendbuf, mine, MPI_BYTE, recvbuf, from, displs, MPI_BYTE)
    ALL("alltoall", Alltoall, alltoall, sendbuf, bytes, MPI_BYTE, recvbuf, bytes, MPI_BYTE)
    ALL("alltoallv", Alltoallv, alltoallv, sendbuf, counts, displs, MPI_BYTE, recvbuf, others, other_displs,
        MPI_BYTE)
    ALL("reduce", Reduce, reduce, sendbuf, recvbuf, count, type(), operator(), root)
    ALL("allreduce", Allreduce, allreduce, sendbuf, recvbuf, count, type(), operator())
    ALL("reduce_scatter", Reduce_scatter, reduce_scatter, sendbuf, recvbuf, counts, type(), operator())
    ALL("reduce_scatter_block", Reduce_scatter_block, reduce_scatter_block, sendbuf, recvbuf, count, type(),
        operator())
    ALL("scan", Scan, scan, sendbuf, recvbuf, count, type(), operator())
    ALL("exscan", Exscan, exscan, sendbuf, recvbuf, count, type(), operator())
    ALL("neighbor_allgather", Neighbor_allgather, neighbor_allgather, sendbuf, bytes, MPI_BYTE, recvbuf, bytes,
        MPI_BYTE)
    ALL("neighbor_allgatherv", Neighbor_allgatherv, neighbor_allgatherv, sendbuf, bytes, MPI_BYTE, recvbuf, counts,
        displs, MPI_BYTE)
    ALL("neighbor_alltoall", Neighbor_alltoall, neighbor_alltoall, sendbuf, bytes, MPI_BYTE, recvbuf, bytes,
        MPI_BYTE)
    ALL("neighbor_alltoallv", Neighbor_alltoallv, neighbor_alltoallv, sendbuf, counts, displs, MPI_BYTE, recvbuf,
        others, other_displs, MPI_BYTE)
    return 0;
}

/* Communicators; 0 where `op` is none. */

static int communicator(const char *op)
{
    MPI_Comm *fresh = &comms[number("new", 0)];
    int ranks[MOST], rank, count;
    if (!strcmp(op, "comm_rank")) MPI_Comm_rank(comm(), &rank), write_number("rank", rank);
    else if (!strcmp(op, "comm_size")) MPI_Comm_size(comm(), &count), write_number("size", count);
    else if (!strcmp(op, "comm_remote_size")) {
        int inter;
        MPI_Comm_test_inter(comm(), &inter);
        if (inter) MPI_Comm_remote_size(comm(), &count);
        write_number("remote_size", inter ? count : MPI_UNDEFINED);
    } else if (!strcmp(op, "comm_dup")) MPI_Comm_dup(comm(), fresh);
    else if (!strcmp(op, "comm_split"))
        MPI_Comm_split(comm(), (int) number("color", 0), (int) number("key", 0), fresh);
    else if (!strcmp(op, "comm_split_type")) {
        const char *by = text("type");
        int split = by && !strcmp(by, "undefined") ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED;
        MPI_Comm_split_type(comm(), split, (int) number("key", 0), MPI_INFO_NULL, fresh);
    } else if (!strncmp(op, "comm_create", 11)) {
        MPI_Group all, some;
        count = list("ranks", ranks);
        MPI_Comm_group(comm(), &all);
        MPI_Group_incl(all, count, ranks, &some);
        if (!strcmp(op, "comm_create")) MPI_Comm_create(comm(), some, fresh);
        else MPI_Comm_create_group(comm(), some, (int) number("tag", 0), fresh);
        MPI_Group_free(&all);
        MPI_Group_free(&some);
    } else if (!strcmp(op, "cart_create")) {
        int periods[MOST];
        count = list("dims", ranks);
        list("periods", periods);
        MPI_Cart_create(comm(), count, ranks, periods, 0, fresh);
    } else if (!strcmp(op, "cart_sub")) {
        list("remain", ranks);
        MPI_Cart_sub(comm(), ranks, fresh);
    } else if (!strcmp(op, "dist_graph_create_adjacent")) {
        int to[MOST], sources = list("sources", ranks), destinations = list("destinations", to), even[MOST];
        for (int i = 0; i < MOST; i++) even[i] = 1;
        MPI_Dist_graph_create_adjacent(comm(), sources, ranks, even, destinations, to, even, MPI_INFO_NULL, 0,
            fresh);
    } else if (!strcmp(op, "intercomm_create")) {
        MPI_Intercomm_create(comm(), (int) number("leader", 0), comms[number("peer", 0)],
            (int) number("remote_leader", 0), (int) number("tag", 0), fresh);
    } else if (!strcmp(op, "intercomm_merge")) {
        MPI_Intercomm_merge(comm(), (int) number("high", 0), fresh);
    } else if (!strcmp(op, "comm_free")) {
        MPI_Comm_free(&comms[number("comm", 0)]);
    } else return 0;
    return 1;
}

/* One statement; 0 where it is to be called again. */
static int call(const char *op)
{
    if (!strcmp(op, "store") || !strcmp(op, "load")) return access_buffer(*op == 's'), 1;
    if (!strcmp(op, "wait") || !strcmp(op, "test") || !strcmp(op, "request_get_status")) return one(op);
    if (!strncmp(op, "wait", 4) || !strncmp(op, "test", 4)) return several(op);
    if (strstr(op, "probe")) return probe(op);
    if (!strcmp(op, "parrived")) return arrived();
    if (message(op) || collective(op) || communicator(op)) return 1;
    if (!strcmp(op, "start")) MPI_Start(&requests[number("req", 0)]);
    else if (!strcmp(op, "startall")) {
        int which[MOST], count = list("reqs", which);
        MPI_Request local[MOST];
        for (int i = 0; i < count; i++) local[i] = requests[which[i]];
        MPI_Startall(count, local);
        for (int i = 0; i < count; i++) requests[which[i]] = local[i];
    } else if (!strcmp(op, "request_free")) MPI_Request_free(&requests[number("req", 0)]);
    else if (!strcmp(op, "cancel")) MPI_Cancel(&requests[number("req", 0)]);
    else if (!strcmp(op, "buffer_attach"))
        MPI_Buffer_attach(attached = malloc(number("size", 0)), (int) number("size", 0));
    else if (!strcmp(op, "buffer_detach")) {
        int bytes;
        MPI_Buffer_detach(&attached, &bytes);
        free(attached);
    } else fail("no statement", op);
    return 1;
}

/* A case begins with three communicators of its own: all ranks, the same, and in reverse order. */
static void begin(void)
{
    for (int i = 0; i < MOST; i++) {
        comms[i] = MPI_COMM_NULL;
        requests[i] = MPI_REQUEST_NULL;
        free(buffers[i]);
        buffers[i] = NULL;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &comms[2]);
}

static void end(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) MPI_Comm_free(&comms[i]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Type_contiguous(2, MPI_INT64_T, &int64_pair);
    MPI_Type_commit(&int64_pair);
    MPI_Op_create(compose, 0, &affine);
    char name[4096], *line = NULL;
    size_t room = 0;
    snprintf(name, sizeof name, "%s.%d", argc > 2 ? argv[2] : "", me);
    FILE *in = argc > 2 ? fopen(argv[1], "r") : NULL;
    out = argc > 2 ? fopen(name, "w") : NULL;
    if (!in || !out) fail("cannot open", name);
    int begun = 0, mine = 0, statement = 0;
    char id[64] = "";
    while (getline(&line, &room, in) > 0) {
        char *op = strtok(line, " \n"), *word;
        if (!op) continue;
        if (!strcmp(op, "case")) {
            if (begun) end();
            begin();
            begun = 1;
            snprintf(id, sizeof id, "%s", strtok(NULL, " \n"));
            alarm(60);
            continue;
        }
        if (!strcmp(op, "rank")) {
            mine = atoi(strtok(NULL, " \n")) == me;
            statement = 0;
            continue;
        }
        if (!mine) continue;
        if (!strcmp(op, "buffer")) {
            int which = atoi(strtok(NULL, " \n"));
            lengths[which] = strtoul(strtok(NULL, " \n"), NULL, 10);
            buffers[which] = calloc(lengths[which] + 1, 1);
            continue;
        }
        for (pairs = 0; (word = strtok(NULL, " \n")); pairs++) {
            char *equals = strchr(word, '=');
            *equals = 0;
            keys[pairs] = word;
            values[pairs] = equals + 1;
        }
        fprintf(out, "%s %d", id, statement++);
        while (!call(op)) ;
        fprintf(out, "\n");
        fflush(out);
    }
    if (begun) end();
    MPI_Type_free(&int64_pair);
    MPI_Op_free(&affine);
    fclose(out);
    MPI_Finalize();
    return 0;
}
