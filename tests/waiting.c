/* redist tests: waiting: what gets on while a rank waits, and several started plans in any order. MIT licence, see LICENSE. */
#include "exchange.h"

enum { LARGE = 1 << 20 }; /* bytes: more than any MPI library sends before the receiver takes part */

static exchange *rows_to_columns(redist_method method, int64_t n, int64_t m)
{
    exchange *e = exchange_new(MPI_COMM_WORLD);
    exchange_rows(e, n, m, TEST_CYCLIC);
    e->method = method;
    e->seed = 1; /* dear messages, where chains are chosen by cost */
    return e;
}

static int create_on_nodes(exchange *e, int node_ranks)
{
    redist_options options;
    memset(&options, 0, sizeof options);
    options.node_ranks = node_ranks;
    return exchange_create_with(e, &options);
}

/* ---- a rank that waits for nothing but flags receives other messages ---- */

static void pause_for(double seconds)
{
    const double begin = MPI_Wtime();
    while (MPI_Wtime() - begin < seconds)
        sched_yield();
}

/* Ranks 0 and 1 are a node. Rank 1 comes late, when rank 0 has long waited for it and has done with the other nodes: it
   first sends rank 0 a large message of its own. */
static int late_sender(exchange *e, char *buffer)
{
    MPI_Request received = MPI_REQUEST_NULL;
    int code = REDIST_OK;
    if (e->rank == 0)
        MPI_Irecv(buffer, LARGE, MPI_CHAR, 1, 7, MPI_COMM_WORLD, &received);
    test_sum(0);
    if (e->rank == 1)
        pause_for(0.1);
    if (e->rank == 1)
        MPI_Send(buffer, LARGE, MPI_CHAR, 0, 7, MPI_COMM_WORLD);
    code = redist_execute(e->plan, e->held[0][0], e->held[1][0]);
    test_wait(&received);
    return code;
}

static void check_progress(void)
{
    exchange *e = rows_to_columns(REDIST_SHARED, 11, 13);
    char *buffer = calloc(1, LARGE);
    int code, number;
    exchange_allocate(e);
    code = create_on_nodes(e, 2);
    for (number = 0; number < 2 && code == REDIST_OK; number++) {
        exchange_prepare(e, number);
        code = late_sender(e, buffer);
        test_case_all(code == REDIST_OK && exchange_arrived(e, number), "a large message while rank 0 waits: code %d", code);
    }
    test_case_all(redist_plan_free(&e->plan) == REDIST_OK, "freed");
    free(buffer);
    exchange_release(e);
    free(e);
}

int main(int argc, char **argv)
{
    int status;
    MPI_Init(&argc, &argv);
    if (test_size() > 1)
        check_progress();
    status = test_report_all("waiting");
    MPI_Finalize();
    return status;
}
