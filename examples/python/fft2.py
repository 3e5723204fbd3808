"""The FFT of a matrix: along its rows, then along its columns, each with numpy on whole ones; compared with
numpy.fft.fft2. MIT licence, see LICENSE.
make python; mpiexec -n 4 python3 build/python/fft2.py [ROWS COLUMNS]"""
import sys

import numpy
from mpi4py import MPI

import redist

comm = MPI.COMM_WORLD
shape = tuple(map(int, sys.argv[1:])) or (300, 200)
rows = redist.Layout(shape, grid=(comm.size, 1))
columns = redist.Layout(shape, grid=(1, comm.size))
a, b = rows.empty(comm.rank, complex), columns.empty(comm.rank, complex)
whole = numpy.random.default_rng(0).random(shape)  # on every rank, for the comparison

with redist.Plan(rows, columns, complex) as plan:
    a[...] = numpy.fft.fft(whole[rows.global_slice(comm.rank)], axis=1)
    plan(a, b)
    b[...] = numpy.fft.fft(b, axis=0)

error = abs(b - numpy.fft.fft2(whole)[columns.global_slice(comm.rank)]).max(initial=0)
error = comm.allreduce(error, MPI.MAX) / whole.size
if comm.rank == 0:
    print(f"{shape[0]} x {shape[1]} on {comm.size} ranks: error {error:.1e}, {'right' if error < 1e-14 else 'wrong'}")
sys.exit(int(error >= 1e-14))
