/* redist tests: the cost model and multiphase routes: Kaushik's figures, all chains of small cases, random pairs.
   MIT licence, see LICENSE. */
#include <math.h>

#include "failing_malloc.h"
#include "oracle.h"

enum { WORLD = 12, MOST_BETWEEN = 6 };

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static const redist_cost messages_only = {1, 0}, elements_only = {0, 1};

static redist_cost cost_of_pair(double per_message, double per_element)
{
    redist_cost cost;
    cost.per_message = per_message;
    cost.per_byte = per_element;
    return cost;
}

static redist_layout cyclic(int64_t n, int64_t block, int procs)
{
    return redist_layout_1d(redist_block_cyclic(n, block, procs));
}

static double chain_cost(const redist_layout *from, const redist_layout *to, const redist_cost *cost, int n,
                         const redist_layout *between)
{
    double sum = 0;
    for (int k = 0; k <= n; k++)
        sum += redist_cost_of(k == 0 ? from : &between[k - 1], k == n ? to : &between[k], 1, cost);
    return sum;
}

static int close_to(double a, double b, double apart)
{
    return a - b < apart && b - a < apart;
}

static int same_owners(const redist_layout *a, const redist_layout *b, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (redist_layout_owner(a, &i) != redist_layout_owner(b, &i))
            return 0;
    return 1;
}

/* ---- Kaushik, Huang, Johnson and Sadayappan 1994 ---- */

static const struct {
    int64_t n;
    int procs;
    int64_t before, after;
    int degree;             /* a copy to itself counted */
} degrees[] = {
    {192, 8, 24, 3, 8},      {192, 8, 24, 12, 2},     {192, 8, 12, 3, 4},      {27, 9, 1, 3, 3},
    {36, 6, 6, 1, 6},
    {8192, 16, 256, 16, 16}, {8192, 16, 256, 64, 4},  {8192, 16, 64, 16, 4},   {16384, 32, 256, 8, 32},
    {16384, 32, 256, 32, 8},
    {16384, 32, 32, 8, 4},   {16384, 32, 256, 64, 4}, {16384, 32, 64, 8, 8},
};

static void check_degrees(void)
{
    for (size_t k = 0; k < sizeof degrees / sizeof *degrees; k++) {
        redist_layout from = cyclic(degrees[k].n, degrees[k].before, degrees[k].procs);
        redist_layout to = cyclic(degrees[k].n, degrees[k].after, degrees[k].procs);
        const redist_cost cost = {3, 0.5};
        double wanted = 3 * degrees[k].degree + 8 * 0.5 * (double)(degrees[k].n / degrees[k].procs);
        test_case(redist_cost_of(&from, &to, 1, &messages_only) == degrees[k].degree, "Kaushik, pair %d: degree",
                  (int)k);
        test_case(redist_cost_of(&to, &from, 1, &messages_only) == degrees[k].degree, "Kaushik, pair %d back: degree",
                  (int)k);
        test_case(redist_cost_of(&from, &to, 8, &cost) == wanted, "Kaushik, pair %d: cost", (int)k);
    }
}

/* The sums r1 + r2 of the cheapest two phases, and r1 + r2 + ... of any number of them. */
static const struct {
    int64_t n;
    int procs;
    int64_t before, after;
    int direct, two, any;
} splits[] = {
    {192, 8, 24, 3, 8, 6, 6},         {36, 6, 6, 1, 6, 5, 5},         {27, 9, 1, 3, 3, 3, 3},
    {8192, 16, 256, 16, 16, 8, 8},    {16384, 32, 256, 8, 32, 12, 10}, {8192, 16, 16, 256, 16, 8, 8},
    {65536, 32, 2048, 64, 32, 12, 10}, {65536, 32, 2048, 1, 32, 32, 22}, {12 * 12 * 35, 12, 12, 1, 12, 7, 7},
};

static void check_splits(void)
{
    redist_layout between[MOST_BETWEEN];
    for (size_t k = 0; k < sizeof splits / sizeof *splits; k++) {
        redist_layout from = cyclic(splits[k].n, splits[k].before, splits[k].procs);
        redist_layout to = cyclic(splits[k].n, splits[k].after, splits[k].procs);
        int one = redist_phases(&from, &to, &messages_only, 1, between);
        test_case(one == (splits[k].two < splits[k].direct) &&
                      chain_cost(&from, &to, &messages_only, one, between) == splits[k].two,
                  "Kaushik, split %d: %d between", (int)k, one);
        one = redist_phases(&from, &to, &messages_only, MOST_BETWEEN, between);
        test_case(one >= 0 && chain_cost(&from, &to, &messages_only, one, between) == splits[k].any,
                  "Kaushik, split %d: %d of any number between", (int)k, one);
        test_case(redist_phases(&from, &to, &elements_only, MOST_BETWEEN, between) == 0,
                  "Kaushik, split %d: messages for nothing", (int)k);
        test_case(redist_phases(&from, &to, &messages_only, 0, NULL) == 0, "Kaushik, split %d: none allowed", (int)k);
    }
}

/* Where one block size is the best between two, it is that one. */
static void check_best_block(void)
{
    redist_layout between[1], from = cyclic(8192, 256, 16), to = cyclic(8192, 16, 16), best = cyclic(8192, 64, 16);
    test_case(redist_phases(&from, &to, &messages_only, 1, between) == 1 && same_owners(&between[0], &best, 8192),
              "CYCLIC(64) on 16");
    from = cyclic(16384, 256, 32);
    to = cyclic(16384, 8, 32);
    test_case(redist_phases(&from, &to, &messages_only, 1, between) == 1, "one between on 32");
    best = cyclic(16384, 32, 32);
    if (!same_owners(&between[0], &best, 16384))
        best = cyclic(16384, 64, 32);
    test_case(same_owners(&between[0], &best, 16384), "CYCLIC(32) or CYCLIC(64) on 32");
}

/* Block sizes 12 and 28 on 32 processes: by way of their lcm, as Walker and Otto go, 7 + 3 messages, and by their gcd
   3 + 7. What is found is no dearer than either, nor than the straight way. */
static void check_walker_otto(void)
{
    const int64_t n = 32 * 60 * 7;
    redist_layout between[1], from = cyclic(n, 12, 32), to = cyclic(n, 28, 32), lcm = cyclic(n, 84, 32),
                              gcd = cyclic(n, 4, 32);
    double by_lcm, by_gcd, straight = redist_cost_of(&from, &to, 1, &messages_only), found;
    by_lcm = redist_cost_of(&from, &lcm, 1, &messages_only) + redist_cost_of(&lcm, &to, 1, &messages_only);
    by_gcd = redist_cost_of(&from, &gcd, 1, &messages_only) + redist_cost_of(&gcd, &to, 1, &messages_only);
    found = chain_cost(&from, &to, &messages_only, redist_phases(&from, &to, &messages_only, 1, between), between);
    test_case(by_lcm == 10 && by_gcd == 10 && found <= 10 && found <= straight, "lcm %g, gcd %g, straight %g, found %g",
              by_lcm, by_gcd, straight, found);
}

/* The paper's two measured crossovers, and the ratio ts/te where the model puts one and two phases level:
   (N/P) te = (Q - r1 - r2) ts. */
static const struct {
    int64_t elements;
    int procs;
    int64_t before, after;
    int saved;                  /* Q - r1 - r2 */
    double ratio;
} crossovers[] = {{28 * 1024, 16, 256, 16, 16 - 4 - 4, 224.0}, {64 * 1024, 32, 256, 8, 32 - 8 - 4, 102.4}};

static void check_crossovers(void)
{
    redist_layout between[1];
    for (size_t k = 0; k < sizeof crossovers / sizeof *crossovers; k++) {
        const int64_t share = crossovers[k].elements / crossovers[k].procs;
        redist_layout from = cyclic(crossovers[k].elements, crossovers[k].before, crossovers[k].procs);
        redist_layout to = cyclic(crossovers[k].elements, crossovers[k].after, crossovers[k].procs);
        double low = 0, high = 1e6, level = (double)share / crossovers[k].saved;
        redist_cost less = cost_of_pair(level * (1 + 1e-9), 1), more = cost_of_pair(level * (1 - 1e-9), 1);
        test_case(redist_phases(&from, &to, &less, 1, between) == 1, "just below the crossover on %d",
                  crossovers[k].procs);
        test_case(redist_phases(&from, &to, &more, 1, between) == 0, "just above the crossover on %d",
                  crossovers[k].procs);
        while (high - low > 1e-6) {
            redist_cost middle = cost_of_pair((low + high) / 2, 1);
            if (redist_phases(&from, &to, &middle, 1, between) == 1)
                high = middle.per_message;
            else
                low = middle.per_message;
        }
        test_case(close_to(high, crossovers[k].ratio, 1e-5), "ts/te on %d: %g", crossovers[k].procs, high);
    }
}

/* ---- all chains of small cases ---- */

enum { MOST_N = 30, MOST_PROCS = 9, MOST_STOPS = MOST_PROCS * MOST_N + 2 };

typedef struct {
    int64_t n, block[MOST_STOPS];
    int procs[MOST_STOPS], stops;       /* stop 0 is the source, stop 1 the destination */
} chains;

static int64_t dealt(const chains *c, int stop, int64_t i)
{
    return i / c->block[stop] % c->procs[stop];
}

static int64_t fullest(const chains *c, int stop)
{
    int64_t held[MOST_PROCS] = {0}, most = 0;
    for (int64_t i = 0; i < c->n; i++)
        if (++held[dealt(c, stop, i)] > most)
            most = held[dealt(c, stop, i)];
    return most;
}

/* Q ts + (N/P) te, by looking at every element. */
static double phase(const chains *c, int from, int to, const redist_cost *cost)
{
    int meets[MOST_PROCS][MOST_PROCS] = {{0}}, most = 0;
    int64_t before = fullest(c, from), after = fullest(c, to);
    for (int64_t i = 0; i < c->n; i++)
        meets[dealt(c, from, i)][dealt(c, to, i)] = 1;
    for (int a = 0; a < MOST_PROCS; a++) {
        int sends = 0, receives = 0;
        for (int b = 0; b < MOST_PROCS; b++) {
            sends += meets[a][b];
            receives += meets[b][a];
        }
        most = sends > most ? sends : most;
        most = receives > most ? receives : most;
    }
    return most * cost->per_message + (double)(before > after ? before : after) * cost->per_byte;
}

/* The cheapest of all chains with at most two of the stops on the way. */
static double cheapest(const chains *c, const redist_cost *cost)
{
    static double road[MOST_STOPS][MOST_STOPS];
    double best;
    int64_t held[MOST_STOPS], most;
    for (int a = 0; a < c->stops; a++)
        held[a] = fullest(c, a);
    most = held[0] > held[1] ? held[0] : held[1];
    for (int a = 0; a < c->stops; a++)
        for (int b = 0; b < c->stops; b++)
            road[a][b] = held[a] > 2 * most || held[b] > 2 * most ? 1e300 : phase(c, a, b, cost);
    best = road[0][1];
    for (int a = 2; a < c->stops; a++)
        for (int b = 2; b < c->stops; b++) {
            double one = road[0][a] + road[a][1], two = road[0][a] + road[a][b] + road[b][1];
            best = one < best ? one : best;
            best = two < best ? two : best;
        }
    return best;
}

/* All block sizes over so many processes. */
static void add_stops(chains *c, int procs)
{
    for (int64_t b = 1; b <= c->n; b++) {
        c->block[c->stops] = b;
        c->procs[c->stops++] = procs;
    }
}

/* Stops over the processes of either end. */
static void draw_chains(test_random *r, chains *c)
{
    c->n = test_between(r, 1, MOST_N);
    c->procs[0] = (int)test_between(r, 1, MOST_PROCS);
    c->procs[1] = test_one_in(r, 2) ? c->procs[0] : (int)test_between(r, 1, MOST_PROCS);
    c->block[0] = test_between(r, 1, c->n);
    c->block[1] = test_between(r, 1, test_one_in(r, 2) ? 2 : c->n);
    c->stops = 2;
    for (int side = 0; side < 1 + (c->procs[0] != c->procs[1]); side++)
        add_stops(c, c->procs[side]);
}

/* The cheapest of all chains over as many processes as the larger end has, or fewer. */
static double cheapest_of_all(chains *c, const redist_cost *cost)
{
    const int most = c->procs[0] > c->procs[1] ? c->procs[0] : c->procs[1];
    for (int procs = 1; procs <= most; procs++)
        if (procs != c->procs[0] && procs != c->procs[1])
            add_stops(c, procs);
    return cheapest(c, cost);
}

/* As cheap as the best over the processes of the ends; what is cheaper than that takes others. */
static void check_chains(int number)
{
    test_random r = {(uint64_t)number};
    redist_layout between[2], from, to;
    redist_cost cost;
    chains c;
    int n;
    double best, least, found;
    draw_chains(&r, &c);
    from = cyclic(c.n, c.block[0], c.procs[0]);
    to = cyclic(c.n, c.block[1], c.procs[1]);
    cost = cost_of_pair(1, (double)test_between(&r, 0, 40) / 64);
    best = cheapest(&c, &cost);
    n = redist_phases(&from, &to, &cost, 2, between);
    found = chain_cost(&from, &to, &cost, n, between);
    test_case(redist_cost_of(&from, &to, 1, &cost) == phase(&c, 0, 1, &cost), "chains %d: cost", number);
    least = found < best - 1e-9 && c.procs[0] != c.procs[1] ? cheapest_of_all(&c, &cost) : best;
    test_case(n >= 0 && least <= found + 1e-9 && found <= best + 1e-9,
              "chains %d: %ld as blocks of %ld on %d to %ld on %d, te %g: found %g, best %g", number, (long)c.n,
              (long)c.block[0], c.procs[0], (long)c.block[1], c.procs[1], cost.per_byte, found, best);
}

/* ---- one axis on many processes ---- */

enum { MOST_COORDS = 1600 };

/* The most coordinates of either side that any of the other meets, by looking at every element. */
static int degree_by_elements(const redist_layout *from, const redist_layout *to, int64_t n)
{
    const int size = MOST_COORDS;
    unsigned char *meets = calloc((size_t)(size * size), 1);
    int *sends = calloc((size_t)size, sizeof *sends), *receives = calloc((size_t)size, sizeof *receives), most = 0;
    for (int64_t i = 0; i < n; i++) {
        int a = redist_layout_owner(from, &i), b = redist_layout_owner(to, &i);
        sends[a] += !meets[a * size + b];
        receives[b] += !meets[a * size + b];
        meets[a * size + b] = 1;
    }
    for (int k = 0; k < size; k++) {
        most = sends[k] > most ? sends[k] : most;
        most = receives[k] > most ? receives[k] : most;
    }
    free(meets);
    free(sends);
    free(receives);
    return most;
}

static void check_degree(const char *what, int number, redist_axis x, redist_axis y)
{
    redist_layout from = redist_layout_1d(x), to = redist_layout_1d(y);
    int wanted = degree_by_elements(&from, &to, x.count);
    double found = redist_cost_of(&from, &to, 1, &messages_only);
    test_case(found == wanted, "%s %d: %ld on %d and %d: %g messages, not %d", what, number, (long)x.count, x.procs,
              y.procs, found, wanted);
}

/* Whole superblocks, with and without a rest: the formula. */
static void check_formula(int number)
{
    test_random r = {(uint64_t)number};
    int64_t block[2], superblock;
    int procs[2];
    for (int side = 0; side < 2; side++) {
        block[side] = test_between(&r, 1, 24);
        procs[side] = (int)test_between(&r, 1, 24);
    }
    superblock = block[0] * procs[0];
    while (superblock % (block[1] * procs[1]) != 0)
        superblock += block[0] * procs[0];
    superblock += test_one_in(&r, 2) ? 0 : test_between(&r, 0, superblock);
    check_degree("formula", number,
                 redist_starting_at(redist_block_cyclic(superblock, block[0], procs[0]), procs[0] - 1),
                 redist_block_cyclic(superblock, block[1], procs[1]));
}

/* Many coordinates, also where only one in the middle has the most partners. */
static void check_many_coordinates(void)
{
    const int64_t n = 40009;
    static int64_t cuts[1601];
    for (int k = 0; k <= 1600; k++)
        cuts[k] = k <= 800 ? 20 * k : n - 20 * (1600 - k);
    check_degree("cuts to CYCLIC", 0, redist_cuts(cuts, 1600), redist_cyclic(n, 1600));
    check_degree("cuts to CYCLIC(1000)", 0, redist_cuts(cuts, 1600),
                 redist_starting_at(redist_block_cyclic(n, 1000, 7), 5));
    check_degree("cuts to balanced", 0, redist_cuts(cuts, 1600), redist_balanced(n, 1600));
    check_degree("one process to CYCLIC(3)", 0, redist_block_cyclic(n, 2, 1), redist_block_cyclic(n, 3, 11));
    check_degree("BLOCK to CYCLIC", 0, redist_block(n, 1600), redist_cyclic(n, 1600));
    check_degree("BLOCK to CYCLIC(7)", 0, redist_block(n, 1500), redist_block_cyclic(n, 7, 1200));
    check_degree("balanced to BLOCK", 0, redist_balanced(n, 1600), redist_block(n, 1100));
    check_degree("balanced to CYCLIC(3)", 0, redist_balanced(n, 1030), redist_block_cyclic(n, 3, 1599));
    check_degree("CYCLIC(5) to CYCLIC(7)", 0, redist_block_cyclic(n, 5, 1301), redist_block_cyclic(n, 7, 1201));
    check_degree("CYCLIC(2) to a few", 0, redist_block_cyclic(n, 2, 1500), redist_balanced(n, 9));
}

/* ---- random pairs of layouts ---- */

typedef struct {
    test_array arrays[2];
    test_table tables[2];
    redist_layout layouts[2], between[MOST_BETWEEN];
    int n;
} pair;

/* Deals out one axis alone, over many ranks. */
static void draw_line(test_random *r, int along, test_array *array)
{
    static const int kinds[] = {TEST_BLOCK, TEST_BLOCK, TEST_CYCLIC, TEST_BLOCK_CYCLIC, TEST_BALANCED};
    const int places = (int)test_between(r, 8, WORLD);
    int all[WORLD];
    for (int d = 0; d < array->ndim; d++) {
        array->axes[d].kind = d == along ? kinds[test_between(r, 0, 4)] : TEST_WHOLE;
        array->axes[d].procs = d == along ? places : 1;
        array->axes[d].first = 0;
    }
    array->first_rank = (int)test_between(r, 0, WORLD - places);
    test_shuffle(r, all, WORLD);
    memcpy(array->ranks, all, (size_t)places * sizeof *all);
}

/* Now and then rows and columns, or slabs, which pass other process grids. */
static void draw(pair *p, test_random *r)
{
    test_draw_pair(r, (int)test_between(r, 1, WORLD), 0, 0, &p->arrays[0], &p->arrays[1]);
    if (test_one_in(r, 5))
        for (int side = 0; side < 2; side++)
            draw_line(r, side * (p->arrays[0].ndim - 1), &p->arrays[side]);
    for (int side = 0; side < 2; side++) {
        test_tabulate(&p->arrays[side], &p->tables[side]);
        p->layouts[side] = test_layout(&p->arrays[side], &p->tables[side], -1);
    }
}

/* The most messages of any rank and the most elements on any, by looking at every element. */
static void check_cost(const pair *p, int number)
{
    static int64_t volumes[WORLD * WORLD];
    int64_t messages = 0, elements = 0;
    test_volumes(&p->tables[0], &p->tables[1], WORLD, volumes);
    for (int a = 0; a < WORLD; a++) {
        int64_t out = 0, in = 0, sends = 0, receives = 0;
        for (int b = 0; b < WORLD; b++) {
            sends += volumes[a * WORLD + b] > 0;
            receives += volumes[b * WORLD + a] > 0;
            out += volumes[a * WORLD + b];
            in += volumes[b * WORLD + a];
        }
        messages = larger(messages, larger(sends, receives));
        elements = larger(elements, larger(out, in));
    }
    test_case(redist_cost_of(&p->layouts[0], &p->layouts[1], 1, &messages_only) == (double)messages,
              "pair %d: %ld messages, not %g", number, (long)messages,
              redist_cost_of(&p->layouts[0], &p->layouts[1], 1, &messages_only));
    test_case(redist_cost_of(&p->layouts[0], &p->layouts[1], 3, &elements_only) == 3 * (double)elements,
              "pair %d: %ld elements", number, (long)elements);
}

/* A layout on the way is valid, shows the view, and puts no more on a rank than it may, nor on ranks that are not
   there. */
static int may_pass(const pair *p, const redist_layout *x)
{
    int64_t most = 0, all = 0;
    int coords[TEST_DIMS], there = 0, good = redist_layout_check(x) == REDIST_OK && x->ndim == p->layouts[0].ndim;
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < p->tables[side].places; k++)
            most = larger(most, p->tables[side].owned[k]);
    for (int rank = 0; rank < WORLD; rank++) {
        int used = test_place_of_rank(&p->tables[0], rank) >= 0 || test_place_of_rank(&p->tables[1], rank) >= 0;
        there += redist_coords_of(x, rank, coords);
        good = good && (used || !redist_coords_of(x, rank, coords)) && redist_layout_alloc(x, rank) <= 2 * most;
        all += redist_layout_alloc(x, rank);
    }
    return good && there == redist_places(x) && all == p->tables[0].elements;
}

/* Every place has as much as the one that needs most. */
static void **arrays_for(const redist_layout *x, size_t bytes)
{
    int places = redist_places(x);
    void **arrays = malloc((size_t)places * sizeof *arrays);
    int64_t most = 0;
    for (int rank = 0; rank < WORLD; rank++)
        most = larger(most, redist_layout_alloc(x, rank));
    for (int k = 0; k < places; k++)
        arrays[k] = calloc((size_t)most + 1, bytes);
    return arrays;
}

static void free_arrays(const redist_layout *x, void **arrays)
{
    for (int k = 0; k < redist_places(x); k++)
        free(arrays[k]);
    free(arrays);
}

/* Moves the elements through the chain and compares every byte of the destination with what belongs there. */
static int arrives(const pair *p, int n, size_t bytes)
{
    void **arrays[MOST_BETWEEN + 2];
    const redist_layout *layouts[MOST_BETWEEN + 2];
    int good = 1;
    for (int k = 0; k <= n + 1; k++) {
        layouts[k] = k == 0 ? &p->layouts[0] : k == n + 1 ? &p->layouts[1] : &p->between[k - 1];
        arrays[k] = arrays_for(layouts[k], bytes);
    }
    for (int k = 0; k < p->tables[0].places; k++)
        test_fill(&p->tables[0], k, bytes, 100, 7, arrays[0][k]);
    for (int k = 0; k < p->tables[1].places; k++)
        test_fill(&p->tables[1], k, bytes, 200, 8, arrays[n + 1][k]);
    for (int k = 0; k <= n; k++)
        good = good && redist_move(layouts[k], (const void *const *)arrays[k], layouts[k + 1], arrays[k + 1], bytes) ==
                           REDIST_OK;
    for (int k = 0; k < p->tables[1].places; k++) {
        size_t size = (size_t)p->tables[1].alloc[k] * bytes;
        unsigned char *wanted = malloc(size + 1);
        test_fill(&p->tables[1], k, bytes, 100, 8, wanted);
        good = good && memcmp(wanted, arrays[n + 1][k], size) == 0;
        free(wanted);
    }
    for (int k = 0; k <= n + 1; k++)
        free_arrays(layouts[k], arrays[k]);
    return good;
}

/* Whether a layout on the way deals out an axis over as many processes as neither end does. */
static int takes_other_grid(const pair *p)
{
    int other = 0;
    for (int k = 0; k < p->n; k++)
        for (int d = 0; d < p->between[k].ndim; d++) {
            const int procs = p->between[k].dim[d].axis.procs;
            other |= procs != p->layouts[0].dim[d].axis.procs && procs != p->layouts[1].dim[d].axis.procs;
        }
    return other;
}

/* Returns how many layouts lie between. */
static int check_pair(pair *p, int number)
{
    test_random r = {(uint64_t)number};
    redist_cost cost;
    double direct, route;
    int good = 1;
    draw(p, &r);
    check_cost(p, number);
    cost = cost_of_pair(1, test_one_in(&r, 3) ? 0 : 1 / (double)test_between(&r, 1, 1000));
    p->n = redist_phases(&p->layouts[0], &p->layouts[1], &cost, MOST_BETWEEN, p->between);
    test_case(p->n >= 0 && p->n <= MOST_BETWEEN, "pair %d: %d", number, p->n);
    for (int k = 0; k < p->n; k++) {
        good = good && may_pass(p, &p->between[k]);
        for (int d = 0; d < p->between[k].ndim; d++)
            good = good && p->between[k].dim[d].axis.count == p->layouts[0].dim[d].axis.count;
    }
    test_case(good, "pair %d: the layouts between", number);
    direct = redist_cost_of(&p->layouts[0], &p->layouts[1], 1, &cost);
    route = chain_cost(&p->layouts[0], &p->layouts[1], &cost, p->n, p->between);
    test_case(p->n == 0 ? route == direct : route < direct, "pair %d: %d between cost %g, none %g", number, p->n, route,
              direct);
    if (p->n > 0)
        test_case(arrives(p, p->n, 3), "pair %d: moved through %d", number, p->n);
    return p->n;
}

/* The random pairs must have taken ways of several lengths. */
static void check_pairs(pair *p, int pairs)
{
    int lengths[MOST_BETWEEN + 1] = {0}, grids = 0;
    for (int k = 0; k < pairs; k++) {
        int n = check_pair(p, k);
        lengths[n < 0 ? 0 : n]++;
        grids += takes_other_grid(p);
    }
    test_case(grids > pairs / 100, "%d ways by other process grids", grids);
    test_case(lengths[0] > 0 && lengths[1] > pairs / 100 && lengths[2] > 0,
              "ways of no, one and two layouts: %d, %d, %d", lengths[0], lengths[1], lengths[2]);
}

/* ---- several axes: one after the other, or at once ---- */

static void check_axes(void)
{
    redist_layout between[MOST_BETWEEN], from, to;
    redist_cost cost = cost_of_pair(1, 1e-6);
    from = redist_layout_2d(redist_block(64, 4), redist_block(64, 4));
    to = redist_layout_2d(redist_cyclic(64, 4), redist_cyclic(64, 4));
    test_case(redist_cost_of(&from, &to, 1, &messages_only) == 16, "(BLOCK,BLOCK) to (CYCLIC,CYCLIC) on 4x4");
    test_case(redist_phases(&from, &to, &cost, 1, between) == 1 &&
                  redist_cost_of(&from, &between[0], 1, &messages_only) == 4 &&
                  redist_cost_of(&between[0], &to, 1, &messages_only) == 4,
              "one axis after the other, or half of both at once: 4 + 4");
}

/* ---- other process grids ---- */

static redist_layout grid_of_blocks(int ndim, int64_t n, const int *procs)
{
    redist_axis axes[3];
    for (int d = 0; d < ndim; d++)
        axes[d] = redist_block(n, procs[d]);
    return redist_layout_nd(ndim, axes);
}

/* BLOCKs on two grids: rows to columns, pencils to pencils, slabs to pencils, gathering and scattering. */
static const struct {
    int ndim;
    int64_t n;
    int before[3], after[3];
    int direct, one;            /* messages of a rank: directly, and both phases together by way of one layout */
    int even;                   /* whether that spreads the elements as evenly */
} turns[] = {
    {2, 64, {4, 1}, {1, 4}, 4, 4, 1},              {2, 64, {16, 1}, {1, 16}, 16, 8, 1},
    {2, 72, {36, 1}, {1, 36}, 36, 12, 1},          {2, 128, {64, 1}, {1, 64}, 64, 16, 1},
    {2, 4096, {4096, 1}, {1, 4096}, 4096, 128, 1}, {2, 56, {7, 1}, {1, 7}, 7, 7, 1},
    {2, 121, {11, 1}, {1, 11}, 11, 8, 0},          {3, 16, {1, 4, 4}, {4, 4, 1}, 4, 4, 1},
    {3, 16, {1, 2, 8}, {8, 2, 1}, 8, 6, 1},        {3, 64, {1, 8, 8}, {8, 8, 1}, 8, 6, 1},
    {3, 64, {1, 4, 16}, {16, 4, 1}, 16, 8, 1},     {3, 64, {64, 1, 1}, {1, 8, 8}, 64, 16, 1},
    {1, 64, {64}, {1}, 64, 16, 0},                 {1, 64, {1}, {64}, 64, 16, 0},
};

/* The most messages to others that any rank really sends or receives; -1 after an error. */
static double busiest(const redist_layout *from, const redist_layout *to)
{
    redist_traffic traffic = {0};
    const int code = redist_traffic_between(from, to, &traffic);
    return code == REDIST_OK ? (double)larger(traffic.max_sends, traffic.max_receives) : -1;
}

/* A message to itself is one of the degree, and not every rank has one. */
static void check_phase(int turn, const redist_layout *from, const redist_layout *to)
{
    const double degree = redist_cost_of(from, to, 1, &messages_only), most = busiest(from, to);
    test_case(most >= degree - 1 && most <= degree, "turn %d: %g messages, degree %g", turn, most, degree);
}

/* Q ts + (N/P) te directly, (r1 + r2) ts + 2 (N/P) te by way of one layout: level where Q - r1 - r2 messages cost what
   moving the share of a rank does. */
static void check_crossover(int k, const redist_layout *from, const redist_layout *to)
{
    const int saved = turns[k].direct - turns[k].one;
    const double share = redist_cost_of(from, to, 1, &elements_only);
    const redist_cost cheap = cost_of_pair(share, saved * (1 - 1e-9)), dear = cost_of_pair(share, saved * (1 + 1e-9));
    redist_layout between[1];
    const int n = redist_phases(from, to, &cheap, 1, between);
    test_case(n == (saved > 0) && close_to(chain_cost(from, to, &cheap, n, between),
                                           share * (turns[k].one + (n + 1) * cheap.per_byte), 1e-9),
              "turn %d: cheap elements, %d between", k, n);
    test_case(redist_phases(from, to, &dear, 1, between) == 0, "turn %d: dear elements", k);
}

static void check_turn(int k)
{
    redist_layout between[MOST_BETWEEN], from = grid_of_blocks(turns[k].ndim, turns[k].n, turns[k].before);
    redist_layout to = grid_of_blocks(turns[k].ndim, turns[k].n, turns[k].after);
    const int n = redist_phases(&from, &to, &messages_only, 1, between);
    test_case(redist_cost_of(&from, &to, 1, &messages_only) == turns[k].direct &&
                  n == (turns[k].one < turns[k].direct) &&
                  chain_cost(&from, &to, &messages_only, n, between) == turns[k].one,
              "turn %d: %d between, %g messages", k, n, chain_cost(&from, &to, &messages_only, n, between));
    if (n == 1 && redist_places(&from) <= 64) {
        check_phase(k, &from, &between[0]);
        check_phase(k, &between[0], &to);
    }
    test_case(redist_phases(&from, &to, &elements_only, MOST_BETWEEN, between) == 0, "turn %d: messages for nothing",
              k);
    if (turns[k].even)
        check_crossover(k, &from, &to);
}

/* Rows to columns pass the square grid: `side` messages, perhaps one of them to oneself, in either phase. */
static void check_square(int side)
{
    const int64_t n = 2 * side * side;
    redist_layout between[1], rows = redist_layout_2d(redist_block(n, side * side), redist_whole(n)),
                              columns = redist_transposed(rows);
    double there, onwards;
    test_case(redist_phases(&rows, &columns, &messages_only, 1, between) == 1 && between[0].dim[0].axis.procs == side &&
                  between[0].dim[1].axis.procs == side,
              "rows to columns by way of %d x %d", side, side);
    there = busiest(&rows, &between[0]);
    onwards = busiest(&between[0], &columns);
    test_case(there >= side - 1 && there <= side && onwards >= side - 1 && onwards <= side,
              "%g and %g messages by way of %d x %d", there, onwards, side, side);
}

enum { GRID_RANKS = 12, GRIDS = 35 };

typedef struct {
    int64_t n, share[GRIDS];    /* n x n elements; the most on a rank */
    int procs[GRIDS][2];        /* all grids of 12 ranks or fewer */
    double degree[GRIDS][GRIDS];
} grids;

static int place_in(const grids *g, int grid, int64_t i, int64_t j)
{
    const int64_t p = g->procs[grid][0], q = g->procs[grid][1];
    return (int)(i / ((g->n + p - 1) / p) * q + j / ((g->n + q - 1) / q));
}

/* The most messages of a rank between two grids and the most elements on one, by looking at every element. */
static void count_grids(grids *g, int a, int b)
{
    int meets[2][GRID_RANKS][GRID_RANKS] = {{{0}}};
    int64_t held[GRID_RANKS] = {0};
    for (int64_t k = 0; k < g->n * g->n; k++) {
        int x = place_in(g, a, k / g->n, k % g->n), y = place_in(g, b, k / g->n, k % g->n);
        meets[0][x][y] = meets[1][y][x] = 1;
        held[x]++;
    }
    g->degree[a][b] = 0;
    for (int k = 0; k < 2 * GRID_RANKS; k++) {
        int messages = 0;
        for (int other = 0; other < GRID_RANKS; other++)
            messages += meets[k % 2][k / 2][other];
        g->degree[a][b] = messages > g->degree[a][b] ? messages : g->degree[a][b];
    }
    for (int k = 0; k < GRID_RANKS; k++)
        g->share[a] = larger(g->share[a], held[k]);
}

static double grid_road(const grids *g, int a, int b, double per_element)
{
    return g->degree[a][b] + (double)larger(g->share[a], g->share[b]) * per_element;
}

/* The cheapest way directly or by one grid of BLOCKs that is no larger than both ends and spreads the elements well. */
static double cheapest_grid(const grids *g, int from, int to, double per_element)
{
    const int places[2] = {g->procs[from][0] * g->procs[from][1], g->procs[to][0] * g->procs[to][1]};
    double best = grid_road(g, from, to, per_element);
    for (int k = 0; k < GRIDS; k++) {
        const double road = grid_road(g, from, k, per_element) + grid_road(g, k, to, per_element);
        if (g->procs[k][0] * g->procs[k][1] <= larger(places[0], places[1]) &&
            g->share[k] <= 2 * larger(g->share[from], g->share[to]) && road < best)
            best = road;
    }
    return best;
}

static void check_grids(int64_t n)
{
    static grids g;
    redist_layout between[1];
    int count = 0;
    memset(&g, 0, sizeof g);
    g.n = n;
    for (int p = 1; p <= GRID_RANKS; p++)
        for (int q = 1; p * q <= GRID_RANKS; q++, count++) {
            g.procs[count][0] = p;
            g.procs[count][1] = q;
        }
    for (int k = 0; k < GRIDS * GRIDS; k++)
        count_grids(&g, k / GRIDS, k % GRIDS);
    for (int k = 0; k < 2 * GRIDS * GRIDS; k++) {
        const int a = k / 2 / GRIDS, b = k / 2 % GRIDS;
        const redist_layout from = grid_of_blocks(2, n, g.procs[a]), to = grid_of_blocks(2, n, g.procs[b]);
        const redist_cost cost = cost_of_pair(1, k % 2 * 1e-3);
        const double found = chain_cost(&from, &to, &cost, redist_phases(&from, &to, &cost, 1, between), between);
        test_case(found <= cheapest_grid(&g, a, b, cost.per_byte) + 1e-9, "%ld x %ld, %d x %d to %d x %d: %g, not %g",
                  (long)n, (long)n, g.procs[a][0], g.procs[a][1], g.procs[b][0], g.procs[b][1], found,
                  cheapest_grid(&g, a, b, cost.per_byte));
    }
}

/* Large axes: a formula, or a bounded number of coordinates. */
static void check_large(void)
{
    redist_layout between[MOST_BETWEEN];
    redist_layout from = redist_layout_1d(redist_block(INT64_C(1) << 40, 1 << 20));
    redist_layout to = redist_layout_1d(redist_cyclic(INT64_C(1) << 40, 1 << 20));
    test_case(redist_cost_of(&from, &to, 1, &messages_only) == 1 << 20, "2^20 processes, BLOCK to CYCLIC: everybody");
    test_case(redist_phases(&from, &to, &messages_only, 1, between) == 1 &&
                  chain_cost(&from, &to, &messages_only, 1, between) == 2048,
              "2^20 processes: 1024 + 1024");
    from = redist_layout_1d(redist_block_cyclic(INT64_C(1) << 61, INT64_C(1) << 61, 3));
    to = redist_layout_1d(redist_block_cyclic(INT64_C(1) << 61, (INT64_C(1) << 60) - 1, 1 << 20));
    test_case(redist_cost_of(&from, &to, 1, &messages_only) == 3, "2^61 elements in blocks past 2^62 / processes");
    test_case(redist_phases(&from, &to, &messages_only, 3, between) >= 0, "a route for 2^61 elements");
}

/* ---- bad input, exhausted memory ---- */

static void check_bad_costs(const redist_layout *a, const redist_layout *b)
{
    const double bad[] = {-1, NAN, INFINITY};
    redist_layout between[1];
    for (int k = 0; k < 6; k++) {
        redist_cost cost = k < 3 ? cost_of_pair(bad[k], 1) : cost_of_pair(1, bad[k - 3]);
        test_case(redist_cost_of(a, b, 1, &cost) == -1, "cost_of with a bad cost, %d", k);
        test_case(redist_phases(a, b, &cost, 1, between) == -REDIST_ERR_ARGUMENT, "phases with a bad cost, %d", k);
    }
}

static void check_bad_input(void)
{
    redist_layout a = redist_layout_2d(redist_whole(3), redist_block(4, 2)), b = redist_transposed(a),
                  flat = redist_layout_1d(redist_whole(12));
    redist_layout bad = redist_layout_1d(redist_block_cyclic(8, 0, 2)), between[2];
    const int twice[2] = {1, 1};
    redist_layout doubled = redist_on_ranks(a, twice);
    test_case(redist_cost_of(&a, &b, 1, &messages_only) == -1, "cost of 3 x 4 to 4 x 3");
    test_case(redist_cost_of(NULL, &a, 1, &messages_only) == -1 && redist_cost_of(&a, NULL, 1, &messages_only) == -1,
              "cost of NULL");
    test_case(redist_cost_of(&a, &a, 1, NULL) == -1, "cost_of without a cost");
    test_case(redist_cost_of(&a, &a, 0, &messages_only) == -1, "cost of elements of 0 bytes");
    test_case(redist_cost_of(&bad, &bad, 1, &messages_only) == -1, "cost of block 0");
    test_case(redist_phases(&a, &b, &messages_only, 1, between) == -REDIST_ERR_SHAPE, "phases 3 x 4 to 4 x 3");
    test_case(redist_phases(&a, &flat, &messages_only, 1, between) == -REDIST_ERR_SHAPE, "phases 3 x 4 to 12");
    test_case(redist_phases(&bad, &bad, &messages_only, 1, between) == -REDIST_ERR_LAYOUT, "phases with block 0");
    test_case(redist_phases(&a, &doubled, &messages_only, 1, between) == -REDIST_ERR_RANK, "phases with a rank twice");
    test_case(redist_phases(NULL, &a, &messages_only, 1, between) == -REDIST_ERR_ARGUMENT, "phases from NULL");
    test_case(redist_phases(&a, &a, NULL, 1, between) == -REDIST_ERR_ARGUMENT, "phases without a cost");
    test_case(redist_phases(&a, &a, &messages_only, -1, between) == -REDIST_ERR_ARGUMENT, "phases, -1 at most");
    test_case(redist_phases(&a, &a, &messages_only, 1, NULL) == -REDIST_ERR_ARGUMENT, "phases to NULL");
    test_case(redist_phases(&a, &a, &messages_only, 0, NULL) == 0, "phases, 0 at most");
    check_bad_costs(&a, &a);
}

static void check_empty(void)
{
    redist_layout a = redist_layout_2d(redist_block(0, 3), redist_block(4, 2)),
                  b = redist_layout_2d(redist_cyclic(0, 3), redist_cyclic(4, 2));
    const redist_cost cost = {1, 1};
    redist_layout between[2];
    test_case(redist_cost_of(&a, &b, 8, &cost) == 0, "nothing costs nothing");
    test_case(redist_phases(&a, &b, &cost, 2, between) == 0, "nothing goes directly");
}

/* Every allocation in turn fails: the error, or the cost, and no block is left. */
static void check_memory(void)
{
    redist_layout a = redist_layout_2d(redist_balanced(50, 3), redist_block(70, 4)),
                  b = redist_layout_2d(redist_cyclic(50, 4), redist_cyclic(70, 3));
    redist_layout between[2];
    double cost = redist_cost_of(&a, &b, 1, &messages_only);
    int failures = 0, n, wanted = redist_phases(&a, &b, &messages_only, 2, between);
    for (int64_t k = 0;; k++) {
        until_failure = k;
        n = redist_phases(&a, &b, &messages_only, 2, between);
        if (until_failure >= 0)
            break;
        failures++;
        if (!test_case(n == -REDIST_ERR_MEMORY && live_blocks == 0, "allocation %ld of phases fails: %d, %ld left",
                       (long)k, n, (long)live_blocks))
            break;
    }
    until_failure = -1;
    test_case(wanted == n && failures > 2, "phases again after %d failures", failures);
    until_failure = 0;
    test_case(redist_cost_of(&a, &b, 1, &messages_only) == -1 && live_blocks == 0, "cost_of without memory");
    until_failure = -1;
    test_case(cost > 0 && redist_cost_of(&a, &b, 1, &messages_only) == cost, "cost_of again");
}

/* Arguments: the number of random pairs, of small cases. */
int main(int count, char **arguments)
{
    int pairs = count > 1 ? atoi(arguments[1]) : 5000, small = count > 2 ? atoi(arguments[2]) : 1500;
    pair *p = malloc(sizeof *p);
    check_degrees();
    check_splits();
    check_best_block();
    check_walker_otto();
    check_crossovers();
    for (int k = 0; k < small; k++)
        check_chains(k);
    for (int k = 0; k < small / 5; k++)
        check_formula(k);
    check_many_coordinates();
    check_pairs(p, pairs);
    check_axes();
    for (int k = 0; k < (int)(sizeof turns / sizeof *turns); k++)
        check_turn(k);
    for (int side = 4; side <= 8; side += 2)
        check_square(side);
    check_grids(12);
    check_grids(25);
    check_large();
    check_bad_input();
    check_empty();
    check_memory();
    test_case(live_blocks == 0, "%ld blocks left", (long)live_blocks);
    free(p);
    return test_report("phases");
}
