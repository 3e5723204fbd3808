! redist in Fortran: layouts, plans and arenas of redist.h and redist_plan.h, which have the full contracts. MIT
! licence, see LICENSE.
!
!   mpicc -c -O3 -I. examples/fortran/redist_f.c
!   mpifort -O3 examples/fortran/redist.f90 program.f90 redist_f.o -o program
!
!   type(redist_layout_t) :: rows, columns
!   type(redist_plan_t) :: plan
!   call redist_layout('1000x800: block@4, *; memory column-major', rows, ierr)
!   columns = redist_layout_nd([redist_whole(1000), redist_block(800, 4)])
!   call redist_plan_create(MPI_COMM_WORLD, rows, columns, MPI_DOUBLE_PRECISION, plan, ierr, message=sentence)
!   call redist_execute(plan, a, b, ierr)
!
! What differs from C:
! - Axes, indices and positions in an array (of redist_axis_local and redist_layout_offset, and a shape's origin) count from
!   1; where there is none, the answer is 0. Ranks, places and coordinates count from 0, as in MPI; none is -1. Numbers
!   of elements before something begin with 0, as in C: cuts, the bounds of boxes, the entries of redist_lists, and
!   redist_at_offsets, where a place with offset 0 begins at position 1. Place k is described by ranks(k + 1),
!   offsets(k + 1) and box(k + 1). The text of a layout and the sentences are the same in every language, and count
!   from 0.
! - redist_layout_nd, redist_layout_boxes and redist_from_scalapack make layouts of arrays as Fortran stores them, the
!   first axis contiguous; redist_memory_order changes it. A text names its order, and without a name is row-major as in
!   C. Places are numbered as in C by all of them, the last coordinate fastest; redist_grid_order changes it.
! - MPI handles are integers (mpif.h, use mpi) or those of mpi_f08.
! - ierr is 0 (REDIST_OK) or a REDIST_ERR_...; `message`, where it is given, receives the sentence, blank on success.
! - Arrays may have any type, kind and rank, and be allocatable, pointers, static, in COMMON or assumed-size; an element
!   stands for what follows it. They must be contiguous: any other counts as NULL, which is an error where the rank owns
!   elements of it. redist_execute(plan, array, ierr) and the like, with one array, move in place. gfortran passes a
!   copy of parts such as z%re and cells(:)%rho, and of pointers where one is assigned such a part in the same program
!   unit: that is right for redist_execute, but not for redist_start and redist_array.
! - redist_array(a) is the address of an array, for lists of arrays, options%fixed_from and %fixed_to, and contexts.
! - Arrays of redist_start and of redist_array need the attribute `asynchronous` (or `target`) where they are declared,
!   as with MPI_Isend, until redist_wait returns and as long as the address is used; not those in COMMON or a module.
! - Lists (cuts, owners, ranks, offsets, boxes, storage) are kept by reference: give them the attribute `target`,
!   contiguous, and let them live as long as the layouts that were made with them; fixed arrays and
!   redist_axpby_t as long as the plans.
! - To combine, pass op (for redist_combine_op) or axpby (for redist_combine_axpby) to redist_plan_create. A function of
!   your own is c_funloc(f) in options%combine, or in redist_part; f has the interface redist_combine, or the same with
!   `real(c_double) :: from(n), to(n)` and the like instead of addresses.
! - Functions on paper are called as in C and return its error codes; steps of a schedule count from 0.
! - Not in this module: redist_layout_1d, redist_layout_2d, redist_layout_3d (redist_layout_nd makes all of them),
!   redist_layout_parse (it is redist_layout here).
module redist
    use, intrinsic :: iso_c_binding
    use mpi_f08, only: MPI_Comm, MPI_Datatype, MPI_Op
    implicit none
    private

    integer, parameter, public :: REDIST_MAX_DIMS = 8

    enum, bind(c)
        enumerator :: REDIST_OK, REDIST_ERR_ARGUMENT, REDIST_ERR_LAYOUT, REDIST_ERR_SHAPE, REDIST_ERR_RANK, &
            REDIST_ERR_OVERFLOW, REDIST_ERR_TYPE, REDIST_ERR_MISMATCH, REDIST_ERR_MEMORY, REDIST_ERR_ALIAS, &
            REDIST_ERR_BUSY, REDIST_ERR_BUFFER, REDIST_ERR_MPI
    end enum
    enum, bind(c)
        enumerator :: REDIST_AUTO, REDIST_ALLTOALLV, REDIST_ALLTOALLW, REDIST_POINT_TO_POINT, REDIST_SCHEDULED, &
            REDIST_SHARED, REDIST_MULTIPHASE, REDIST_NODES
    end enum
    enum, bind(c)
        enumerator :: REDIST_ROW_MAJOR, REDIST_COLUMN_MAJOR
    end enum
    enum, bind(c)
        enumerator :: REDIST_CLOSED, REDIST_PERIODIC
    end enum
    enum, bind(c)
        enumerator :: REDIST_ESTIMATE, REDIST_MEASURE
    end enum
    enum, bind(c)
        enumerator :: REDIST_WIRE_EXACT, REDIST_WIRE_FLOAT
    end enum
    enum, bind(c)
        enumerator :: REDIST_FLOAT, REDIST_DOUBLE, REDIST_COMPLEX_FLOAT, REDIST_COMPLEX_DOUBLE
    end enum

    ! ---- types ----

    ! Where types with addresses inside are arguments, these have the attribute `target`: otherwise gfortran takes what
    ! such an address names for unchanged by the call, and by all later ones.

    ! Axes and layouts are values, whose words only C reads; redist_f.c checks their number.
    type, bind(c), public :: redist_axis_t
        private
        integer(c_int64_t) :: word(16) = 0
    end type
    type, bind(c), public :: redist_layout_t
        private
        integer(c_int64_t) :: word(280) = 0
    end type

    ! For loops over what a rank owns: a(origin + (i - 1) * stride(1) + (j - 1) * stride(2)), 1 <= i <= count(1), ..., of
    ! the local array taken as one of rank 1. first: the global index of i = 1.
    type, bind(c), public :: redist_shape_t
        integer(c_int64_t) :: first(REDIST_MAX_DIMS) = 0, count(REDIST_MAX_DIMS) = 0, stride(REDIST_MAX_DIMS) = 0
        integer(c_int64_t) :: allocated(REDIST_MAX_DIMS) = 0, origin = 0
    end type

    ! The elements low(d) < index(d) <= high(d).
    type, bind(c), public :: redist_box_t
        integer(c_int64_t) :: low(REDIST_MAX_DIMS) = 0, high(REDIST_MAX_DIMS) = 0
    end type

    type, bind(c), public :: redist_arena_t
        private
        type(c_ptr) :: arena = c_null_ptr
    end type

    type, bind(c), public :: redist_cost_t
        real(c_double) :: per_message = 0, per_byte = 0
    end type

    type, bind(c), public :: redist_traffic_t
        integer(c_int64_t) :: total = 0, local = 0, moved = 0, messages = 0
        integer(c_int64_t) :: max_sends = 0, max_receives = 0, max_sent = 0, max_received = 0
    end type

    type, bind(c), public :: redist_schedule_t
        private
        type(c_ptr) :: schedule = c_null_ptr
    end type

    type, bind(c), public :: redist_advice_t
        real(c_double) :: gain = 0
        integer(c_int64_t) :: break_even = 0
        integer(c_int) :: worthwhile = 0
    end type

    ! As in C, member by member. redist_plan_create sets message and message_size, and with op or axpby also combine and
    ! context.
    type, bind(c), public :: redist_options_t
        integer(c_int) :: method = REDIST_AUTO
        integer(c_int) :: effort = REDIST_ESTIMATE
        integer(c_int) :: arrays = 0
        integer(c_size_t) :: max_buffer = 0
        integer(c_int) :: in_place = 0
        type(redist_arena_t) :: arena
        type(c_ptr) :: fixed_from = c_null_ptr
        type(c_ptr) :: fixed_to = c_null_ptr
        integer(c_int) :: executions = 0
        integer(c_int) :: node_ranks = 0
        integer(c_int) :: timed = 0
        integer(c_int) :: checked = 0
        integer(c_int) :: wire = REDIST_WIRE_EXACT
        type(c_funptr) :: combine = c_null_funptr
        type(c_ptr) :: context = c_null_ptr
        type(redist_cost_t) :: cost
        type(c_ptr) :: message = c_null_ptr
        integer(c_size_t) :: message_size = 0
    end type

    type, bind(c), public :: redist_stats_t
        integer(c_int) :: method = REDIST_AUTO
        integer(c_int64_t) :: sends = 0, receives = 0
        integer(c_int64_t) :: bytes_sent = 0, bytes_received = 0, bytes_local = 0
        integer(c_int64_t) :: buffer_bytes = 0, shared_bytes = 0
        integer(c_int) :: steps = 0, phases = 0
        integer(c_int64_t) :: executions = 0
        real(c_double) :: copying = 0, waiting = 0
    end type

    ! to(i) = f(to(i), from(i)), 1 <= i <= n.
    abstract interface
        subroutine redist_combine(from, to, n, context) bind(c)
            import; type(c_ptr), value :: from, to, context; integer(c_int64_t), value :: n
        end subroutine
    end interface

    ! Writes the layouts of a process grid to sequence(:most). How many; 0: this grid cannot be used.
    abstract interface
        integer(c_int) function redist_layouts(grid, sequence, most, context) bind(c)
            import; integer(c_int), intent(in) :: grid(*); type(redist_layout_t), intent(inout) :: sequence(*)
            integer(c_int), value :: most; type(c_ptr), value :: context
        end function
    end interface

    ! A part of a plan, made by redist_part.
    type, bind(c), public :: redist_part_t
        private
        type(redist_layout_t) :: from, to
        integer(c_int) :: datatype = 0
        type(c_funptr) :: combine = c_null_funptr
        type(c_ptr) :: context = c_null_ptr
    end type

    ! to = beta to + alpha from; alpha and beta are read at every execution: real and imaginary part.
    type, bind(c), public :: redist_axpby_t
        integer(c_int) :: number = REDIST_DOUBLE
        real(c_double) :: alpha(2) = [1d0, 0d0], beta(2) = [1d0, 0d0]
        integer(c_int) :: conjugate = 0
    end type

    type, bind(c) :: op_t
        integer(c_int64_t) :: word(2) = 0
    end type

    type, public :: redist_plan_t
        private
        type(c_ptr) :: plan = c_null_ptr
        type(op_t), pointer :: op => null()
        integer :: arrays = 0
        character(80) :: remark = '' ! what the sentence of the last failure does not say
    end type

    ! ---- axes: n is a default integer or integer(int64) ----

    interface redist_whole
        pure type(redist_axis_t) function whole_4(n) bind(c, name='redist_f_whole')
            import; integer(c_int), value :: n
        end function
        pure type(redist_axis_t) function whole_8(n) bind(c, name='redist_whole')
            import; integer(c_int64_t), value :: n
        end function
    end interface
    interface redist_block
        pure type(redist_axis_t) function block_4(n, procs) bind(c, name='redist_f_block')
            import; integer(c_int), value :: n, procs
        end function
        pure type(redist_axis_t) function block_8(n, procs) bind(c, name='redist_block')
            import; integer(c_int64_t), value :: n; integer(c_int), value :: procs
        end function
    end interface
    interface redist_cyclic
        pure type(redist_axis_t) function cyclic_4(n, procs) bind(c, name='redist_f_cyclic')
            import; integer(c_int), value :: n, procs
        end function
        pure type(redist_axis_t) function cyclic_8(n, procs) bind(c, name='redist_cyclic')
            import; integer(c_int64_t), value :: n; integer(c_int), value :: procs
        end function
    end interface
    interface redist_block_cyclic
        pure type(redist_axis_t) function block_cyclic_4(n, block, procs) bind(c, name='redist_f_block_cyclic')
            import; integer(c_int), value :: n, block, procs
        end function
        pure type(redist_axis_t) function block_cyclic_8(n, block, procs) bind(c, name='redist_block_cyclic')
            import; integer(c_int64_t), value :: n, block; integer(c_int), value :: procs
        end function
    end interface
    interface redist_balanced
        pure type(redist_axis_t) function balanced_4(n, procs) bind(c, name='redist_f_balanced')
            import; integer(c_int), value :: n, procs
        end function
        pure type(redist_axis_t) function balanced_8(n, procs) bind(c, name='redist_balanced')
            import; integer(c_int64_t), value :: n; integer(c_int), value :: procs
        end function
    end interface

    interface redist_cuts_remainder_last
        pure subroutine remainder_last_4(n, procs, cuts) bind(c, name='redist_f_cuts_remainder_last')
            import; integer(c_int), value :: n, procs; integer(c_int64_t), intent(inout) :: cuts(0:*)
        end subroutine
        pure subroutine remainder_last_8(n, procs, cuts) bind(c, name='redist_cuts_remainder_last')
            import; integer(c_int64_t), value :: n; integer(c_int), value :: procs
            integer(c_int64_t), intent(inout) :: cuts(0:*)
        end subroutine
    end interface
    interface redist_cuts_remainder_first
        pure subroutine remainder_first_4(n, procs, cuts) bind(c, name='redist_f_cuts_remainder_first')
            import; integer(c_int), value :: n, procs; integer(c_int64_t), intent(inout) :: cuts(0:*)
        end subroutine
        pure subroutine remainder_first_8(n, procs, cuts) bind(c, name='redist_cuts_remainder_first')
            import; integer(c_int64_t), value :: n; integer(c_int), value :: procs
            integer(c_int64_t), intent(inout) :: cuts(0:*)
        end subroutine
    end interface

    interface
        ! Block k = 0, 1, ... of cuts(0:procs) holds the indices cuts(k) + 1 to cuts(k + 1); cuts(0) is 0.
        type(redist_axis_t) function redist_cuts(cuts, procs) bind(c)
            import; integer(c_int64_t), intent(in), target :: cuts(*); integer(c_int), value :: procs
        end function
        ! Index i belongs to coordinate owner(i); the coordinates' lists of indices, index(begin(c) + 1 : begin(c + 1)) for
        ! c = 0, 1, ..., name indices 0 to n - 1.
        type(redist_axis_t) function redist_owners(n, owner, procs) bind(c)
            import; integer(c_int64_t), value :: n; integer(c_int), intent(in), target :: owner(*)
            integer(c_int), value :: procs
        end function
        type(redist_axis_t) function redist_lists(n, begin, index, procs) bind(c)
            import; integer(c_int64_t), value :: n; integer(c_int64_t), intent(in), target :: begin(*), index(*)
            integer(c_int), value :: procs
        end function
        pure type(redist_axis_t) function redist_starting_at(x, coord) bind(c)
            import; type(redist_axis_t), value :: x; integer(c_int), value :: coord
        end function
        ! The coordinate that owns index i >= 1, or -1; the position of i there, from 1; the index at position l >= 1;
        ! how many indices the coordinate owns.
        pure integer(c_int) function redist_axis_owner(x, i) bind(c, name='redist_f_axis_owner')
            import; type(redist_axis_t), intent(in) :: x; integer(c_int64_t), value :: i
        end function
        pure integer(c_int64_t) function redist_axis_local(x, i) bind(c, name='redist_f_axis_local')
            import; type(redist_axis_t), intent(in) :: x; integer(c_int64_t), value :: i
        end function
        pure integer(c_int64_t) function redist_axis_global(x, coord, l) bind(c, name='redist_f_axis_global')
            import; type(redist_axis_t), intent(in) :: x; integer(c_int), value :: coord; integer(c_int64_t), value :: l
        end function
        pure integer(c_int64_t) function redist_axis_count(x, coord) bind(c)
            import; type(redist_axis_t), intent(in) :: x; integer(c_int), value :: coord
        end function

        ! ---- layouts: each takes one and returns a changed one ----

        ! Which coordinate varies fastest over the places: by default the last, REDIST_ROW_MAJOR.
        pure type(redist_layout_t) function redist_grid_order(layout, order) bind(c)
            import; type(redist_layout_t), value :: layout; integer(c_int), value :: order
        end function
        ! Which axis is contiguous in memory: the first, REDIST_COLUMN_MAJOR, or the last.
        pure type(redist_layout_t) function redist_memory_order(layout, order) bind(c)
            import; type(redist_layout_t), value :: layout; integer(c_int), value :: order
        end function
        pure type(redist_layout_t) function redist_from_rank(layout, first_rank) bind(c)
            import; type(redist_layout_t), value :: layout; integer(c_int), value :: first_rank
        end function
        ! Place k = 0, 1, ... lives on rank ranks(k + 1) >= 0.
        type(redist_layout_t) function redist_on_ranks(layout, ranks) bind(c)
            import; type(redist_layout_t), value :: layout; integer(c_int), intent(in), target :: ranks(*)
        end function
        ! Place k = 0, 1, ... begins after offsets(k + 1) >= 0 elements of its rank's array, at position offsets(k + 1) + 1.
        type(redist_layout_t) function redist_at_offsets(layout, offsets) bind(c)
            import; type(redist_layout_t), value :: layout; integer(c_int64_t), intent(in), target :: offsets(*)
        end function
        pure type(redist_layout_t) function redist_partial(layout) bind(c)
            import; type(redist_layout_t), value :: layout
        end function
        ! After redist_with_ghosts: no ghost cell beyond several axes holds an element.
        pure type(redist_layout_t) function redist_without_corners(layout) bind(c)
            import; type(redist_layout_t), value :: layout
        end function
        pure type(redist_layout_t) function redist_replicated(layout, replicas) bind(c)
            import; type(redist_layout_t), value :: layout; integer(c_int), value :: replicas
        end function
        pure type(redist_layout_t) function redist_transposed(layout) bind(c)
            import; type(redist_layout_t), value :: layout
        end function
        pure type(redist_layout_t) function redist_rotated(layout, quarter_turns) bind(c)
            import; type(redist_layout_t), value :: layout; integer(c_int), value :: quarter_turns
        end function
        ! A ScaLAPACK matrix: column-major, on a grid of processes numbered row by row.
        type(redist_layout_t) function redist_from_scalapack(desc, nprow, npcol) bind(c)
            import; integer(c_int), intent(in) :: desc(9); integer(c_int), value :: nprow, npcol
        end function
        pure type(redist_layout_t) function redist_with_halo(layout, axis, low, high) bind(c, name='redist_f_with_halo')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: axis, low, high
        end function
        pure type(redist_layout_t) function redist_with_ghosts(layout, axis, edge) bind(c, name='redist_f_with_ghosts')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: axis, edge
        end function
        pure type(redist_layout_t) function redist_ghost_depth(layout, axis, low, high) bind(c, name='redist_f_ghost_depth')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: axis, low, high
        end function
        pure type(redist_layout_t) function redist_with_allocated(layout, axis, allocated) &
            bind(c, name='redist_f_with_allocated')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: axis
            integer(c_int64_t), value :: allocated
        end function
        pure type(redist_layout_t) function redist_flipped(layout, axis) bind(c, name='redist_f_flipped')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: axis
        end function
        pure type(redist_layout_t) function redist_section(layout, axis, start, count, step) bind(c, name='redist_f_section')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: axis
            integer(c_int64_t), value :: start, count, step
        end function
        ! As in C, the second of two axes varies faster in the merged one.
        pure type(redist_layout_t) function redist_split(layout, axis, inner) bind(c, name='redist_f_split')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: axis
            integer(c_int64_t), value :: inner
        end function
        pure type(redist_layout_t) function redist_merged(layout, axis) bind(c, name='redist_f_merged')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: axis
        end function
        ! Axis d of the result is axis axes(d).
        type(redist_layout_t) function redist_permuted(layout, axes) bind(c, name='redist_f_permuted')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), intent(in) :: axes(*)
        end function

        ! ---- layouts: queries ----

        pure integer(c_int) function redist_layout_places(layout) bind(c)
            import; type(redist_layout_t), intent(in) :: layout
        end function
        pure integer(c_int) function redist_layout_rank(layout, coords) bind(c)
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), intent(in) :: coords(*)
        end function
        ! 1 when the rank holds a place, else 0.
        integer(c_int) function redist_layout_coords(layout, rank, coords) bind(c)
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: rank
            integer(c_int), intent(inout) :: coords(*)
        end function
        ! The rank that owns the element at index(:) >= 1, or -1, and where it lies in the rank's array, from 1; 0: nowhere.
        pure integer(c_int) function redist_layout_owner(layout, index) bind(c, name='redist_f_layout_owner')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int64_t), intent(in) :: index(*)
        end function
        pure integer(c_int64_t) function redist_layout_offset(layout, index) bind(c, name='redist_f_layout_offset')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int64_t), intent(in) :: index(*)
        end function
        pure integer(c_int64_t) function redist_layout_local_size(layout, rank) bind(c)
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: rank
        end function
        ! 1 when the rank holds a place, 0 when not (shape stays as it is), -1 when its elements lie at no equal distances.
        integer(c_int) function redist_layout_shape(layout, rank, shape) bind(c, name='redist_f_layout_shape')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: rank
            type(redist_shape_t), intent(inout) :: shape
        end function
        ! The shape of place 0, 1, ...: 1, 0 when there is no such place, or -1, as redist_layout_shape.
        integer(c_int) function redist_layout_place_shape(layout, place, shape) bind(c, name='redist_f_layout_place_shape')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: place
            type(redist_shape_t), intent(inout) :: shape
        end function
        ! redist_layout_local_size, and where each of a rank's places begins, for redist_at_offsets: elements before place k
        ! in offsets(k + 1); those of other ranks' places stay.
        integer(c_int64_t) function redist_layout_place_offsets(layout, rank, offsets) bind(c)
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: rank
            integer(c_int64_t), intent(inout) :: offsets(*)
        end function
        ! How many places a rank holds; places receives the first `most` of them, which count from 0.
        integer(c_int) function redist_layout_on_rank(layout, rank, most, places) bind(c)
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: rank, most
            integer(c_int), intent(inout) :: places(*)
        end function
        ! The least place of a rank after another, which count from 0; -1 when there is none. Begin with -1.
        pure integer(c_int) function redist_layout_next_place(layout, rank, place) bind(c)
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: rank, place
        end function
        ! 1, and the coordinates of a place, from 0, in the order of the C library's axes; 0 if there is no such place.
        integer(c_int) function redist_layout_place_coords(layout, place, coords) bind(c)
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: place
            integer(c_int), intent(inout) :: coords(*)
        end function
        ! 10000 major + 100 minor + patch of the library.
        pure integer(c_int) function redist_version() bind(c)
            import
        end function
        pure integer(c_int) function redist_layout_check(layout) bind(c)
            import; type(redist_layout_t), intent(in) :: layout
        end function

        ! ---- on paper ----

        integer(c_int) function redist_volume(from, rank_from, to, rank_to, elements) bind(c)
            import; type(redist_layout_t), intent(in) :: from, to; integer(c_int), value :: rank_from, rank_to
            integer(c_int64_t), intent(out) :: elements
        end function
        integer(c_int) function redist_traffic_between(from, to, combining, traffic) bind(c)
            import; type(redist_layout_t), intent(in) :: from, to; integer(c_int), value :: combining
            type(redist_traffic_t), intent(inout) :: traffic
        end function
        integer(c_int) function redist_schedule_create(from, to, combining, schedule) bind(c)
            import; type(redist_layout_t), intent(in) :: from, to; integer(c_int), value :: combining
            type(redist_schedule_t), intent(out) :: schedule
        end function
        integer(c_int) function redist_schedule_free(schedule) bind(c)
            import; type(redist_schedule_t), intent(inout) :: schedule
        end function
        pure integer(c_int) function redist_schedule_steps(schedule) bind(c)
            import; type(redist_schedule_t), value :: schedule
        end function
        integer(c_int) function redist_schedule_step(schedule, rank, step, send_to, receive_from) bind(c)
            import; type(redist_schedule_t), value :: schedule; integer(c_int), value :: rank, step
            integer(c_int), intent(inout) :: send_to, receive_from
        end function
        integer(c_int) function redist_cost_of(from, to, element_bytes, cost, seconds) bind(c)
            import; type(redist_layout_t), intent(in) :: from, to; integer(c_size_t), value :: element_bytes
            type(redist_cost_t), intent(in) :: cost; real(c_double), intent(out) :: seconds
        end function
        integer(c_int) function redist_phases(from, to, element_bytes, cost, max, between, stops) bind(c)
            import; type(redist_layout_t), intent(in) :: from, to; integer(c_size_t), value :: element_bytes
            type(redist_cost_t), intent(in) :: cost; integer(c_int), value :: max
            type(redist_layout_t), intent(inout) :: between(*); integer(c_int), intent(out) :: stops
        end function
        integer(c_int) function redist_best_grid(procs, dims, layouts, context, element_bytes, cost, grid, seconds) bind(c)
            import; integer(c_int), value :: procs, dims; procedure(redist_layouts) :: layouts
            type(c_ptr), value :: context; integer(c_size_t), value :: element_bytes
            type(redist_cost_t), intent(in) :: cost; integer(c_int), intent(inout) :: grid(*)
            real(c_double), intent(out) :: seconds
        end function
        integer(c_int) function redist_relabel(from, to, node_ranks, ranks) bind(c)
            import; type(redist_layout_t), intent(in) :: from, to; integer(c_int), value :: node_ranks
            integer(c_int), intent(inout) :: ranks(*)
        end function
        integer(c_int) function redist_advise(here, there, in, out, repetitions, advice) bind(c)
            import; real(c_double), value :: here, there, in, out; integer(c_int64_t), value :: repetitions
            type(redist_advice_t), intent(inout) :: advice
        end function
        ! from_arrays(k + 1) and to_arrays(k + 1) are the addresses of place k's arrays.
        integer(c_int) function redist_move(from, from_arrays, to, to_arrays, element_bytes) bind(c)
            import; type(redist_layout_t), intent(in) :: from, to; type(c_ptr), intent(in) :: from_arrays(*), to_arrays(*)
            integer(c_size_t), value :: element_bytes
        end function
        integer(c_int) function redist_move_combining(from, from_arrays, to, to_arrays, element_bytes, combine, &
            context) bind(c)
            import; type(redist_layout_t), intent(in) :: from, to; type(c_ptr), intent(in) :: from_arrays(*), to_arrays(*)
            integer(c_size_t), value :: element_bytes; type(c_funptr), value :: combine; type(c_ptr), value :: context
        end function

        ! ---- C, for the procedures below ----

        type(redist_layout_t) function c_layout_nd(ndim, axes) bind(c, name='redist_layout_nd')
            import; integer(c_int), value :: ndim; type(redist_axis_t), intent(in) :: axes(*)
        end function
        type(redist_layout_t) function c_layout_boxes(ndim, extents, boxes, box) bind(c, name='redist_layout_boxes')
            import; integer(c_int), value :: ndim, boxes; integer(c_int64_t), intent(in) :: extents(*)
            type(redist_box_t), intent(in), target :: box(*)
        end function
        integer(c_int) function c_parse(text, layout, storage, bytes, message, size) bind(c, name='redist_layout_parse')
            import; character(c_char), intent(in) :: text(*); type(redist_layout_t), intent(out) :: layout
            type(c_ptr), value :: storage, message; integer(c_size_t), value :: bytes, size
        end function
        integer(c_int) function c_explain(layout, text, size) bind(c, name='redist_layout_explain')
            import; type(redist_layout_t), intent(in) :: layout; type(c_ptr), value :: text; integer(c_size_t), value :: size
        end function
        pure integer(c_size_t) function c_parse_size(text) bind(c, name='redist_layout_parse_size')
            import; character(c_char), intent(in) :: text(*)
        end function
        integer(c_int) function c_layout_print(layout) bind(c, name='redist_f_layout_print')
            import; type(redist_layout_t), intent(in) :: layout
        end function
        integer(c_int) function c_calibrate(comm, cost) bind(c, name='redist_f_calibrate')
            import; integer(c_int), value :: comm; type(redist_cost_t), intent(inout) :: cost
        end function
        integer(c_int64_t) function c_format(layout, text, size) bind(c, name='redist_layout_format')
            import; type(redist_layout_t), intent(in) :: layout; type(c_ptr), value :: text; integer(c_size_t), value :: size
        end function
        type(c_ptr) function c_strerror(code) bind(c, name='redist_strerror')
            import; integer(c_int), value :: code
        end function
        integer(c_int) function c_plan_create(comm, from, to, element, options, plan) bind(c, name='redist_f_plan_create')
            import; integer(c_int), value :: comm, element; type(redist_layout_t), intent(in) :: from, to
            type(redist_options_t), intent(in), target :: options; type(c_ptr), intent(out) :: plan
        end function
        integer(c_int) function c_plan_create_parts(comm, parts, part, options, plan) &
            bind(c, name='redist_f_plan_create_parts')
            import; integer(c_int), value :: comm, parts; type(redist_part_t), intent(in), target :: part(*)
            type(redist_options_t), intent(in), target :: options; type(c_ptr), intent(out) :: plan
        end function
        integer(c_int) function c_layout_types(layout, rank, element, file, memory) bind(c, name='redist_f_layout_types')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: rank, element
            integer(c_int), intent(out) :: file, memory
        end function
        subroutine c_op(op, element, context) bind(c, name='redist_f_op')
            import; integer(c_int), value :: op, element; type(op_t), intent(out) :: context
        end subroutine
        subroutine redist_combine_op(from, to, n, context) bind(c)
            import; type(c_ptr), value :: from, to, context; integer(c_int64_t), value :: n
        end subroutine
        subroutine redist_combine_axpby(from, to, n, context) bind(c)
            import; type(c_ptr), value :: from, to, context; integer(c_int64_t), value :: n
        end subroutine
        integer(c_int) function c_start(plan, from, to) bind(c, name='redist_start')
            import; type(c_ptr), value :: plan, from, to
        end function
        integer(c_int) function c_start_many(plan, from, to) bind(c, name='redist_start_many')
            import; type(c_ptr), value :: plan, from, to
        end function
        integer(c_int) function c_execute(plan, from, to) bind(c, name='redist_execute')
            import; type(c_ptr), value :: plan, from, to
        end function
        integer(c_int) function c_execute_many(plan, from, to) bind(c, name='redist_execute_many')
            import; type(c_ptr), value :: plan, from, to
        end function
        integer(c_int) function c_wait(plan) bind(c, name='redist_wait')
            import; type(c_ptr), value :: plan
        end function
        integer(c_int) function c_test(plan, done) bind(c, name='redist_test')
            import; type(c_ptr), value :: plan; integer(c_int), intent(inout) :: done
        end function
        integer(c_int) function c_wait_all(plans, plan) bind(c, name='redist_wait_all')
            import; integer(c_int), value :: plans; type(c_ptr), intent(in) :: plan(*)
        end function
        integer(c_int) function c_next_arrival(plan, rank) bind(c, name='redist_next_arrival')
            import; type(c_ptr), value :: plan; integer(c_int), intent(inout) :: rank
        end function
        integer(c_int) function c_test_all(plans, plan, done) bind(c, name='redist_test_all')
            import; integer(c_int), value :: plans; type(c_ptr), intent(in) :: plan(*); integer(c_int), intent(inout) :: done
        end function
        integer(c_int) function c_plan_free(plan) bind(c, name='redist_plan_free')
            import; type(c_ptr), intent(inout) :: plan
        end function
        type(c_ptr) function c_plan_message(plan) bind(c, name='redist_plan_message')
            import; type(c_ptr), value :: plan
        end function
        integer(c_int) function c_plan_stats(plan, stats) bind(c, name='redist_plan_stats')
            import; type(c_ptr), value :: plan; type(redist_stats_t), intent(inout) :: stats
        end function
        integer(c_int) function c_plan_print(plan) bind(c, name='redist_f_plan_print')
            import; type(c_ptr), value :: plan
        end function
        integer(c_int) function c_arena_create(comm, bytes, arena) bind(c, name='redist_f_arena_create')
            import; integer(c_int), value :: comm; integer(c_size_t), value :: bytes; type(redist_arena_t), intent(out) :: arena
        end function
        type(c_ptr) function c_arena_alloc(arena, bytes) bind(c, name='redist_arena_alloc')
            import; type(c_ptr), value :: arena; integer(c_size_t), value :: bytes
        end function
        integer(c_int) function c_arena_adopt(arena, array, bytes) bind(c, name='redist_arena_adopt')
            import; type(c_ptr), value :: arena, array; integer(c_size_t), value :: bytes
        end function
        integer(c_int) function c_arena_release(arena, array) bind(c, name='redist_arena_release')
            import; type(c_ptr), value :: arena, array
        end function
        integer(c_size_t) function c_element_bytes(array) bind(c, name='redist_f_element_bytes')
            import; type(*), dimension(..), intent(in) :: array
        end function
        integer(c_int) function c_describes() bind(c, name='redist_f_describes')
            import
        end function
        integer(c_int) function c_is_contiguous(array) bind(c, name='redist_f_is_contiguous')
            import; type(*), dimension(..), intent(in) :: array
        end function
        integer(c_int) function c_arena_free(arena) bind(c, name='redist_arena_free')
            import; type(redist_arena_t), intent(inout) :: arena
        end function
        ! Names before 1.0: a program that uses one does not link, and the linker says today's, until 2.0.
        integer(c_int) function redist_owner(x, i) bind(c, name='redist_owner_is_now_redist_axis_owner')
            import; type(redist_axis_t), intent(in) :: x; integer(c_int64_t), value :: i
        end function
        integer(c_int64_t) function redist_local(x, i) bind(c, name='redist_local_is_now_redist_axis_local')
            import; type(redist_axis_t), intent(in) :: x; integer(c_int64_t), value :: i
        end function
        integer(c_int64_t) function redist_global(x, coord, l) bind(c, name='redist_global_is_now_redist_axis_global')
            import; type(redist_axis_t), intent(in) :: x; integer(c_int), value :: coord; integer(c_int64_t), value :: l
        end function
        integer(c_int64_t) function redist_count(x, coord) bind(c, name='redist_count_is_now_redist_axis_count')
            import; type(redist_axis_t), intent(in) :: x; integer(c_int), value :: coord
        end function
        integer(c_int64_t) function redist_layout_alloc(layout, rank) &
            bind(c, name='redist_layout_alloc_is_now_redist_layout_local_size')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: rank
        end function
        pure integer(c_size_t) function c_strlen(text) bind(c, name='strlen')
            import; type(c_ptr), value :: text
        end function
    end interface

    interface redist_plan_create
        procedure plan_create_integer, plan_create_f08
    end interface
    interface redist_plan_create_parts
        procedure plan_create_parts_integer, plan_create_parts_f08
    end interface
    interface redist_part
        procedure part_integer, part_f08
    end interface
    interface redist_layout_types
        procedure layout_types_integer, layout_types_f08
    end interface
    ! (plan, from, to, ierr), or in place (plan, array, ierr): one array of each side, or lists of addresses.
    interface redist_start
        procedure start_between, redist_start_in_place
    end interface
    interface redist_start_many
        procedure start_lists, start_list_in_place
    end interface
    interface redist_execute
        procedure execute_between, redist_execute_in_place
    end interface
    interface redist_execute_many
        procedure execute_lists, execute_list_in_place
    end interface
    interface redist_calibrate
        procedure calibrate_integer, calibrate_f08
    end interface
    interface redist_arena_create
        procedure arena_create_integer, arena_create_f08
    end interface

    public :: REDIST_OK, REDIST_ERR_ARGUMENT, REDIST_ERR_LAYOUT, REDIST_ERR_SHAPE, REDIST_ERR_RANK, REDIST_ERR_OVERFLOW, &
        REDIST_ERR_TYPE, REDIST_ERR_MISMATCH, REDIST_ERR_MEMORY, REDIST_ERR_ALIAS, REDIST_ERR_BUSY, REDIST_ERR_BUFFER, &
        REDIST_ERR_MPI, REDIST_AUTO, REDIST_ALLTOALLV, REDIST_ALLTOALLW, REDIST_POINT_TO_POINT, REDIST_SCHEDULED, &
        REDIST_SHARED, REDIST_MULTIPHASE, REDIST_NODES, REDIST_ROW_MAJOR, REDIST_COLUMN_MAJOR, REDIST_CLOSED, &
        REDIST_PERIODIC, REDIST_ESTIMATE, REDIST_MEASURE, REDIST_WIRE_EXACT, REDIST_WIRE_FLOAT, &
        REDIST_FLOAT, REDIST_DOUBLE, REDIST_COMPLEX_FLOAT, REDIST_COMPLEX_DOUBLE
    public :: redist_whole, redist_block, redist_cyclic, redist_block_cyclic, redist_balanced, redist_cuts, &
        redist_owners, redist_lists, redist_cuts_remainder_last, redist_cuts_remainder_first, redist_starting_at, &
        redist_axis_owner, redist_axis_local, redist_axis_global, redist_axis_count
    public :: redist_layout, redist_layout_nd, redist_layout_boxes, redist_from_scalapack, redist_grid_order, &
        redist_memory_order, redist_from_rank, redist_on_ranks, redist_replicated, redist_transposed, redist_rotated, &
        redist_with_halo, redist_with_ghosts, redist_ghost_depth, redist_with_allocated, redist_flipped, redist_section, &
        redist_permuted, redist_split, redist_merged, redist_partial, redist_without_corners, redist_at_offsets
    public :: redist_layout_places, redist_layout_rank, redist_layout_coords, redist_layout_owner, redist_layout_offset, &
        redist_layout_local_size, redist_layout_shape, redist_layout_place_shape, redist_layout_on_rank, &
        redist_layout_place_offsets, &
        redist_layout_next_place, redist_layout_place_coords, redist_layout_check, redist_layout_explain, &
        redist_layout_format, redist_layout_parse_size, redist_layout_print, redist_layout_types, redist_strerror, &
        redist_version
    public :: redist_volume, redist_traffic_between, redist_schedule_create, redist_schedule_free, redist_schedule_steps, &
        redist_schedule_step, redist_cost_of, redist_phases, redist_layouts, redist_best_grid, redist_relabel, &
        redist_advise, redist_move, redist_move_combining
    public :: redist_plan_create, redist_plan_create_parts, redist_part, redist_plan_free, redist_combine, &
        redist_combine_op, redist_combine_axpby, redist_plan_message, redist_plan_stats, redist_plan_print, &
        redist_calibrate, redist_array, redist_execute, redist_execute_in_place, redist_execute_many, redist_start, &
        redist_start_in_place, redist_start_many, redist_wait, redist_test, redist_wait_all, redist_test_all, &
        redist_next_arrival
    public :: redist_arena_create, redist_arena_alloc, redist_arena_adopt, redist_arena_release, redist_arena_free
    public :: redist_owner, redist_local, redist_global, redist_count, redist_layout_alloc

contains

    ! ---- text ----

    ! The text of a C string; '' for NULL.
    function text_at(address) result(text)
        type(c_ptr), intent(in) :: address
        character(:), allocatable :: text
        character(c_char), pointer :: c(:)
        integer :: k
        if (.not. c_associated(address)) then
            text = ''
            return
        end if
        call c_f_pointer(address, c, [c_strlen(address)])
        allocate (character(size(c)) :: text)
        do k = 1, size(c)
            text(k:k) = c(k)
        end do
    end function

    subroutine tell(buffer, message)
        character(c_char), intent(in), target :: buffer(:)
        character(*), intent(out), optional :: message
        if (present(message)) message = text_at(c_loc(buffer))
    end subroutine

    ! Reads a layout. The lists of cuts, ranks and boxes that the text contains go to storage, which must live as long as
    ! the layout; without such lists none is needed.
    subroutine redist_layout(text, layout, ierr, message, storage)
        character(*), intent(in) :: text
        type(redist_layout_t), intent(out) :: layout
        integer, intent(out) :: ierr
        character(*), intent(out), optional :: message
        integer(c_int64_t), intent(inout), target, contiguous, optional :: storage(:)
        character(c_char), target :: buffer(256)
        type(c_ptr) :: lists
        integer(c_size_t) :: bytes
        lists = c_null_ptr
        bytes = 0
        if (present(storage)) then
            lists = c_loc(storage)
            bytes = 8 * size(storage, kind=c_size_t)
        end if
        ierr = c_parse(trim(text)//c_null_char, layout, lists, bytes, c_loc(buffer), size(buffer, kind=c_size_t))
        call tell(buffer, message)
    end subroutine

    ! Bytes of storage that redist_layout takes for the lists of a text.
    function redist_layout_parse_size(text) result(bytes)
        character(*), intent(in) :: text
        integer(c_size_t) :: bytes
        bytes = c_parse_size(trim(text)//c_null_char)
    end function

    ! Writes a layout to standard output, as one line of text.
    subroutine redist_layout_print(layout, ierr)
        type(redist_layout_t), intent(in) :: layout
        integer, intent(out) :: ierr
        ierr = c_layout_print(layout)
    end subroutine

    ! A layout of an array of these axes, column-major, its places on ranks 0, 1, ... with the last coordinate fastest.
    function redist_layout_nd(axes) result(layout)
        type(redist_axis_t), intent(in) :: axes(:)
        type(redist_layout_t) :: layout
        layout = redist_memory_order(c_layout_nd(size(axes), axes), REDIST_COLUMN_MAJOR)
    end function

    ! A column-major layout where place k = 0, 1, ... owns box(k + 1), and every element lies in exactly one box.
    function redist_layout_boxes(extents, box) result(layout)
        integer(c_int64_t), intent(in) :: extents(:)
        type(redist_box_t), intent(in), target, contiguous :: box(:)
        type(redist_layout_t) :: layout
        layout = redist_memory_order(c_layout_boxes(size(extents), extents, size(box), box), REDIST_COLUMN_MAJOR)
    end function

    ! What redist_layout_check answers, and the sentence.
    subroutine redist_layout_explain(layout, ierr, message)
        type(redist_layout_t), intent(in) :: layout
        integer, intent(out) :: ierr
        character(*), intent(out) :: message
        character(c_char), target :: buffer(256)
        ierr = c_explain(layout, c_loc(buffer), size(buffer, kind=c_size_t))
        call tell(buffer, message)
    end subroutine

    ! The layout as text; '' when it is none.
    function redist_layout_format(layout) result(text)
        type(redist_layout_t), intent(in) :: layout
        character(:), allocatable :: text
        character(c_char), allocatable, target :: buffer(:)
        integer(c_int64_t) :: length
        length = max(c_format(layout, c_null_ptr, 0_c_size_t), 0_c_int64_t)
        allocate (buffer(length + 1))
        buffer = c_null_char
        length = c_format(layout, c_loc(buffer), size(buffer, kind=c_size_t))
        text = text_at(c_loc(buffer))
    end function

    function redist_strerror(code) result(text)
        integer, intent(in) :: code
        character(:), allocatable :: text
        text = text_at(c_strerror(code))
    end function

    ! ---- plans ----

    ! Plans the redistribution. Received elements are combined with the destination's by op (on the datatype given,
    ! which must then live as long as the plan), or by axpby. Datatypes for a file that holds the view row by row, the
    ! last axis fastest: of redist_transposed(layout) for a file in the order of Fortran's arrays.
    subroutine layout_types_integer(layout, rank, datatype, file, memory, ierr)
        type(redist_layout_t), intent(in) :: layout
        integer, intent(in) :: rank, datatype
        integer, intent(out) :: file, memory, ierr
        ierr = c_layout_types(layout, rank, datatype, file, memory)
    end subroutine

    subroutine layout_types_f08(layout, rank, datatype, file, memory, ierr)
        type(redist_layout_t), intent(in) :: layout
        integer, intent(in) :: rank
        type(MPI_Datatype), intent(in) :: datatype
        type(MPI_Datatype), intent(out) :: file, memory
        integer, intent(out) :: ierr
        ierr = c_layout_types(layout, rank, datatype%MPI_VAL, file%MPI_VAL, memory%MPI_VAL)
    end subroutine

    subroutine plan_create_integer(comm, from, to, datatype, plan, ierr, options, op, axpby, message)
        integer, intent(in) :: comm, datatype
        type(redist_layout_t), intent(in) :: from, to
        type(redist_plan_t), intent(out) :: plan
        integer, intent(out) :: ierr
        type(redist_options_t), intent(in), target, optional :: options
        integer, intent(in), optional :: op
        type(redist_axpby_t), intent(in), target, optional :: axpby
        character(*), intent(out), optional :: message
        type(redist_options_t), target :: chosen
        character(c_char), target :: buffer(256)
        integer :: status
        if (present(options)) chosen = options
        if (present(op)) then
            allocate (plan%op, stat=status) ! on failure the context is null, an error on every rank
            chosen%combine = c_funloc(redist_combine_op)
            chosen%context = c_null_ptr
            if (status == 0) call c_op(op, datatype, plan%op)
            if (status == 0) chosen%context = c_loc(plan%op)
        else if (present(axpby)) then
            chosen%combine = c_funloc(redist_combine_axpby)
            chosen%context = c_loc(axpby)
        end if
        buffer(1) = c_null_char
        chosen%message = c_loc(buffer)
        chosen%message_size = size(buffer)
        ierr = c_plan_create(comm, from, to, datatype, chosen, plan%plan)
        plan%arrays = max(chosen%arrays, 1)
        if (ierr /= REDIST_OK) call release(plan)
        call tell(buffer, message)
    end subroutine

    subroutine plan_create_f08(comm, from, to, datatype, plan, ierr, options, op, axpby, message)
        type(MPI_Comm), intent(in) :: comm
        type(MPI_Datatype), intent(in) :: datatype
        type(redist_layout_t), intent(in) :: from, to
        type(redist_plan_t), intent(out) :: plan
        integer, intent(out) :: ierr
        type(redist_options_t), intent(in), target, optional :: options
        type(MPI_Op), intent(in), optional :: op
        type(redist_axpby_t), intent(in), target, optional :: axpby
        character(*), intent(out), optional :: message
        integer, allocatable :: handle ! not allocated: absent
        if (present(op)) handle = op%MPI_VAL
        call plan_create_integer(comm%MPI_VAL, from, to, datatype%MPI_VAL, plan, ierr, options, handle, axpby, message)
    end subroutine

    ! An array with its own layouts and datatype. axpby, or combine with its context: how received elements are combined
    ! with the destination's, instead of as the plan's options say.
    function part_integer(from, to, datatype, axpby, combine, context) result(part)
        type(redist_layout_t), intent(in) :: from, to
        integer, intent(in) :: datatype
        type(redist_axpby_t), intent(in), target, optional :: axpby
        type(c_funptr), intent(in), optional :: combine
        type(c_ptr), intent(in), optional :: context
        type(redist_part_t) :: part
        part%from = from
        part%to = to
        part%datatype = datatype
        if (present(combine)) part%combine = combine
        if (present(context)) part%context = context
        if (present(axpby)) then
            part%combine = c_funloc(redist_combine_axpby)
            part%context = c_loc(axpby)
        end if
    end function

    function part_f08(from, to, datatype, axpby, combine, context) result(part)
        type(redist_layout_t), intent(in) :: from, to
        type(MPI_Datatype), intent(in) :: datatype
        type(redist_axpby_t), intent(in), target, optional :: axpby
        type(c_funptr), intent(in), optional :: combine
        type(c_ptr), intent(in), optional :: context
        type(redist_part_t) :: part
        part = part_integer(from, to, datatype%MPI_VAL, axpby, combine, context)
    end function

    ! Plans all parts, with one message per peer; redist_execute_many moves them.
    subroutine plan_create_parts_integer(comm, part, plan, ierr, options, message)
        integer, intent(in) :: comm
        type(redist_part_t), intent(in), target :: part(:)
        type(redist_plan_t), intent(out) :: plan
        integer, intent(out) :: ierr
        type(redist_options_t), intent(in), target, optional :: options
        character(*), intent(out), optional :: message
        type(redist_options_t), target :: chosen
        character(c_char), target :: buffer(256)
        if (present(options)) chosen = options
        buffer(1) = c_null_char
        chosen%message = c_loc(buffer)
        chosen%message_size = size(buffer)
        ierr = c_plan_create_parts(comm, size(part), part, chosen, plan%plan)
        plan%arrays = size(part)
        call tell(buffer, message)
    end subroutine

    subroutine plan_create_parts_f08(comm, part, plan, ierr, options, message)
        type(MPI_Comm), intent(in) :: comm
        type(redist_part_t), intent(in), target :: part(:)
        type(redist_plan_t), intent(out) :: plan
        integer, intent(out) :: ierr
        type(redist_options_t), intent(in), target, optional :: options
        character(*), intent(out), optional :: message
        call plan_create_parts_integer(comm%MPI_VAL, part, plan, ierr, options, message)
    end subroutine

    subroutine release(plan)
        type(redist_plan_t), intent(inout) :: plan
        if (associated(plan%op)) deallocate (plan%op)
        nullify (plan%op)
    end subroutine

    subroutine redist_plan_free(plan, ierr)
        type(redist_plan_t), intent(inout) :: plan
        integer, intent(out) :: ierr
        ierr = c_plan_free(plan%plan)
        if (ierr == REDIST_OK) call release(plan)
    end subroutine

    ! Why the last call for the plan failed.
    function redist_plan_message(plan) result(text)
        type(redist_plan_t), intent(in) :: plan
        character(:), allocatable :: text
        text = text_at(c_plan_message(plan%plan))//trim(plan%remark)
    end function

    subroutine redist_plan_stats(plan, stats, ierr)
        type(redist_plan_t), intent(in) :: plan
        type(redist_stats_t), intent(out) :: stats
        integer, intent(out) :: ierr
        ierr = c_plan_stats(plan%plan, stats)
    end subroutine

    ! Rank 0 writes the report to standard output. Collective.
    subroutine redist_plan_print(plan, ierr)
        type(redist_plan_t), intent(in) :: plan
        integer, intent(out) :: ierr
        ierr = c_plan_print(plan%plan)
    end subroutine

    ! What a message and a byte cost between the ranks of comm. Collective.
    subroutine calibrate_integer(comm, cost, ierr)
        integer, intent(in) :: comm
        type(redist_cost_t), intent(out) :: cost
        integer, intent(out) :: ierr
        ierr = c_calibrate(comm, cost)
    end subroutine

    subroutine calibrate_f08(comm, cost, ierr)
        type(MPI_Comm), intent(in) :: comm
        type(redist_cost_t), intent(out) :: cost
        integer, intent(out) :: ierr
        ierr = c_calibrate(comm%MPI_VAL, cost)
    end subroutine

    ! ---- executions ----

    ! The address of an array of any type, kind and rank; c_null_ptr if it is not contiguous in memory.
    function redist_array(array) result(address)
        type(*), dimension(..), intent(in), target, asynchronous :: array
        type(c_ptr) :: address
        address = c_null_ptr
        if (.not. is_contiguous(array)) return
        if (c_describes() /= 0) then ! gfortran says so of z%re
            if (c_is_contiguous(array) == 0) return
        end if
        address = c_loc(array)
    end function

    subroutine start_between(plan, from, to, ierr)
        type(redist_plan_t), intent(inout) :: plan
        type(*), dimension(..), intent(in), target, asynchronous :: from
        type(*), dimension(..), intent(inout), target, asynchronous :: to
        integer, intent(out) :: ierr
        ierr = c_start(plan%plan, redist_array(from), redist_array(to))
        call note(plan, ierr, [redist_array(from)], [redist_array(to)])
    end subroutine

    ! For plans whose options say in_place. redist_start calls it when it gets one array.
    subroutine redist_start_in_place(plan, array, ierr)
        type(redist_plan_t), intent(inout) :: plan
        type(*), dimension(..), intent(inout), target, asynchronous :: array
        integer, intent(out) :: ierr
        call start_between(plan, array, array, ierr)
    end subroutine

    ! options%arrays arrays at once, or one for each part: [redist_array(u), redist_array(v)]; fields that are one array
    ! q(:, :, n): [(redist_array(q(:, :, k)), k=1, n)]. redist cannot check whether what c_loc(u) names is contiguous.
    subroutine start_lists(plan, from, to, ierr)
        type(redist_plan_t), intent(inout) :: plan
        type(c_ptr), intent(in), contiguous, target :: from(:), to(:)
        integer, intent(out) :: ierr
        ierr = c_start_many(plan%plan, list_for(plan, from), list_for(plan, to))
        call note(plan, ierr, from, to)
    end subroutine

    subroutine start_list_in_place(plan, arrays, ierr)
        type(redist_plan_t), intent(inout) :: plan
        type(c_ptr), intent(in), contiguous, target :: arrays(:)
        integer, intent(out) :: ierr
        call start_lists(plan, arrays, arrays, ierr)
    end subroutine

    subroutine execute_between(plan, from, to, ierr)
        type(redist_plan_t), intent(inout) :: plan
        type(*), dimension(..), intent(in), target, asynchronous :: from
        type(*), dimension(..), intent(inout), target, asynchronous :: to
        integer, intent(out) :: ierr
        ierr = c_execute(plan%plan, redist_array(from), redist_array(to))
        call note(plan, ierr, [redist_array(from)], [redist_array(to)])
    end subroutine

    subroutine redist_execute_in_place(plan, array, ierr)
        type(redist_plan_t), intent(inout) :: plan
        type(*), dimension(..), intent(inout), target, asynchronous :: array
        integer, intent(out) :: ierr
        call execute_between(plan, array, array, ierr)
    end subroutine

    subroutine execute_lists(plan, from, to, ierr)
        type(redist_plan_t), intent(inout) :: plan
        type(c_ptr), intent(in), contiguous, target :: from(:), to(:)
        integer, intent(out) :: ierr
        ierr = c_execute_many(plan%plan, list_for(plan, from), list_for(plan, to))
        call note(plan, ierr, from, to)
    end subroutine

    subroutine execute_list_in_place(plan, arrays, ierr)
        type(redist_plan_t), intent(inout) :: plan
        type(c_ptr), intent(in), contiguous, target :: arrays(:)
        integer, intent(out) :: ierr
        call execute_lists(plan, arrays, arrays, ierr)
    end subroutine

    ! The list as C takes it; none, which C refuses, where it is too short.
    function list_for(plan, list) result(address)
        type(redist_plan_t), intent(in) :: plan
        type(c_ptr), intent(in), contiguous, target :: list(:)
        type(c_ptr) :: address
        address = c_null_ptr
        if (size(list) >= plan%arrays) address = c_loc(list)
    end function

    ! Adds to C's sentence what C cannot know of these arrays.
    subroutine note(plan, ierr, from, to)
        type(redist_plan_t), intent(inout) :: plan
        integer, intent(in) :: ierr
        type(c_ptr), intent(in) :: from(:), to(:)
        integer :: k
        plan%remark = ''
        if (ierr /= REDIST_ERR_ARGUMENT) return
        if (.not. all([(c_associated(from(k)), k = 1, size(from)), (c_associated(to(k)), k = 1, size(to))])) &
            plan%remark = '; arrays that are not contiguous in memory count as NULL'
        if (min(size(from), size(to)) < plan%arrays) &
            write (plan%remark, '(a, i0, a)') '; a list of fewer than ', plan%arrays, ' addresses counts as NULL'
    end subroutine

    subroutine redist_wait(plan, ierr)
        type(redist_plan_t), intent(inout) :: plan
        integer, intent(out) :: ierr
        plan%remark = ''
        ierr = c_wait(plan%plan)
    end subroutine

    subroutine redist_test(plan, done, ierr)
        type(redist_plan_t), intent(inout) :: plan
        logical, intent(out) :: done
        integer, intent(out) :: ierr
        integer(c_int) :: complete
        complete = 0
        plan%remark = ''
        ierr = c_test(plan%plan, complete)
        done = complete /= 0
    end subroutine

    subroutine redist_wait_all(plans, ierr)
        type(redist_plan_t), intent(in) :: plans(:)
        integer, intent(out) :: ierr
        ierr = c_wait_all(size(plans), plans%plan)
    end subroutine

    ! Ranks count from 0, as in MPI; -1: no further rank has arrived.
    subroutine redist_next_arrival(plan, source, ierr)
        type(redist_plan_t), intent(in) :: plan
        integer, intent(out) :: source, ierr
        source = -1
        ierr = c_next_arrival(plan%plan, source)
    end subroutine

    subroutine redist_test_all(plans, done, ierr)
        type(redist_plan_t), intent(in) :: plans(:)
        logical, intent(out) :: done
        integer, intent(out) :: ierr
        integer(c_int) :: complete
        complete = 0
        ierr = c_test_all(size(plans), plans%plan, complete)
        done = complete /= 0
    end subroutine

    ! ---- arenas ----

    subroutine arena_create_integer(comm, bytes, arena, ierr)
        integer, intent(in) :: comm
        integer(c_size_t), intent(in) :: bytes
        type(redist_arena_t), intent(out) :: arena
        integer, intent(out) :: ierr
        ierr = c_arena_create(comm, bytes, arena)
    end subroutine

    subroutine arena_create_f08(comm, bytes, arena, ierr)
        type(MPI_Comm), intent(in) :: comm
        integer(c_size_t), intent(in) :: bytes
        type(redist_arena_t), intent(out) :: arena
        integer, intent(out) :: ierr
        ierr = c_arena_create(comm%MPI_VAL, bytes, arena)
    end subroutine

    ! Memory of the arena, c_null_ptr when it is full. c_f_pointer makes it an array pointer of any rank and kind.
    function redist_arena_alloc(arena, bytes) result(memory)
        type(redist_arena_t), intent(in) :: arena
        integer(c_size_t), intent(in) :: bytes
        type(c_ptr) :: memory
        memory = c_arena_alloc(arena%arena, bytes)
    end function

    ! An array that exists, with the attribute `target` or `asynchronous`, allocated, saved or in a COMMON block, becomes
    ! shared memory where it is. A rank that adopts nothing gives an array of size 0. Collective, as is releasing it.
    subroutine redist_arena_adopt(arena, array, ierr)
        type(redist_arena_t), intent(in) :: arena
        type(*), dimension(..), intent(inout), target, asynchronous :: array
        integer, intent(out) :: ierr
        ierr = c_arena_adopt(arena%arena, adopted_address(array), c_element_bytes(array) * size(array, kind=c_size_t))
    end subroutine

    subroutine redist_arena_release(arena, array, ierr)
        type(redist_arena_t), intent(in) :: arena
        type(*), dimension(..), intent(inout), target, asynchronous :: array
        integer, intent(out) :: ierr
        ierr = c_arena_release(arena%arena, adopted_address(array))
    end subroutine

    function adopted_address(array) result(address)
        type(*), dimension(..), intent(in), target, asynchronous :: array
        type(c_ptr) :: address
        address = c_null_ptr
        if (size(array) > 0) address = redist_array(array)
    end function

    subroutine redist_arena_free(arena, ierr)
        type(redist_arena_t), intent(inout) :: arena
        integer, intent(out) :: ierr
        ierr = c_arena_free(arena)
    end subroutine
end module redist
