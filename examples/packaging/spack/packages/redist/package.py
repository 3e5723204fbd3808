# For Spack 0.21 or later. MIT licence, see LICENSE.
import os

from spack.package import *

try:  # where Spack 1.0 has it
    from spack_repo.builtin.build_systems.generic import Package
except ImportError:
    pass


class Redist(Package):
    """Moves distributed arrays between layouts, with MPI: two C headers and a Fortran module."""

    # the source tree that this recipe lies in
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *5 * [os.pardir]))

    license("MIT")

    version("main", branch="main")
    version("1.0.0", branch="main")  # of that tree's redist.h

    depends_on("gmake", type="build")
    depends_on("mpi")

    def install(self, spec, prefix):
        make("install", "PREFIX=" + str(prefix))
