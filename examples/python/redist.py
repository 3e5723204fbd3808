"""redist for Python: moves distributed arrays from one layout to another, with numpy and mpi4py.

    rows = redist.Layout((1000, 800), grid=(p, 1))  # or redist.Layout("1000x800: block@4, *")
    columns = redist.Layout((1000, 800), grid=(1, p))
    a, b = rows.zeros(rank), columns.zeros(rank)
    with redist.Plan(rows, columns) as plan:
        plan(a, b)  # as often as needed

redist.h and redist_plan.h say what layouts, plans, arenas and options are. The library, redist_python.so, lies beside
this file, where `make python` puts it, or where $REDIST_LIBRARY says. MIT licence, see LICENSE.
"""
import contextlib
import operator
import os
import weakref
from ctypes import (CDLL, Structure, addressof, byref, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_void_p,
                    create_string_buffer, sizeof)
from enum import IntEnum
import numpy
from mpi4py import MPI

Code = IntEnum("Code", "OK ARGUMENT LAYOUT SHAPE RANK OVERFLOW TYPE MISMATCH MEMORY ALIAS BUSY BUFFER MPI", start=0)
Method = IntEnum("Method", "AUTO ALLTOALLV ALLTOALLW POINT_TO_POINT SCHEDULED SHARED MULTIPHASE NODES", start=0)
Effort = IntEnum("Effort", "ESTIMATE MEASURE", start=0)
Wire = IntEnum("Wire", "EXACT FLOAT", start=0)

class Error(Exception):
    """What the library refuses or cannot do, as a sentence; code: a Code."""

def _check(code, sentence):
    if code != Code.OK:
        error = Error(sentence)
        error.code = Code(code)
        try:
            raise error
        finally:
            del error  # and the cycle with its traceback, which would keep the callers' arrays

def _handle(of):
    return _Handle.from_address(MPI._addressof(of))

def _struct(*fields):
    members = [(name, kind) for kind, names in fields for name in names.split()]
    return type("_Struct", (Structure,), {"_fields_": members, "__slots__": ()})

_lib = CDLL(os.environ.get("REDIST_LIBRARY") or os.path.join(os.path.dirname(__file__), "redist_python.so"))
_lib.redist_arena_alloc.restype, _lib.redist_plan_message.restype = c_void_p, c_char_p
_Handle = c_int if MPI._sizeof(MPI.Comm) == sizeof(c_int) else c_void_p
_Local = _struct((c_int64 * 8, "extent first end step stored at"), (c_int64, "ndim stored_ndim size"))
_Part = _struct((c_char_p, "source destination"), (_Handle, "type"), (c_int, "bytes"), (c_void_p, "op axpby"),
                (_Handle * 2, "context"))
_Options = _struct((c_int, "method effort arrays"), (c_size_t, "max_buffer"), (c_int, "in_place"),
                   (c_void_p, "arena fixed_from fixed_to"), (c_int, "executions node_ranks timed checked wire"),
                   (c_void_p, "combine context"), (c_double, "per_message per_byte"), (c_void_p, "message"),
                   (c_size_t, "message_size"))
Axpby = _struct((c_int, "_type"), (c_double * 2, "alpha beta"), (c_int, "conjugate"))  # of complex numbers as pairs
if not _lib.redist_python_fits(_handle(MPI.COMM_WORLD), *map(c_size_t, map(sizeof, (_Local, _Part, Axpby, _Options)))):
    raise ImportError(f"{_lib._name} is of another version, or of another MPI than mpi4py's {MPI.get_vendor()[0]}")

def _each(values, n):
    """One value for each of n axes, parts or arrays: a list has them; anything else is for all."""
    values = values if isinstance(values, (list, tuple)) else [values] * n
    if len(values) != n:
        raise ValueError(f"{values} has {len(values)} entries, must have {n}")
    return values

def _listed(values):
    return ", ".join(map(str, values if numpy.iterable(values) and not isinstance(values, str) else [values]))

def _text(shape, grid=1, axes="block", halo=0, order="C", **clauses):
    """The library's text of a layout: what is wrong with it, the library says."""
    shape, words = shape if isinstance(shape, (list, tuple)) else [shape], []
    for axis, procs, cells in zip(*(_each(values, len(shape)) for values in (axes, grid, halo))):
        if not isinstance(axis, str):
            axis, procs = f"cuts({_listed(axis)})", 1 if procs == len(axis) - 1 else procs
        words.append(axis + f"@{procs}" * (procs != 1 or axis[:4] not in ("*", "cuts")) + f" halo({_listed(cells)})")
    clauses["memory"] = {"C": "row-major", "F": "column-major"}.get(order, order)
    return "x".join(map(str, shape)) + ": " + ", ".join(words) + "".join(
        f"; {name.replace('_', ' ')} {_listed(value)}" for name, value in clauses.items())

class Layout(str):
    """Which elements of an array each rank owns, and where they lie in its memory: Layout(text), or Layout(shape) with
    grid    processes along each axis
    axes    "block", "cyclic", "cyclic(8)", "balanced", "*", or cuts such as [0, 300, 1000]
    halo    ghost cells along each axis: 1, or [1, (0, 2)], where those below and above differ
    order   of the memory, "C" or "F"
    and clauses of the text, such as from_rank=3, ranks=[2, 0, 1], replicas=2. Of grid, axes and halo, a list or
    tuple has an entry for each axis; another value is for all. A layout is its text."""
    def __new__(cls, shape, *view, **described):
        text = _text(shape, **described) if described or not isinstance(shape, str) else shape
        result = create_string_buffer(2 * len(text) + 1000)
        code = _lib.redist_python_layout(text.encode(), *map(c_int64, view or [0] * 5), result, c_size_t(len(result)))
        _check(code, result.value.decode() + f", in '{text}'")
        return super().__new__(cls, result.value.decode())

    def _local(self, rank):
        local, rank = _Local(), max(-1, min(operator.index(rank), 2 ** 31 - 1))
        _check(_lib.redist_python_local_of(self.encode(), rank, byref(local)), "no memory for a layout")
        return local

    shape = property(lambda self: tuple(self._local(0).extent[:self._local(0).ndim]))
    T = property(lambda self: Layout(self, 1, 0, 0, 0, 0), doc="All axes reversed.")

    def __getitem__(self, slices):
        """A section; slices with negative steps flip axes: layout[2:10, ::-1]."""
        view, slices = self, slices if isinstance(slices, tuple) else (slices,)
        if len(slices) > len(self.shape) or not all(isinstance(each, slice) for each in slices):
            raise IndexError(f"a section takes up to {len(self.shape)} slices, not {slices}")
        for axis, each in enumerate(slices):
            at = range(self.shape[axis])[each]
            view = Layout(view, 2, axis, at.start if at else 0, len(at), at.step)
        return view

    def reshape(self, *shape):
        """As numpy.reshape in order C, where the lengths divide each other. The rank's array stays as it is; it is
        made flat."""
        shape = shape[0] if len(shape) == 1 and numpy.iterable(shape[0]) else shape
        return Layout(self.split("; reshaped ")[0] + "; reshaped " + "x".join(map(str, shape)))

    def with_ghosts(self, periodic=False, corners=True):
        """With ghost cells that hold elements. periodic: they wrap around the ends; a list for the axes.
        corners: also ghost cells beyond several axes do."""
        view = self
        for axis, wraps in enumerate(_each(periodic, len(self.shape))):
            view = Layout(view, 3, axis, bool(wraps), 0, 0)
        return view if corners else Layout(view, 4, 0, 0, 0, 0)

    def local_shape(self, rank):
        """Of the rank's array, by axis of the view, halo included; flat if the rank holds several places."""
        return self.empty(rank, "V0").shape

    def empty(self, rank, dtype=float, arena=numpy):
        """The rank's array, in numpy's memory or in an arena."""
        local = self._local(rank)
        return arena.empty(local.stored[:local.stored_ndim], dtype).transpose(local.at[:local.stored_ndim])

    def _stored(self, rank):
        """local_shape, and its axes from the slowest to the fastest in memory; None: they are in this order."""
        local = self._local(rank)
        axes = sorted(range(local.stored_ndim), key=local.at.__getitem__)
        return self.local_shape(rank), axes if axes != sorted(axes) else None

    def zeros(self, rank, dtype=float, arena=numpy):
        array = self.empty(rank, dtype, arena)
        array[...] = numpy.zeros((), dtype)
        return array

    def global_slice(self, rank):
        """What the rank owns of the whole array, as an index of it: a tuple of slices."""
        local = self._local(rank)
        if 0 in local.step[:local.ndim]:
            raise ValueError(f"what rank {rank} owns is not a slice of every axis")
        return tuple(map(slice, local.first, local.end, local.step))[:local.ndim]

class _Collective(contextlib.AbstractContextManager):
    """All ranks free it together, so a `with` block that a rank leaves by an exception does not."""
    def __exit__(self, kind, *_):
        if kind is None:
            self.free()

class Arena(_Collective):
    """Shared memory for arrays and plans: nbytes of this rank."""
    def __init__(self, nbytes, comm=MPI.COMM_WORLD):
        self._arena, self._comm, self._plans, self._blocks = c_void_p(), comm, [], weakref.WeakValueDictionary()
        _check(_lib.redist_arena_create(_handle(comm), c_size_t(nbytes), byref(self._arena)), f"no {nbytes} bytes")

    def empty(self, shape, dtype=float):
        size = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
        memory = _lib.redist_arena_alloc(self._arena, c_size_t(size))
        _check(Code.OK if memory else Code.MEMORY, f"the arena has no {size} bytes left")
        block = self._blocks[memory] = (c_char * size).from_address(memory)
        return numpy.ndarray(shape, dtype, block)

    def free(self):
        """Frees its plans, then itself; refused on all ranks while one of them has an array of it."""
        for plan in self._plans:
            plan.free()
        used = self._comm.allreduce(len(self._blocks))
        _check(Code.BUSY if used else _lib.redist_arena_free(byref(self._arena)), f"{used} arrays are still in use")

def _part(source, destination, dtype, combine):
    known = MPI._typedict.get(dtype.char, MPI.DATATYPE_NULL) if dtype.isnative else MPI.DATATYPE_NULL
    combine = getattr(MPI, combine.upper()) if isinstance(combine, str) else combine
    axpby = addressof(combine) if isinstance(combine, Axpby) else None
    return _Part(source.encode(), destination.encode(), _handle(known), 0 if dtype.hasobject else dtype.itemsize,
                 None if axpby or combine is None else MPI._addressof(combine), axpby)

_started = set()  # plans that MPI may write to the arrays of, even if their users drop them

class Plan(_Collective):
    """An exchange, planned once: plan(a, b), or plan.start(a, b) and plan.wait(); plan(a) in place.
    Lists of layouts are parts: arrays of different layouts, and types if dtype is a list. Then, and with arrays=n,
    executions take lists of arrays. A rank that owns nothing passes None. combine: an MPI.Op, its name, or an Axpby.
    Options by name are those of redist_options."""
    def __init__(self, source, destination, dtype=float, comm=MPI.COMM_WORLD, combine=None, arena=None, **options):
        self._plan, self._kept, self._combine, self._factors = c_void_p(), None, combine, []
        chosen, parts, message = _Options(), (_Part * 0)(), create_string_buffer(400)
        try:
            if arena and not arena._arena:
                raise ValueError("the arena is freed")
            if unknown := options.keys() - dict(_Options._fields_):
                raise TypeError(f"no options of a plan: {', '.join(sorted(unknown))}")
            chosen = _Options(arena=arena and arena._arena, message=addressof(message), message_size=400, **options)
            if any(getattr(chosen, name) != value for name, value in options.items()):
                raise ValueError(f"an option is out of range: {options}")
            n = len(source) if isinstance(source, (list, tuple)) else 1
            sources, destinations = (list(map(Layout, _each(each, n))) for each in (source, destination))
            dtypes = list(map(numpy.dtype, _each(dtype, n)))
            given = _each(combine, n)
            own = [Axpby() if isinstance(each, Axpby) else each for each in given]
            self._factors = [pair for pair in zip(own, given) if isinstance(pair[0], Axpby)]
            parts = (_Part * n)(*map(_part, sources, destinations, dtypes, own))
            self._uses = [(f"{name} {k}", size := layout._local(comm.rank).size * kind.itemsize, kind,
                           name == "destination", size > 0 and kind.char in MPI._typedict, *layout._stored(comm.rank))
                          for name, side in (("source", sources), ("destination", destinations))
                          for k, (layout, kind) in enumerate(list(zip(side, dtypes)) * max(1, chosen.arrays))]
        finally:  # a rank that fails here reports it to the others
            code = _lib.redist_python_plan(_handle(comm), len(parts), parts, byref(chosen), byref(self._plan))
        _check(code, message.value.decode())
        self._parts, self._pointers, self._checked = parts, (c_void_p * len(self._uses))(), chosen.checked
        self._targets = byref(self._pointers, sizeof(self._pointers) // 2)
        if arena:
            arena._plans = [plan for plan in arena._plans if plan._plan] + [self]

    def _take(self, arrays):
        """Notes where the arrays' memory begins, and keeps them."""
        for k, (array, (name, size, dtype, writes, quick, shape, axes)) in enumerate(zip(arrays, self._uses)):
            if array is None:
                self._pointers[k] = None
                continue
            if not isinstance(array, numpy.ndarray):
                array = arrays[k] = numpy.asarray(memoryview(array))
            flags, in_place = array.flags, array is arrays[k - len(arrays) // 2]
            if array.shape == shape and not in_place:
                dense = array.transpose(axes).flags.c_contiguous if axes else flags.c_contiguous
            else:
                dense = flags.forc or array.transpose(numpy.argsort(array.strides)[::-1]).flags.c_contiguous
            if not dense or array.nbytes < size or array.dtype not in (dtype, numpy.uint8) or writes > flags.writeable:
                raise ValueError(f"{name} is {array.nbytes} bytes of {array.dtype}, must be {size} bytes of {dtype}, "
                                 f"contiguous{' in the order of its layout' * (array.shape == shape and not in_place)}"
                                 f"{' and writable' * writes}")
            self._pointers[k] = addressof(c_char.from_buffer(array)) if quick and flags.carray else array.ctypes.data
        self._kept = arrays

    def _run(self, call, source, destination):
        n = len(self._uses) // 2
        try:
            if self._kept is None:
                self._take([*_each(source, n), *_each(source if destination is ... else destination, n)])
        except Exception:
            if self._checked:  # the other ranks report it, too
                call(self._plan, None, None)
            raise
        for own, given in self._factors:  # of a part, which has a type, and of the caller, who may change them
            own.alpha, own.beta, own.conjugate = given.alpha, given.beta, given.conjugate
        self._check(call(self._plan, self._pointers, self._targets))

    def _check(self, code):
        if code:
            if code not in (Code.BUSY, Code.MPI):  # then they may be in use
                self._release()
            _check(code, _lib.redist_plan_message(self._plan).decode() if self._plan else "the plan is freed")

    def _release(self):
        self._kept = None
        _started.discard(self)

    def __call__(self, source, destination=...):
        self._run(_lib.redist_execute_many, source, destination)
        self._kept = None

    def start(self, source, destination=...):
        self._run(_lib.redist_start_many, source, destination)
        _started.add(self)

    def wait(self):
        self._check(_lib.redist_wait(self._plan))
        self._release()

    def test(self):
        """Progresses what is started, and returns whether it is complete."""
        done = c_int()
        self._check(_lib.redist_test(self._plan, byref(done)))
        if done:
            self._release()
        return bool(done)

    def free(self):
        self._check(_lib.redist_plan_free(byref(self._plan)))
        self._release()
