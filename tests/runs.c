/* Run lists: they cover what two coordinates share exactly once, and stay short. MIT licence, see LICENSE. */
#include "redist.h"
#include "test.h"

enum { MOST = 60, PROCS = 5 };

/* An axis of n indices and a view of it; the oracle is a table filled by dealing one index after the other. */
typedef struct {
    redist_layout layout; /* of rank 1: sections are made of layouts */
    int owner[MOST];
    int64_t local[MOST], count;
} dealt_axis;

static void deal(dealt_axis *a, int64_t n, int64_t block, int procs, int first)
{
    int64_t owned[PROCS] = {0}, i;
    a->layout = redist_layout_1d(redist_starting_at(redist_block_cyclic(n, block, procs), first));
    a->count = n;
    for (i = 0; i < n; i++) {
        a->owner[i] = (int)((i / block + first) % procs);
        a->local[i] = owned[a->owner[i]]++;
    }
}

/* Keeps count indices: start, start + step, ... */
static void keep(dealt_axis *a, int64_t start, int64_t count, int64_t step)
{
    dealt_axis old = *a;
    int64_t i;
    a->layout = redist_section(a->layout, 0, start, count, step);
    a->count = count;
    for (i = 0; i < count; i++) {
        a->owner[i] = old.owner[start + i * step];
        a->local[i] = old.local[start + i * step];
    }
}

static void draw(dealt_axis *a, test_random *r, int64_t count)
{
    int64_t step = test_between(r, 1, 4), start = test_between(r, 0, 3), n;
    int procs = (int)test_between(r, 1, PROCS);
    if (test_between(r, 0, 2) > 0)
        step = 1;
    n = start + (count > 0 ? (count - 1) * step + 1 : 0) + test_between(r, 0, 3);
    deal(a, n, test_between(r, 1, 9), procs, (int)test_between(r, 0, procs - 1));
    if (test_between(r, 0, 1))
        keep(a, start, count, step);
    else
        keep(a, count > 0 ? start + (count - 1) * step : 0, count, -step);
}

/* Marks the elements of one run; 0 when one is wrong or met twice. */
static int mark(const redist_priv_run *run, const dealt_axis *from, int f, const dealt_axis *to, int t, char *seen, char *packed)
{
    int64_t k[3], at[3], i;
    int side, good = 1;
    for (k[2] = 0; k[2] < run->n[2]; k[2]++)
        for (k[1] = 0; k[1] < run->n[1]; k[1]++)
            for (k[0] = 0; k[0] < run->n[0]; k[0]++) {
                for (side = 0; side < 3; side++)
                    at[side] = run->at[side] + k[0] * run->stride[0][side] + k[1] * run->stride[1][side] +
                               k[2] * run->stride[2][side];
                for (i = 0; i < from->count; i++)
                    if (from->owner[i] == f && from->local[i] == at[REDIST_PRIV_FROM])
                        break;
                if (i == from->count || to->owner[i] != t || to->local[i] != at[REDIST_PRIV_TO] || seen[i] ||
                    at[REDIST_PRIV_PACKED] < 0 || at[REDIST_PRIV_PACKED] >= MOST || packed[at[REDIST_PRIV_PACKED]])
                    return 0;
                seen[i] = packed[at[REDIST_PRIV_PACKED]] = 1;
            }
    return good;
}

/* The runs of one pair of coordinates against the tables. */
static int check_pair(const redist_priv_runs *list, const dealt_axis *from, int f, const dealt_axis *to, int t)
{
    char seen[MOST] = {0}, packed[MOST] = {0};
    int64_t r, i, shared = 0;
    for (r = 0; r < list->runs; r++)
        if (!mark(&list->run[r], from, f, to, t, seen, packed))
            return 0;
    for (i = 0; i < from->count; i++)
        shared += from->owner[i] == f && to->owner[i] == t;
    for (i = 0; i < shared; i++)
        if (!packed[i])
            return 0;
    return shared == list->elements;
}

/* All partners of one coordinate, seen from side `own`. */
static int check_coord(const dealt_axis *from, const dealt_axis *to, int own, int c)
{
    const dealt_axis *mine = own == REDIST_PRIV_FROM ? from : to, *other = own == REDIST_PRIV_FROM ? to : from;
    char met[PROCS] = {0};
    redist_priv_neighbours n;
    redist_priv_partners p;
    int64_t k, i;
    int good = redist_priv_neighbours_of(&mine->layout, &c, own, &other->layout, &n) == REDIST_OK;
    p = n.axis[0];
    for (k = 0; k < p.peers && good; k++) {
        int f = own == REDIST_PRIV_FROM ? c : p.coord[k], t = own == REDIST_PRIV_FROM ? p.coord[k] : c;
        good = check_pair(&p.runs[k], from, f, to, t) && p.runs[k].elements > 0 && !met[p.coord[k]];
        met[p.coord[k]] = 1;
    }
    for (i = 0; i < mine->count && good; i++)
        good = mine->owner[i] != c || met[other->owner[i]];
    redist_priv_neighbours_free(&n);
    return good;
}

static void check_random(void)
{
    test_random r = {7};
    dealt_axis from, to;
    int k, c, own, good;
    for (k = 0; k < 20000; k++) {
        int64_t count = test_between(&r, 0, 14);
        draw(&from, &r, count);
        draw(&to, &r, count);
        good = redist_layout_check(&from.layout) == REDIST_OK && redist_layout_check(&to.layout) == REDIST_OK;
        for (own = 0; own < 2; own++)
            for (c = 0; c < (own == REDIST_PRIV_FROM ? from : to).layout.dim[0].axis.procs; c++)
                good = good && check_coord(&from, &to, own, c);
        test_case(good, "random pair %d", k);
    }
}

/* Pairs whose lists must stay short, and whose elements must add up. */
static void check_short(const char *name, redist_axis from, redist_axis to, int64_t most)
{
    const redist_layout source = redist_layout_1d(from), destination = redist_layout_1d(to);
    const int first = 0;
    redist_priv_neighbours n;
    redist_priv_partners p;
    int64_t runs = 0, elements = 0, k;
    int good = redist_priv_neighbours_of(&source, &first, REDIST_PRIV_FROM, &destination, &n) == REDIST_OK;
    p = n.axis[0];
    for (k = 0; k < p.peers; k++) {
        runs += p.runs[k].runs;
        elements += p.runs[k].elements;
    }
    test_case(good && runs <= most && elements == redist_count(&from, 0), "%s: %" PRId64 " runs for %" PRId64 " elements", name,
              runs, elements);
    redist_priv_neighbours_free(&n);
}

int main(void)
{
    const int64_t large = INT64_C(1) << 60;
    check_random();
    check_short("BLOCK to CYCLIC(1), 10^9 on 2", redist_block(1000000000, 2), redist_cyclic(1000000000, 2), 4);
    check_short("CYCLIC(1) to BLOCK, 10^9 on 2", redist_cyclic(1000000000, 2), redist_block(1000000000, 2), 4);
    check_short("BLOCK to CYCLIC(64), 2^60 on 1000", redist_block(large, 1000), redist_block_cyclic(large, 64, 1000), 3000);
    check_short("CYCLIC(3) to CYCLIC(2), 2^60 on 7", redist_block_cyclic(large, 3, 7), redist_block_cyclic(large, 2, 7), 30);
    check_short("CYCLIC(5), 2^60, the same", redist_block_cyclic(large, 5, 9), redist_block_cyclic(large, 5, 9), 1);
    check_short("CYCLIC(1) to balanced, 2^60", redist_cyclic(large, 3), redist_balanced(large, 1000), 2000);
    return test_report("runs");
}
