"""What a call from Python costs beyond ctypes' call of the same C function. MIT licence, see LICENSE.
make python; PYTHONPATH=build/python mpiexec -n 1 python3 bench/python.py

8 x 8 doubles stay on their rank. Both are timed alternately, in batches: microseconds of processor time, of the lower
quartile of batches, and the difference."""
import statistics
import time
import timeit

import numpy

import redist

BATCHES, CALLS = 400, 200


def row(name, plan, source, destination):
    """Times a plan's execution, and that of the same addresses by ctypes."""
    plan(source, destination)
    execute = redist._lib.redist_execute_many
    handle, sources, destinations = plan._plan, plan._pointers, plan._targets

    def by_ctypes():
        execute(handle, sources, destinations)

    def by_plan():
        plan(source, destination)

    times = [[timeit.timeit(call, timer=time.process_time, number=CALLS) for call in (by_ctypes, by_plan)]
             for _ in range(BATCHES)]
    bare, whole = (statistics.quantiles(each)[0] / CALLS * 1e6 for each in zip(*times))
    print(f"{name:20} {bare:8.2f} {whole:8.2f} {whole - bare:8.2f}")


layout = redist.Layout((8, 8))
fortran = redist.Layout((8, 8), order="F")
a, b = layout.zeros(0), layout.zeros(0)
print(f"{'us':20} {'ctypes':>8} {'redist':>8} {'more':>8}")
with redist.Plan(layout, layout) as plan:
    row("numpy arrays", plan, a, b)
    row("bytearrays", plan, bytearray(512), bytearray(512))
    row("read-only source", plan, numpy.broadcast_to(a, a.shape), b)
with redist.Plan(fortran, fortran) as plan:
    row("arrays of order F", plan, fortran.zeros(0), fortran.zeros(0))
with redist.Plan(layout, layout, arrays=4) as plan:
    row("four arrays", plan, [layout.zeros(0) for _ in range(4)], [layout.zeros(0) for _ in range(4)])
