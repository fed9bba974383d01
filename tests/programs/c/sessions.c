/* A communicator of a session, before MPI_Init and without it; handles as ints; MPI_T without variables. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, sum, sets, length = 0, provided, variables = -1, flag, indices[2], count, done;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm, same;
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Datatype pair;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    if (!rank) printf("%d sets, name of %d bytes, sum %d\n", sets >= 2 ? 2 : sets, length, sum);
    same = MPI_Comm_fromint(MPI_Comm_toint(comm));
    if (!rank) printf("handle %d, world %d\n", same == comm, MPI_Comm_toint(MPI_COMM_WORLD) == 0x101);
    flag = MPI_Group_from_session_pset(session, "none", &group) != MPI_SUCCESS;
    if (!rank) printf("no set %d\n", flag);

    MPI_Isend(&rank, 1, MPI_INT, rank, 3, comm, &requests[0]);
    MPI_Request_get_status_all(2, requests, &flag, MPI_STATUSES_IGNORE);
    MPI_Irecv(&sum, 1, MPI_INT, rank, 3, comm, &requests[1]);
    do MPI_Request_get_status_all(2, requests, &done, MPI_STATUSES_IGNORE);
    while (!done);
    MPI_Request_get_status_any(2, requests, &indices[0], &flag, MPI_STATUS_IGNORE);
    MPI_Request_get_status_some(2, requests, &count, indices, MPI_STATUSES_IGNORE);
    if (!rank) printf("ended %d, %d of them, first %d\n", flag, count, indices[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair);
    if (!rank) printf("pair %d\n", pair == MPI_DOUBLE_INT);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_cvar_get_num(&variables);
    if (!rank) printf("variables %d\n", variables >= 0);
    MPI_T_finalize();
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    if (!rank) printf("over %d\n", session == MPI_SESSION_NULL);
    return 0;
}
