"""The Python module against numpy: layouts, plans, arenas, and every kind of mistake. MIT licence, see LICENSE.
On any number of ranks; the last line counts."""
import array
import gc
import pickle
import sys
import weakref

import numpy
from mpi4py import MPI

import redist
from redist import Arena, Axpby, Code, Layout, Plan

comm = MPI.COMM_WORLD
p, rank = comm.size, comm.rank
counts = [0, 0]
N, M = 12, 10
WHOLE = numpy.arange(1.0, N * M + 1).reshape(N, M)


def check(good, what):
    """One test: good on every rank."""
    all_good = comm.allreduce(bool(good), MPI.LAND)
    counts[not all_good] += 1
    if not good:
        print(f"rank {rank} of {p}: {what}", flush=True)


def fails(kind, sentence, call, *arguments, **keywords):
    """Whether a call raises an exception of this kind (or Error of this Code) whose sentence contains another."""
    try:
        call(*arguments, **keywords)
    except Exception as error:
        code = getattr(error, "code", type(error))
        said = f"{type(error).__name__} {code}: {error}"
        if code == kind and sentence in str(error):
            return True
        print(f"rank {rank} of {p}: raised {said}")
    return False


def indices(n, kind, procs, coord):
    """The indices of an axis that a coordinate owns: the oracle."""
    if kind in ("block", "*"):
        return numpy.arange(n)[coord * -(-n // procs):(coord + 1) * -(-n // procs)]
    if kind == "balanced":
        return numpy.array_split(numpy.arange(n), procs)[coord]
    if isinstance(kind, list):
        return numpy.arange(kind[coord], kind[coord + 1])
    size = 1 if kind == "cyclic" else int(kind[7:-1])
    return numpy.array([i for i in range(n) if i // size % procs == coord], int)


def owned(shape, grid, kinds):
    """What this rank owns of an array, as an index, or None if it holds no place: the oracle."""
    if rank >= numpy.prod(grid):
        return None
    coords = numpy.unravel_index(rank, grid)
    return numpy.ix_(*(indices(*axis) for axis in zip(shape, kinds, grid, coords)))


def part_of(whole, index):
    return numpy.empty((0,) * whole.ndim, whole.dtype) if index is None else whole[index]


def grids():
    return [(p, 1), (1, p)] + [(2, p // 2)] * (p % 2 == 0) + [(1, 1)]


def cuts(n, procs):
    return [0] + sorted((7 * k * n // procs) % (n + 1) for k in range(1, procs)) + [n]


# ---- layouts ----

def spellings():
    """Layouts of N x M by keywords, and what this rank owns of them."""
    for grid in grids():
        for kinds in (("block", "block"), ("cyclic", "balanced"), ("cyclic(3)", "cyclic(2)"),
                      (cuts(N, grid[0]), cuts(M, grid[1])), ("balanced", "block")):
            yield Layout((N, M), grid=grid, axes=list(kinds)), owned((N, M), grid, kinds), kinds


def test_moves():
    """Every layout to every other one."""
    made = list(spellings())
    for k, (source, own, _) in enumerate(made):
        destination, wanted, _ = made[(7 * k + 3) % len(made)]
        for order in "C", "F":
            a = numpy.array(part_of(WHOLE, own), order="C")
            b = numpy.array(part_of(WHOLE, wanted), order=order) * 0
            to = destination if order == "C" else Layout(destination + "; memory column-major")
            with Plan(source, to) as plan:
                plan(a, b)
            check((b == part_of(WHOLE, wanted)).all(), f"{source} to {to}")


def test_slices():
    for layout, own, kinds in spellings():
        check(layout.local_shape(rank) == part_of(WHOLE, own).shape, f"local_shape of {layout}")
        regular = all(kind[:7] != "cyclic(" for kind in kinds)
        if regular:
            check((WHOLE[layout.global_slice(rank)] == part_of(WHOLE, own)).all(), f"global_slice of {layout}")
    long = Layout((N, M), grid=(2, 1), axes="cyclic(2)")
    check(rank > 1 or fails(ValueError, "is not a slice", long.global_slice, rank), "a slice of cyclic(2)")
    several = Layout((N, M), grid=(4, 1), ranks=[0, 0, 0, 0])
    check(rank > 0 or fails(ValueError, "is not a slice", several.global_slice, rank), "a slice of four places")
    check(several.local_shape(rank) == ((N * M,) if rank == 0 else (0, 0)), "local_shape of four places")
    check(several.local_shape(numpy.int64(rank)) == several.local_shape(rank), "a rank by numpy")
    check(several.local_shape(1 << 32) == several.local_shape(-1 << 32) == (0, 0), "ranks beyond all")
    view = Layout((N, M), grid=(p, 1), axes=["cyclic", "*"])[::-1, 2:7]
    flipped = WHOLE[::-1, 2:7]
    check((flipped[view.global_slice(rank)] == flipped[(N - 1 - rank) % p::p]).all(), "a flipped slice")


def test_text():
    layout = Layout((N, M), grid=(p, 1), halo=[1, (0, 2)], order="F", from_rank=0)
    check(layout == Layout(str(layout)) and pickle.loads(pickle.dumps(layout)) == layout, "a text is its layout")
    check(comm.bcast(layout) == layout and layout.shape == (N, M), "a layout is sent")
    check(Layout("12x10: block@1, *").shape == (12, 10), "a layout by text")
    check(Layout(12, grid=3) == "12: block@3" and Layout(12, axes=[[0, 5, 12]]) == "12: cuts(0,5,12)", "one axis")
    check(Layout((4, 8), axes=["*", "cyclic(2)"], grid=[1, 2], replicas=2) == "4x8: *, cyclic(2)@2; replicas 2",
          "replicas")
    for ranks in [1, 0], (1, 0), numpy.array([1, 0]), range(1, -1, -1), "1, 0":
        check(Layout((4, 4), grid=(2, 1), ranks=ranks) == "4x4: block@2, *; ranks 1,0", f"ranks {ranks}")
    check(Layout(8, axes=[numpy.array([0, 3, 8])]) == "8: cuts(0,3,8)", "cuts as an array")
    check(layout.local_shape(rank)[1] == M + 2 and layout.zeros(rank).flags.f_contiguous, "an array with a halo")


def test_views():
    rows, columns = Layout((N, M), grid=(p, 1)), Layout((N, M), grid=(1, p), axes="cyclic")
    whole = rows.empty(rank)
    whole[...] = WHOLE[rows.global_slice(rank)]
    cases = {
        "transposed": (rows.T, Layout((M, N), grid=(1, p)), WHOLE.T),
        "flipped": (rows[::-1], columns, WHOLE[::-1]),
        "both flipped": (rows[::-1, ::-1], columns, WHOLE[::-1, ::-1]),
        "a section": (rows[2:9, 3:8], Layout((7, 5), grid=(1, p)), WHOLE[2:9, 3:8]),
        "steps": (rows[1::3, 9:0:-2], Layout((4, 5), grid=(p, 1)), WHOLE[1::3, 9:0:-2]),
        "a negative index": (rows[-5:], Layout((5, M), grid=(1, p)), WHOLE[-5:]),
        "nothing": (rows[5:5], Layout((0, M), grid=(1, p)), WHOLE[5:5]),
        "reshaped": (rows.reshape(N * M), Layout(N * M, grid=p), WHOLE.reshape(N * M)),
        "reshaped twice": (rows.reshape(N * M).reshape(1, N, M), Layout((1, N, M), grid=(1, 1, p)), WHOLE[None]),
        "transposed, then flipped": (rows.T[::-1], Layout((M, N), grid=(p, 1)), WHOLE.T[::-1]),
    }
    for what, (view, to, wanted) in cases.items():
        b = to.zeros(rank)
        with Plan(view, to) as plan:
            plan(whole, b)
        check(view.shape == wanted.shape and (b == wanted[to.global_slice(rank)]).all(), what)
    check(Layout((0, M))[::-1, 9::-9] == Layout((0, M))[:, 9::-9], "nothing, flipped")
    check(rows.reshape((N * M,)).empty(rank).shape == (rows.empty(rank).size,), "the array of a reshaped layout is flat")
    check(fails(Code.SHAPE, "so many", rows.reshape, N, M + 1), "a shape of another size")
    flat, halo = rows.reshape(N * M), Layout("8x6: block@2 halo(1), *; reshaped 8x2x3")
    for what, call in {"section": lambda: flat[::2], "flip": lambda: flat[::-1], "ghosts": halo.with_ghosts}.items():
        check(fails(Code.LAYOUT, "", call), f"a {what} of a reshaped layout")
    check(fails(Code.LAYOUT, "take views before reshaping", lambda: rows.reshape(N, 2, M // 2).T), "its transpose")
    check(rows.T.T == rows and rows[:] == rows and rows[::-1][::-1] == rows, "views that undo each other")
    check(fails(IndexError, "up to 2 slices", rows.__getitem__, (slice(1), slice(1), slice(1))), "three slices")
    check(fails(IndexError, "up to 2 slices", rows.__getitem__, 3), "an index")
    permuted = Layout("4x5x6: block@1, *, *; axes(0, 2, 1)")
    check(permuted.empty(0).shape == (4, 5, 6) and permuted.empty(0).strides == (240, 8, 40), "a permuted array")
    a = permuted.zeros(rank)
    if rank == 0:
        a[...] = numpy.arange(120.0).reshape(4, 5, 6)
    b = numpy.zeros((4, 5, 6) if rank == 0 else 0)
    with Plan(permuted, "4x5x6: *, *, *") as plan:
        plan(a, b)
    check(rank > 0 or (b == numpy.arange(120.0).reshape(4, 5, 6)).all(), "a permuted array moves")


def test_boxes():
    boxes = Layout("8x8: box, box; boxes 0:4 x 0:8, 4:8 x 0:5, 4:8 x 5:8")
    columns, whole = Layout((8, 8), grid=(1, p)), numpy.arange(64.0).reshape(8, 8)
    wanted = [numpy.s_[0:4, 0:8], numpy.s_[4:8, 0:5], numpy.s_[4:8, 5:8]] + [numpy.s_[0:0, 0:0]] * p
    if p < 3:
        return
    a, b = boxes.zeros(rank), columns.zeros(rank)
    check((whole[boxes.global_slice(rank)] == whole[wanted[rank]]).all(), "slices of boxes")
    check(a.shape == whole[wanted[rank]].shape, "arrays of boxes")
    a[...] = whole[wanted[rank]]
    with Plan(boxes, columns) as plan:
        plan(a, b)
    check((b == whole[columns.global_slice(rank)]).all(), "from boxes to columns")


def test_ghosts():
    for periodic in False, True, [True, False]:
        bricks = Layout((N, M), grid=(p, 1), axes="balanced", halo=[(2, 1), 1])
        a = bricks.zeros(rank)
        mine = bricks.global_slice(rank)
        a[2:-1, 1:-1] = WHOLE[mine]
        wrap = [periodic] * 2 if isinstance(periodic, bool) else periodic
        rows, columns = range(mine[0].start - 2, mine[0].stop + 1), range(mine[1].start - 1, mine[1].stop + 1)
        wanted = numpy.array([[WHOLE[i % N, j % M] if (wrap[0] or 0 <= i < N) and (wrap[1] or 0 <= j < M) else 0
                               for j in columns] for i in rows])
        with Plan(bricks, bricks.with_ghosts(periodic), in_place=True) as plan:
            plan(a)
        check((a == wanted).all(), f"ghosts, periodic {periodic}")
    a[:] = 0
    a[2:-1, 1:-1] = WHOLE[mine]
    wanted[:2, :1] = wanted[:2, -1:] = wanted[-1:, :1] = wanted[-1:, -1:] = 0
    with Plan(bricks, bricks.with_ghosts(periodic, corners=False), in_place=True) as plan:
        plan(a)
    check((a == wanted).all(), "ghosts without corners")
    ringless = Layout((N, M), grid=(p, 1), axes=["block", "cyclic"], halo=[1, 0])
    check(ringless.with_ghosts(True).count("periodic") == 1, "an axis without a halo has no ghosts")


# ---- elements and arrays ----

DTYPES = ("f8 f4 f2 g c8 c16 G ? i1 u1 i2 u2 i4 u4 i8 u8 >f8 >i4 M8[s] m8[us] S5 U3 V7 q l".split()
          + [[("x", "f8"), ("n", "i4")], [("c", "f4", (3,))]])


def filled(layout, dtype):
    """A rank's array, of bytes that differ; zero or one where other bytes are none of this type."""
    a = layout.zeros(rank, dtype)
    numbers = 1 + rank * 1000 + numpy.arange(a.size)
    if a.dtype.kind in "US":
        a[...] = (numbers % 100).astype(a.dtype).reshape(a.shape)
    elif a.dtype.kind == "V":
        a = numpy.frombuffer(numpy.arange(a.nbytes, dtype="u1").tobytes(), a.dtype).reshape(a.shape)
    else:
        a[...] = (numbers % (2 if a.dtype.kind == "b" else 100)).astype(a.dtype).reshape(a.shape)
    return a


def test_dtypes():
    rows, columns = Layout((N, M), grid=(p, 1)), Layout((N, M), grid=(1, p))
    for dtype in map(numpy.dtype, DTYPES):
        a, b = filled(rows, dtype), columns.zeros(rank, dtype)
        with Plan(rows, columns, dtype) as plan:
            plan(a, b)
        whole = numpy.concatenate([each.reshape(-1, M) for each in comm.allgather(a)]).astype(dtype)
        check(b.tobytes() == whole[columns.global_slice(rank)].tobytes(), f"elements of {dtype}")


def test_buffers():
    rows, columns = Layout(N * M, grid=p), Layout(N * M, grid=p, axes="cyclic")
    flat = WHOLE.ravel()
    mine, wanted = flat[rows.global_slice(rank)], flat[rank::p]
    frozen = mine.copy()
    frozen.flags.writeable = False
    sources = {"a numpy array": mine, "bytes": mine.tobytes(), "a bytearray": bytearray(mine.tobytes()),
               "a memoryview": memoryview(mine), "an array.array": array.array("d", mine), "a read-only array": frozen,
               "a longer array": numpy.append(mine, 0), "bytes as an array": mine.view("u1"),
               "an unaligned array": numpy.frombuffer(b"x" + mine.tobytes(), "u1")[1:].view("f8")}
    with Plan(rows, columns) as plan:
        for what, source in sources.items():
            for destination in numpy.zeros(wanted.size), bytearray(wanted.nbytes), array.array("d", wanted * 0):
                plan(source, destination)
                check((numpy.frombuffer(destination) == wanted).all(), f"from {what} to {type(destination)}")
        grown = bytearray(wanted.nbytes)
        plan.start(mine, grown)
        check(fails(Code.BUSY, "started", plan.start, mine, bytearray(wanted.nbytes)), "started with another buffer")
        check(fails(BufferError, "", grown.append, 1), "a buffer stays in place while the plan writes to it")
        plan.wait()
        grown.append(1)
        plan(mine, grown)
        check((numpy.frombuffer(grown[:-1]) == wanted).all(), "a buffer is let go")


def test_nothing():
    """Ranks that own nothing pass None or an empty array."""
    one, other = Layout((N, M)), Layout((N, M), from_rank=p - 1)
    for nothing in None, numpy.empty(0), numpy.empty((0, 3)), bytearray():
        b = numpy.zeros((N, M)) if rank == p - 1 else nothing
        with Plan(one, other) as plan:
            plan(WHOLE if rank == 0 else nothing, b)
        check(rank < p - 1 or (b == WHOLE).all(), "ranks that own nothing")


# ---- plans ----

def rows_to_columns(whole=WHOLE):
    """Two layouts, this rank's arrays, and what the second one shall hold."""
    rows, columns = Layout(whole.shape, grid=(p, 1)), Layout(whole.shape, grid=(1, p))
    return rows, columns, whole[rows.global_slice(rank)].copy(), columns.zeros(rank), whole[columns.global_slice(rank)]


def equal_parts():
    """The same, where both arrays of a rank are of the same size."""
    return rows_to_columns(numpy.arange(p * p * 6.0).reshape(p * 2, p * 3))


def test_started():
    rows, columns, a, b, wanted = rows_to_columns()
    with Plan(rows, columns) as plan, Plan(columns, rows) as back:
        plan.start(a, b)
        check(fails(Code.BUSY, "call redist_wait", plan.start, a, b), "started twice")
        check(fails(Code.BUSY, "call redist_wait", plan, a, b), "executed while started")
        check(fails(Code.BUSY, "call redist_wait", plan.free), "freed while started")
        plan.wait()
        check((b == wanted).all(), "start and wait")
        check(fails(Code.BUSY, "nothing is started", plan.wait), "waited twice")
        check(fails(Code.BUSY, "nothing is started", plan.test), "tested when nothing is started")
        a[...] = 0
        back.start(b, a)
        while not back.test():
            pass
        check((a == WHOLE[rows.global_slice(rank)]).all(), "start and test")
    check(fails(Code.ARGUMENT, "the plan is freed", plan, a, b), "a plan that was freed")
    check(plan.free() is None, "a plan freed twice")


def test_several():
    rows, columns, a, b, wanted = rows_to_columns()
    c, d = columns.zeros(rank), columns.zeros(rank)
    with Plan(rows, columns, arrays=2) as plan:
        plan([a, 2 * a], (c, d))
        check((c == wanted).all() and (d == 2 * wanted).all(), "two arrays")
        check(fails(ValueError, "1 entries, must have 2", plan, [a], [c, d]), "one array for two")
        check(fails(ValueError, "3 entries, must have 2", plan, [a, a, a], [c, d]), "three arrays for two")


def test_parts():
    rows, columns, a, b, wanted = rows_to_columns()
    cells, faces = Layout(24, grid=p, axes="balanced"), Layout(25, grid=p, axes="cyclic")
    other = Layout(25, grid=p)
    u, v = numpy.arange(25, dtype="i4")[faces.global_slice(rank)].copy(), other.zeros(rank, "i4")
    with Plan([rows, faces], [columns, other], ["f8", "i4"]) as plan:
        plan([a, u], [b, v])
    check((b == wanted).all() and (v == numpy.arange(25)[other.global_slice(rank)]).all(), "two parts, two types")
    bricks = [Layout(24, grid=p, axes="balanced", halo=1), Layout((24, 4), grid=(p, 1), axes="balanced", halo=[2, 0])]
    x, y = bricks[0].zeros(rank), bricks[1].zeros(rank)
    mine = cells.global_slice(rank)[0]
    x[1:-1] = numpy.arange(24)[mine]
    y[2:-2] = numpy.arange(24)[mine][:, None] * [1, 2, 3, 4]
    with Plan(bricks, [each.with_ghosts(True) for each in bricks], in_place=True) as plan:
        plan([x, y])
    check((x == numpy.arange(mine.start - 1, mine.stop + 1) % 24).all(), "ghosts of the first part")
    check((y == (numpy.arange(mine.start - 2, mine.stop + 2) % 24)[:, None] * [1, 2, 3, 4]).all(), "and of the second")
    check(fails(ValueError, "must have 2", Plan, [rows, faces], [columns]), "parts without a destination")


def test_combine():
    bricks = Layout(24, grid=p, axes="balanced", halo=1)
    mine = Layout(24, grid=p, axes="balanced").global_slice(rank)[0]
    for combine in "sum", MPI.SUM:
        a = numpy.ones(mine.stop - mine.start + 2)
        with Plan(bricks.with_ghosts(True), bricks, in_place=True, combine=combine) as plan:
            plan(a)
        starts = {int(each[0]) for each in numpy.array_split(numpy.arange(24), p)}
        wanted = [1 + (i in starts) + ((i + 1) % 24 in starts) for i in range(mine.start, mine.stop)]
        check((a[1:-1] == wanted).all(), f"ghost cells added, {combine}")
    rows, columns, a, b, wanted = rows_to_columns()
    for dtype in "f4", "f8", "c8", "c16":
        factors = Axpby(alpha=(2, 0), beta=(3, 0))
        x, y = a.astype(dtype), columns.zeros(rank, dtype)
        y[...] = wanted * 10
        x = x * (1 + 2j) if dtype[0] == "c" else x
        with Plan(rows, columns, dtype, combine=factors) as plan:
            plan(x, y)
            unit = 1 + 2j if dtype[0] == "c" else 1
            check((y == 30 * wanted + 2 * unit * wanted).all(), f"axpby of {dtype}")
            factors.alpha[0], factors.beta[0], factors.conjugate = -1, 0, 1
            plan(x, y)
            check((y == -numpy.conj(unit) * wanted).all(), f"axpby of {dtype}, changed")
    factors, x, y = Axpby(alpha=(2, 0), beta=(1, 0)), rows.zeros(rank, "c8") + 1, rows.zeros(rank) + 1
    with Plan([rows, rows], [rows, rows], ["c8", "f8"], combine=factors) as plan:
        with Plan(rows, rows, "f4", combine=factors):
            plan([x, y], [x + 0, z := y + 0])
        check((z == 3).all(), "axpby of several types with the same factors")
    with Plan(rows, columns, "i4", combine="min") as plan:
        y = columns.zeros(rank, "i4") + 50
        plan(a.astype("i4"), y)
        check((y == numpy.minimum(wanted, 50)).all(), "min of int")
    own = MPI.Op.Create(lambda x, y, _: numpy.frombuffer(y, "f8").__iadd__(10 * numpy.frombuffer(x, "f8")))
    b[...] = 1
    with Plan(rows, columns, combine=own) as plan:
        plan(a, b)
    check((b == 1 + 10 * wanted).all(), "an operation of the program's own")
    own.Free()
    check(fails(AttributeError, "SOME", Plan, rows, columns, combine="some"), "an operation that MPI has not")
    check(fails(Code.TYPE, "does not combine", Plan, rows, columns, "S5", combine="sum"), "a sum of strings")
    check(fails(Code.TYPE, "does not combine", Plan, rows, columns, "c16", combine="max"), "the largest complex number")
    check(fails(Code.TYPE, "single or double precision", Plan, rows, columns, "i4", combine=Axpby()), "axpby of int")
    check(fails(Code.TYPE, "single or double precision", Plan, rows, columns, ">f8", combine=Axpby()), "axpby, swapped")


def test_options():
    rows, columns, a, b, wanted = rows_to_columns()
    for method in redist.Method:
        b[...] = 0
        with Plan(rows, columns, method=method, executions=3, max_buffer=100000) as plan:
            plan(a, b)
        check((b == wanted).all(), f"{method!r}")
    with Plan(rows, columns, effort=redist.Effort.MEASURE, timed=True, per_message=1e-6, per_byte=1e-9) as plan:
        plan(a, b)
        check((b == wanted).all(), "measured")
    with Plan(rows, columns, fixed_from=a.ctypes.data, fixed_to=b.ctypes.data) as plan:
        b[...] = 0
        plan(a, b)
        check((b == wanted).all(), "fixed arrays")
        check(fails(Code.BUFFER, "is not the array", plan, a.copy(), b), "another array than the fixed one")
    check(fails(TypeError, "no options of a plan: speed", Plan, rows, columns, speed=3), "an option that there is not")
    check(fails(ValueError, "out of range", Plan, rows, columns, arrays=2**40), "2^40 arrays")
    check(fails(ValueError, "out of range", Plan, rows, columns, max_buffer=-1), "max_buffer -1")
    check(fails(TypeError, "", Plan, rows, columns, arrays="two"), "an option that is no number")
    check(fails(Code.ARGUMENT, "node_ranks", Plan, rows, columns, node_ranks=-1), "node_ranks -1")


def test_communicators():
    half = comm.Split(rank % 2, rank)
    rows, columns = Layout((N, M), grid=(half.size, 1)), Layout((N, M), grid=(1, half.size))
    a, b = WHOLE[rows.global_slice(half.rank)].copy(), columns.zeros(half.rank)
    with Plan(rows, columns, comm=half) as plan:
        plan(a, b)
    check((b == WHOLE[columns.global_slice(half.rank)]).all(), "a half of the ranks")
    half.Free()
    check(fails(MPI.Exception, "", Plan, rows, columns, comm=MPI.COMM_NULL), "no communicator")
    check(fails(TypeError, "", Plan, rows, columns, comm="world"), "a word for a communicator")


def test_arenas():
    rows, columns, a, b, wanted = rows_to_columns()
    with Arena(1 << 20) as arena:
        x, y = rows.empty(rank, arena=arena), columns.zeros(rank, arena=arena)
        x[...] = a
        with Plan(rows, columns, arena=arena) as plan:
            for k in range(3):
                x *= 2
                plan(x, y)
                comm.Barrier()
                check((y == 2 ** (k + 1) * wanted).all(), "arrays of an arena")
        check(fails(Code.MEMORY, "no 8000000 bytes left", arena.empty, 1000000), "an arena that is full")
        z = arena.empty((2, 3), "c8")
        z[...] = 1j
        check(z.shape == (2, 3) and z.dtype == "c8" and not (y == 1j).any(), "an array of an arena")
        with Plan(rows, columns, arena=arena) as plan:
            check(fails(Code.ARGUMENT, "NULL", plan, x, None), "no destination")
        del x, y, z
    if rank == p - 1:
        kept = None
    arena = Arena(1 << 16)
    plan = Plan(rows, columns, arena=arena)
    if rank == p - 1:
        kept = arena.empty(10)[2:4]
    check(fails(Code.BUSY, "1 arrays are still in use", arena.free), "an arena whose array one rank uses")
    if rank == p - 1:
        kept[...] = 1
        del kept
    arena.free()
    check(fails(Code.ARGUMENT, "the plan is freed", plan, a, b), "an arena frees its plans")
    check(fails(ValueError, "the arena is freed", Plan, rows, columns, arena=arena), "a plan of an arena that is freed")
    check(fails(Code.MEMORY, "1152921504606846976 bytes", Arena, 1 << 60), "an arena of 2^60 bytes")


def test_dropped():
    rows, columns, a, b, _ = rows_to_columns()
    plan = Plan(rows, columns)
    written = weakref.ref(b)
    plan.start(a, b)
    del plan, a, b
    gc.collect()
    check(written() is not None, "a started plan keeps its arrays")
    for plan in list(redist._started):
        plan.wait()
        plan.free()
    check(written() is None and not redist._started, "a complete one does not")


# ---- mistakes ----

def test_bad_layouts():
    for code, sentence, described in (
            (Code.LAYOUT, "column", dict(shape="100x80: blok@4, *")),
            (Code.LAYOUT, "in '100x80: blok@4, *'", dict(shape="100x80: blok@4, *")),
            (Code.LAYOUT, "axis 0: ", dict(shape=(8, 8), grid=(0, 1))),
            (Code.LAYOUT, "column", dict(shape=(8, 8), axes="blok")),
            (Code.LAYOUT, "", dict(shape=(8, 8), axes=["*", "block"], grid=(2, 1))),
            (Code.LAYOUT, "", dict(shape=(8, -1))),
            (Code.LAYOUT, "", dict(shape=8, axes=[[0, 9, 8]])),
            (Code.LAYOUT, "", dict(shape=8, axes=[[0, 4, 8]], grid=3)),
            (Code.LAYOUT, "", dict(shape=8, halo="one")),
            (Code.LAYOUT, "", dict(shape=(8, 8), order="D")),
            (Code.LAYOUT, "", dict(shape=8, grid=2, ranks=[0, 1, 2])),
            (Code.LAYOUT, "", dict(shape=8, grid=2, colour=3)),
            (Code.LAYOUT, "", dict(shape="8: *", grid=2)),
            (ValueError, "3 entries, must have 2", dict(shape=(8, 8), grid=(2, 2, 1))),
            (ValueError, "1 entries, must have 2", dict(shape=(8, 8), axes=["block"]))):
        check(fails(code, sentence, Layout, **described), f"{described}")
    check(fails(Code.LAYOUT, "", Layout(8, grid=2, axes="cyclic", halo=1).with_ghosts), "ghosts of a cyclic axis")
    check(fails(ValueError, "must have 2", Layout((8, 8), halo=1).with_ghosts, [True]), "one edge for two axes")


def test_bad_plans():
    rows, columns = Layout((N, M), grid=(p, 1)), Layout((N, M), grid=(1, p))
    check(fails(Code.SHAPE, "", Plan, rows, columns.T), "views that differ in shape")
    check(fails(Code.RANK, "but the communicator has", Plan, rows, Layout((N, M), grid=(p + 1, 1))), "too few ranks")
    check(fails(TypeError, "", Plan, rows, columns, "no type"), "a type that numpy has not")
    check(fails(Code.TYPE, "cannot be sent", Plan, rows, columns, object), "objects")
    check(fails(Code.TYPE, "cannot be sent", Plan, rows, columns, "V0"), "elements of no bytes")
    check(fails(Code.LAYOUT, "None", Plan, rows, None), "no layout")
    for bad in range(p) if p > 1 else ():  # the mistake of one rank
        mine = rank == bad
        check(fails(Code.MISMATCH, "", Plan, rows, Layout((N, M)) if mine else columns), f"the layout of rank {bad}")
        check(fails(TypeError if mine else Code.ARGUMENT, "" if mine else f"rank {bad}: the number of parts", Plan,
                    rows, columns, "no type" if mine else float), f"no type on rank {bad}")
        check(fails(Code.TYPE if mine else Code.ARGUMENT, "cannot be sent" if mine else f"rank {bad}: ", Plan,
                    rows, columns, object if mine else float), f"objects on rank {bad}")
    _, _, a, b, wanted = rows_to_columns()
    with Plan(rows, columns) as plan:
        plan(a, b)
        check((b == wanted).all(), "a plan after those mistakes")


def bad_arrays(a, b):
    """Mistakes in the arrays of an execution: what is raised, what it says, and the arrays."""
    frozen = b.copy()
    frozen.flags.writeable = False
    gaps = numpy.zeros((3, 2 * a.size - 1))
    return {
        "a list": (TypeError, "bytes-like", [a.tolist()], b), "a number": (TypeError, "", 5, b),
        "a short source": (ValueError, "source 0 is", a[:-1], b),
        "a short destination": (ValueError, "destination 0 is", a, b.ravel()[:-1]),
        "another type": (ValueError, "bytes of float64", a.astype("f4").repeat(2, 0), b),
        "integers": (ValueError, "bytes of int64", a.astype("i8"), b),
        "a strided source": (ValueError, "contiguous", numpy.zeros(2 * a.size)[::2], b),
        "a flipped destination": (ValueError, "contiguous", a, numpy.zeros(b.size)[::-1]),
        "a flipped source with gaps": (ValueError, "contiguous", gaps[:, a.size - 1::-1], b),
        "a broadcast source": (ValueError, "contiguous", numpy.broadcast_to(a.ravel()[:1], a.shape), b),
        "a source in another order": (ValueError, "in the order of its layout", a.copy("F" if a.flags.carray else "C"), b),
        "a read-only destination": (ValueError, "and writable", a, frozen),
        "bytes to write to": (ValueError, "and writable", a, b.tobytes()),
        "None as source": (Code.ARGUMENT, "source 0 is NULL", None, b),
        "None as destination": (Code.ARGUMENT, "destination 0 is NULL", a, None),
        "the same array": (Code.ALIAS, "overlap", a, a), "no destination": (Code.ALIAS, "overlap", a, ...)}


def test_square_in_place():
    """Of square arrays in place, which lie in the order of one of both layouts, that of the other is no mistake."""
    rows = Layout((6 * p, 6 * p), grid=(p, 1))
    with Plan(rows, rows.T, in_place=True) as plan:
        whole = numpy.arange(36.0 * p * p).reshape(6 * p, 6 * p)
        for a in whole[rows.global_slice(rank)].copy(), whole[rows.global_slice(rank)].flatten():
            plan(a)
            check((a.ravel() == whole.T[rows.global_slice(rank)].ravel()).all(), "a transposition in place")
            plan(a, a)
            check((a.ravel() == whole[rows.global_slice(rank)].ravel()).all(), "twice in place")


def test_bad_arrays():
    """Every rank makes the mistake: each gets the sentence, and the plan can be used."""
    rows, columns, a, b, wanted = equal_parts()
    with Plan(rows, columns) as plan:
        for what, (kind, sentence, source, destination) in bad_arrays(a, b).items():
            for call in plan, plan.start:
                check(fails(kind, sentence, call, source, destination), what)
            b[...] = 0
            plan(a, b)
            check((b == wanted).all(), f"the plan after: {what}")


def test_checked():
    """With the option checked, the mistake of one rank is an exception on all."""
    rows, columns, a, b, wanted = equal_parts()
    with Plan(rows, columns, checked=True) as plan:
        for bad in range(p):
            for what, (kind, sentence, source, destination) in bad_arrays(a, b).items():
                mine = rank == bad
                code = kind if mine or isinstance(kind, Code) else Code.ARGUMENT
                arrays = (source, destination) if mine else (a, b)
                check(fails(code, sentence if mine else f"rank {bad}: ", plan, *arrays), f"{what} on rank {bad}")
            b[...] = 0
            plan(a, b)
            check((b == wanted).all(), f"checked, after mistakes of rank {bad}")


def test_wire():
    """Doubles and complex numbers travel as floats, and are rounded once; other types are refused."""
    for dtype, single in ("f8", "f4"), ("c16", "c8"):
        rows, columns, a, b, wanted = rows_to_columns(WHOLE.astype(dtype) / 3)
        with Plan(rows, columns, dtype, wire=redist.Wire.FLOAT) as plan:
            plan(a, b := columns.zeros(rank, dtype))
        check((b == wanted.astype(single)).all() and (b != wanted).any(), f"{dtype} as floats")
    check(fails(Code.TYPE, "for double", Plan, rows, columns, "i4", wire=redist.Wire.FLOAT), "integers")


def test_exceptions():
    """A `with` block that an exception leaves frees nothing, as other ranks may have none."""
    rows, columns, a, b, wanted = rows_to_columns()
    try:
        with Plan(rows, columns) as plan:
            raise KeyError("left")
    except KeyError:
        plan(a, b)
    check((b == wanted).all(), "a plan is not freed by an exception")
    plan.free()
    error = redist.Error("a sentence")
    error.code = Code.TYPE
    again = pickle.loads(pickle.dumps(error))
    check(str(again) == "a sentence" and again.code == Code.TYPE, "an error is sent")
    header = open(sys.argv[1]).read()
    names = [line.split("REDIST_ERR_")[1].split(",")[0] for line in header.splitlines() if "X(REDIST_ERR_" in line]
    check(names == [code.name for code in Code][1:], "the names of errors")


for name, test in list(globals().items()):
    if name.startswith("test_") and (len(sys.argv) < 3 or name[5:] in sys.argv[2:]):
        test()
if rank == 0:
    print(f"python: {counts[0]} passed, {counts[1]} failed, 0 skipped", flush=True)
sys.exit(counts[1] > 0)
