# redist: needs an MPI compiler and make; tests and examples use further libraries where they are installed.
#   make run       the ADI heat solver on 4 ranks           make check      all tests
#   make bench     all measurements, as plain tables        make plots      methods as pictures
#   make results   the tables of bench/RESULTS.md           make clean
#   make field     the picture at the top of the README     make simulate   methods on simulated clusters (SimGrid)
#   make fortran   the solver in Fortran on 4 ranks         make cluster    methods on emulated nodes (needs root)
#   make python    the module for Python, in build/python
#   make install   headers, packages, Fortran, examples     make uninstall
#   make reference manual pages and HTML, by doxygen: before make install, which installs them, too
#   make results BASE=COMMIT   cases whose whole cycles are slower than with another commit's headers
# Override on the command line: MPICC, MPIFC, MPIEXEC, CC, CFLAGS, BUILD, PYTHON, PYTHON_MPICC; PREFIX and DESTDIR: where
# to install; ONLY: names of tests for check, of sections for results.

first   = $(firstword $(foreach c,$(1),$(shell command -v $(c) 2>/dev/null)))
MPICC  := $(call first,mpicc.mpich mpicc)
MPIFC   = $(subst mpicc,mpifort,$(MPICC))
MPIEXEC := $(call first,mpiexec.mpich mpiexec)
CC      = cc
CFLAGS  = -O3 -g
TEST_CFLAGS = $(patsubst -g,-g1,$(subst -O3,-O1,$(CFLAGS)))
BUILD   = build
MAKEFLAGS += -j2
STRICT  = -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
HEADERS = redist.h redist_plan.h
PREFIX  = /usr/local
VERSION = $(shell sed -n 's/^.define REDIST_VERSION_[MP][A-Z]* //p' redist.h | paste -sd.)

# Libraries that programs need (LIBS), or use where they are installed (OPTIONS), and C code that tests whether they are:
# PROBE.
LIBS_fft3d    = -lfftw3f -lfftw3 -lm
LIBS_taylor_green = -lfftw3 -lm
SCALAPACK     = -lscalapack-$(if $(findstring openmpi,$(MPICC)),openmpi,mpich)
LIBS_pdgemr2d = $(SCALAPACK)
LIBS_multiply = $(SCALAPACK)
LIBS_ptran    = $(SCALAPACK) -lm
LIBS_adi      = -lm
LIBS_balance  = -lm
LIBS_checkpoint = -lm
LIBS_deposit  = -lm
LIBS_image    = -lm
LIBS_patches  = -lm
LIBS_stencil  = -lm
LIBS_openmp   = -fopenmp
LIBS_plan_features = -pthread
LIBS_rings    = -pthread
LIBS_small_shm = -pthread
LIBS_fft      = -lfftw3f_mpi -lfftw3f -lfftw3_mpi -lfftw3 -lm
LIBS_spectral = -lfftw3 -lm
LIBS_threads  = -fopenmp -lm
OPTIONS_methods    = scalapack
OPTIONS_halo       = scalapack
OPTIONS_transpose  = scalapack
OPTIONS_transposes = fftw_mpi
OPTIONS_cycles     = scalapack fftw_mpi
OPTIONS_spectral   = fftw_mpi
OPTIONAL_scalapack = -DHAVE_SCALAPACK $(SCALAPACK)
OPTIONAL_fftw_mpi  = -DHAVE_FFTW_MPI $(LIBS_fft)
PROBE_multiply = $(PROBE_pdgemr2d)
PROBE_ptran    = $(PROBE_pdgemr2d)
# Debian's FFTW-MPI needs Open MPI, though it links with any MPI.
PROBE_fft      = extern char ompi_mpi_comm_world[]; void fftw_mpi_init(void); void fftwf_mpi_init(void); \
                 int main(void) { fftw_mpi_init(); fftwf_mpi_init(); return ompi_mpi_comm_world[0]; }
PROBE_fft3d    = void fftw_cleanup(void); void fftwf_cleanup(void); int main(void) { fftw_cleanup(); fftwf_cleanup(); return 0; }
PROBE_taylor_green = void fftw_cleanup(void); int main(void) { fftw_cleanup(); return 0; }
PROBE_spectral = $(PROBE_taylor_green)
PROBE_scalapack = $(PROBE_pdgemr2d)
PROBE_fftw_mpi = $(PROBE_fft)
PROBE_openmp   = int omp_get_max_threads(void); int main(void) { return omp_get_max_threads() < 1; }
PROBE_threads  = $(PROBE_openmp)
PROBE_pdgemr2d = void pdgemr2d_(void); int main(void) { pdgemr2d_(); return 0; }

EXAMPLES = $(patsubst examples/%.c,%,$(wildcard examples/*.c))
TESTS    = $(patsubst tests/%.c,%,$(wildcard tests/*.c))
# Tests with other settings of the library, and settings that leave something out.
VARIANTS = $(addsuffix .pieces,plan_random plan_bits) $(addsuffix .named,plan_random arenas home own_memory) \
    $(addsuffix .small,plan_random plan_ghosts left_out)
FLAGS_pieces = -DREDIST_EAGER_BYTES=64 -DREDIST_FLIGHT_BYTES=200 -DREDIST_MAX_COUNT=1000
FLAGS_named  = -DREDIST_NAMED_MEMORY
FLAGS_small  = -DREDIST_SMALL
LEFT_OUT = NO_SHARED NO_COLLECTIVES NO_SCHEDULED NO_NODES
BENCHES  = $(patsubst bench/%.c,%,$(wildcard bench/*.c))
# Programs without hooks of their own are linked with one implementation; hello, which is not optimised, shows that none
# is needed.
LINKED   = $(filter-out hello,$(EXAMPLES)) advice arrivals built cart checked checkpoints darray errors \
    failing_calls failing_mpi files ghosts grids home index instructions layouts left_out many_ranks move multiphase \
    papers parse pdgemr2d phases plan_bits plan_blocks plan_errors plan_ghosts plan_parts plan_places plan_random \
    plan_replicated ptran relabelling replicated reshaped schedule small_shm timed views wire
# Of the others, which compile everything, those that run for long; the rest is not optimised.
BUSY     = $(LINKED) copies creation openmp portable rings runs

all: examples
examples: $(EXAMPLES:%=$(BUILD)/%)

run: $(BUILD)/adi
	$(MPIEXEC) -n 4 $(BUILD)/adi

check: export MPICC := $(MPICC)
check: export MPIEXEC := $(MPIEXEC)
check: export LINKED := $(LINKED)
check: export COUNTED = $(if $(filter -O3,$(CFLAGS)),$(abspath $(BUILD)/instructions))
check: examples $(TESTS:%=$(BUILD)/%) $(VARIANTS:%=$(BUILD)/%) $(LEFT_OUT:%=$(BUILD)/left_out.%)
	@sh tests/run $(BUILD) $(ONLY)

bench: $(BENCHES:%=$(BUILD)/%)
	$(MPIEXEC) -n 2 $(BUILD)/methods --csv $(BUILD)/methods.csv
	$(MPIEXEC) -n 2 $(BUILD)/cycles --csv $(BUILD)/cycles.csv
	$(MPIEXEC) -n 2 $(BUILD)/small
	$(MPIEXEC) -n 2 $(BUILD)/mappings
	$(MPIEXEC) -n 2 $(BUILD)/halo
	[ -e $(BUILD)/fft.skip ] || $(MPIEXEC) -n 2 $(BUILD)/fft
	$(MPIEXEC) -n 2 $(BUILD)/transposes
	$(MPIEXEC) -n 4 $(BUILD)/io --file $(BUILD)/io
	$(BUILD)/scale --csv $(BUILD)/scale.csv
	[ -e $(BUILD)/threads.skip ] || OMP_NUM_THREADS=2 $(MPIEXEC) -n 1 $(BUILD)/threads
	[ -e $(BUILD)/threads.skip ] || OMP_NUM_THREADS=1 $(MPIEXEC) -n 2 $(BUILD)/threads

plots: $(BUILD)/methods $(BUILD)/scale
	@BUILD='$(BUILD)' MPIEXEC='$(MPIEXEC)' sh bench/plots.sh

field: $(BUILD)/cycles $(BUILD)/halo
	@BUILD='$(BUILD)' MPIEXEC='$(MPIEXEC)' sh bench/field.sh

results: $(if $(BASE),,$(BENCHES:%=$(BUILD)/%))
	@BUILD='$(BUILD)' MPICC='$(MPICC)' MPIEXEC='$(MPIEXEC)' \
	    sh $(if $(BASE),bench/compare.sh $(BASE),bench/results.sh $(ONLY))

simulate:
	@BUILD='$(BUILD)' sh bench/simulate.sh

cluster:
	@BUILD='$(BUILD)' sh bench/cluster.sh

fortran: $(BUILD)/adi_fortran $(BUILD)/waves_fortran
	@for program in $^; do cat $$program.skip 2>/dev/null || $(MPIEXEC) -n 4 $$program || exit 1; done

$(BUILD)/%_fortran: examples/fortran/redist_f.c examples/fortran/redist.f90 examples/fortran/%.f90 $(HEADERS)
	@mkdir -p $(BUILD)/modules
	@rm -f $@ $@.skip
	@if printf 'use mpi_f08\nend\n' | $(MPIFC) -x f95 -o $@.probe - >/dev/null 2>&1; then \
	    echo $(MPIFC) $(filter %.f90,$^) && $(MPICC) $(STRICT) $(CFLAGS) -I. -c -o $(BUILD)/redist_f.o $< && \
	    $(MPIFC) -std=f2018 -Wall -Wextra $(CFLAGS) -J$(BUILD)/modules -o $@ $(filter %.f90,$^) $(BUILD)/redist_f.o -lm; \
	else echo "fortran: skipped, no gfortran with MPI's module mpi_f08 ($(MPIFC))" >$@.skip; fi
	@rm -f $@.probe

# The library is compiled with the MPI that mpi4py uses, by PYTHON_MPICC, mpicc.openmpi (or .mpich, ...) or mpicc. The
# first Python that has the packages does it.
PYTHON  = python3 /usr/bin/python3
vendor  = import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; \
          print(MPI.get_vendor()[0].lower().replace(" ", ""))

python: $(patsubst examples/%,$(BUILD)/%,$(wildcard examples/python/*.py)) $(BUILD)/python/redist_python.so

$(BUILD)/python/%.py: examples/python/%.py
	@mkdir -p $(BUILD)/python
	@cp $< $@

$(BUILD)/python/redist_python.so: examples/python/redist_python.c $(HEADERS)
	@mkdir -p $(BUILD)/python
	@for python in $(PYTHON) none; do $$python -c 'import numpy, mpi4py' 2>/dev/null && break; done; \
	[ $$python != none ] || { echo 'python: skipped, no mpi4py and numpy for $(PYTHON)'; exit 0; }; \
	mpi=$$($$python -c '$(vendor)'); \
	for mpicc in $(PYTHON_MPICC) mpicc.$$mpi mpicc none; do command -v $$mpicc >/dev/null && break; done; \
	[ $$mpicc != none ] || { echo "python: skipped, no mpicc of the MPI that mpi4py uses ($$mpi)"; exit 0; }; \
	echo $$mpicc $< && $$mpicc $(STRICT) $(CFLAGS) -shared -fPIC -I. -o $@ $<

reference:
	@sh examples/packaging/reference.sh '$(BUILD)/reference'

installed = $(DESTDIR)$(PREFIX)
share     = $(installed)/share/redist
manuals   = $(installed)/share/man/man3

install:
	@mkdir -p '$(installed)/include' '$(installed)/share/pkgconfig' '$(share)/cmake' '$(share)/fortran' '$(share)/python' \
	    '$(share)/examples'
	cp $(HEADERS) '$(installed)/include'
	cp examples/fortran/redist.f90 examples/fortran/redist_f.c '$(share)/fortran'
	cp examples/python/*.py examples/python/redist_python.c '$(share)/python'
	cp examples/packaging/*.cmake '$(share)/cmake'
	cp examples/*.[ch] examples/*.gp examples/README.md examples/fortran/adi.f90 examples/fortran/waves.f90 \
	    '$(share)/examples'
	cp README.md LICENSE '$(share)'
	@[ ! -d '$(BUILD)/reference/man3' ] || { mkdir -p '$(manuals)' && cp $(BUILD)/reference/man3/*.3 '$(manuals)' && \
	    cp -R '$(BUILD)/reference/html' '$(share)'; }
	@printf '%s\n' 'prefix=$(PREFIX)' 'includedir=$${prefix}/include' 'fortrandir=$${prefix}/share/redist/fortran' '' \
	    'Name: redist' 'Description: Moves distributed arrays between layouts, with MPI' 'Version: $(VERSION)' \
	    'Cflags: -I"$${includedir}"' >'$(installed)/share/pkgconfig/redist.pc'

uninstall:
	rm -rf '$(share)' '$(manuals)'/redist[._]*.3 '$(manuals)'/REDIST_*.3
	rm -f $(HEADERS:%='$(installed)/include/%') '$(installed)/share/pkgconfig/redist.pc'

# What is not optimised is compiled by clang, where it is installed: in a third of gcc's time.
clang := $(if $(filter file,$(origin CFLAGS)),$(shell command -v clang))
clang_for = $(if $(filter -O0,$(1)),$(addprefix MPICH_CC=,$(clang)) $(addprefix OMPI_CC=,$(clang)) )

# The implementation for examples, and that for tests, which checks what its functions rely on, are optimised the same;
# those with other settings are not optimised.
asserts = '-DREDIST_ASSERT(condition)=((condition) ? (void)0 : abort())'
$(BUILD)/redist.o: OBJECT_FLAGS = $(CFLAGS)
$(BUILD)/asserting.o: OBJECT_FLAGS = $(patsubst -g,-g1,$(CFLAGS)) $(asserts)
$(BUILD)/%.o: OBJECT_FLAGS = $(quick) $(FLAGS_$*) $(asserts)
$(BUILD)/%.o: source = <tests/linked.h>
$(BUILD)/redist.o: source = <redist_plan.h>
objects = $(addprefix $(BUILD)/,redist.o asserting.o pieces.o named.o small.o)
$(objects): $(BUILD)/%.o: $(HEADERS) $(wildcard tests/*.h)
	@mkdir -p $(BUILD)
	@printf '#define REDIST_IMPLEMENTATION\n#include $(source)\n' | \
	    $(call clang_for,$(OBJECT_FLAGS))$(MPICC) $(STRICT) $(OBJECT_FLAGS) -I. -x c -c -o $@ -

# A program whose library is missing is replaced by a file that says so.
define program
$(BUILD)/$(1): $(2) $(4) $(HEADERS) $(wildcard $(dir $(2))*.h examples/*.h bench/*.h)
	@mkdir -p $(BUILD)
	@rm -f $$@ $$@.skip
	@options=; $(foreach o,$(OPTIONS_$(1)),echo '$(PROBE_$(o))' | $(MPICC) -x c -o $$@.probe - $(OPTIONAL_$(o)) \
	    2>/dev/null && options="$$$$options $(OPTIONAL_$(o))"; ) \
	if [ -z '$(PROBE_$(1))' ] || echo '$(PROBE_$(1))' | $(MPICC) -x c -o $$@.probe - $(LIBS_$(1)) 2>/dev/null; then \
	    echo $(MPICC) $(2) && \
	    $(call clang_for,$(3))$(MPICC) $(STRICT) $(3) -I. -o $$@ $(2) $(4) $$$$options $(LIBS_$(1)); \
	else echo '$(2): skipped, no $(LIBS_$(1))' && echo 'it needs $(LIBS_$(1))' >$$@.skip; fi
	@rm -f $$@.probe
endef
declared = $(if $(filter $(1),$(LINKED)), -DREDIST_DECLARATIONS_ONLY)
object   = $(if $(filter $(1),$(LINKED)),$(BUILD)/$(2).o)
quick = $(filter-out -g%,$(subst -O1,-O0,$(TEST_CFLAGS)))
example_flags = $(if $(filter $(1),$(LINKED)),$(CFLAGS),$(quick))
$(foreach p,$(EXAMPLES),$(eval $(call program,$(p),examples/$(p).c,$(call example_flags,$(p))$(call declared,$(p)),$(call object,$(p),redist))))
test_flags = $(if $(filter $(1),instructions),$(CFLAGS),$(if $(filter $(1),$(BUSY)),$(TEST_CFLAGS),$(quick)))
tested = $(if $(filter $(1),instructions),redist,asserting)
asserting = $(if $(filter $(1),$(LINKED)),, $(asserts))
$(foreach p,$(TESTS),$(eval $(call program,$(p),tests/$(p).c,$(call test_flags,$(p))$(call declared,$(p))$(call asserting,$(p)),$(call object,$(p),$(call tested,$(p))))))
setting = $(patsubst .%,%,$(suffix $(1)))
declares = $(call declared,$(basename $(1)))
variant_flags = $(quick) $(if $(declares),$(declares) $(filter -DREDIST_SMALL,$(FLAGS_$(setting))),$(FLAGS_$(setting)) $(asserts))
$(foreach p,$(VARIANTS),$(eval $(call program,$(p),tests/$(basename $(p)).c,$(call variant_flags,$(p)),$(call object,$(basename $(p)),$(call setting,$(p))))))
$(foreach m,$(LEFT_OUT),$(eval $(call program,left_out.$(m),tests/left_out.c,$(quick) -DREDIST_$(m) $(asserts))))
$(foreach p,$(BENCHES),$(eval $(call program,$(p),bench/$(p).c,$(CFLAGS))))

clean:
	rm -rf $(BUILD)

.PHONY: all examples run fortran python check bench results plots field simulate cluster reference install uninstall clean
