"""Jacobi's iteration for Laplace's equation on bricks with a halo of one cell, compared with that of one process.
MIT licence, see LICENSE.
make python; mpiexec -n 4 python3 build/python/jacobi.py [CELLS STEPS]"""
import sys

import numpy
from mpi4py import MPI

import redist


def step(u):
    """The mean of the four neighbours, for all cells but those at the edge of the array."""
    u[1:-1, 1:-1] = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4


comm = MPI.COMM_WORLD
n, steps = map(int, sys.argv[1:] or (60, 100))
bricks = redist.Layout((n, n), grid=MPI.Compute_dims(comm.size, 2), axes="balanced", halo=1)
mine = bricks.global_slice(comm.rank)
u = bricks.zeros(comm.rank)
if mine[0].start == 0:
    u[0] = 1  # what lies beyond the array's edge is 1 at the top, else 0: the exchange leaves it alone

with redist.Plan(bricks, bricks.with_ghosts(), in_place=True) as exchange:
    for _ in range(steps):
        exchange(u)
        step(u)

whole = numpy.zeros((n + 2, n + 2))
whole[0] = 1
for _ in range(steps):
    step(whole)
wrong = comm.allreduce(int((u[1:-1, 1:-1] != whole[1:-1, 1:-1][mine]).sum()))
if comm.rank == 0:
    print(f"{steps} steps of {n} x {n} cells on {comm.size} ranks: {wrong} differ, {'wrong' if wrong else 'right'}")
sys.exit(wrong != 0)
