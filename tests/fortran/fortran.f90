! redist tests: the Fortran module against C (tests/fortran/peer.c), on 2 or 4 ranks. MIT licence, see LICENSE.
module testing
    use, intrinsic :: iso_c_binding
    use redist
    implicit none
    integer, parameter :: n = 13, m = 10, l = 7
    integer :: passed = 0, failed = 0, rank, p

    interface
        subroutine peer_layout(which, p, layout) bind(c)
            import; integer(c_int), value :: which, p; type(redist_layout_t), intent(out) :: layout
        end subroutine
        integer(c_int) function peer_constant(which) bind(c)
            import; integer(c_int), value :: which
        end function
        integer(c_int) function peer_options(options, arena) bind(c)
            import; type(redist_options_t), intent(in) :: options; type(redist_arena_t), value :: arena
        end function
        integer(c_int) function peer_move(from, to, a, b) bind(c)
            import; type(redist_layout_t), intent(in) :: from, to
            type(*), intent(in) :: a(*); type(*), intent(inout) :: b(*)
        end function
        integer(c_int) function c_owner(layout, index) bind(c, name='redist_layout_owner')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int64_t), intent(in) :: index(*)
        end function
        integer(c_int64_t) function c_offset(layout, index) bind(c, name='redist_layout_offset')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int64_t), intent(in) :: index(*)
        end function
        integer(c_int) function c_shape(layout, rank, shape) bind(c, name='redist_layout_shape')
            import; type(redist_layout_t), intent(in) :: layout; integer(c_int), value :: rank
            type(redist_shape_t), intent(inout) :: shape
        end function
    end interface

contains

    subroutine check(ok, what)
        logical, intent(in) :: ok
        character(*), intent(in) :: what
        if (ok) then
            passed = passed + 1
        else
            failed = failed + 1
            print '(a, i0, 2a)', 'FAILED: rank ', rank, ': ', what
        end if
    end subroutine

    function layout_of(which) result(layout)
        integer, intent(in) :: which
        type(redist_layout_t) :: layout
        integer(c_int64_t), target, save :: cuts_2(0:2) = [0, 3, n], cuts_4(0:4) = [0, 3, 3, 9, n]
        integer, target, save :: ranks_2(2) = [1, 0], ranks_4(4) = [2, 3, 1, 0]
        type(redist_box_t), target, save :: boxes(3)
        type(redist_axis_t) :: rows, columns
        rows = redist_block(n, p)
        columns = redist_whole(m)
        select case (which)
        case (1)
            layout = redist_layout_nd([rows, columns])
        case (2)
            layout = redist_layout_nd([redist_cyclic(n * m, p), redist_whole(1_c_int64_t)])
            layout = redist_memory_order(redist_merged(redist_split(layout, 1, int(m, c_int64_t)), 2), REDIST_ROW_MAJOR)
        case (3)
            columns = redist_starting_at(redist_block(int(m, c_int64_t), p / 2), p / 2 - 1)
            layout = redist_grid_order(redist_layout_nd([redist_block_cyclic(n, 3, 2), columns]), REDIST_COLUMN_MAJOR)
        case (4)
            layout = redist_with_halo(redist_layout_nd([redist_balanced(n, p), columns]), 1, 1, 2)
            layout = redist_with_allocated(redist_with_ghosts(layout, 1, REDIST_PERIODIC), 2, m + 3_c_int64_t)
        case (5)
            if (p == 2) layout = redist_on_ranks(redist_layout_nd([redist_cuts(cuts_2, p), columns]), ranks_2)
            if (p == 4) layout = redist_on_ranks(redist_layout_nd([redist_cuts(cuts_4, p), columns]), ranks_4)
        case (6)
            layout = redist_from_scalapack([1, 0, n, m, 3, 2, 1, 0, n + 1], 2, p / 2)
        case (7)
            layout = redist_section(redist_flipped(redist_layout_nd([rows, columns]), 1), 2, 3_c_int64_t, 3_c_int64_t, 3_c_int64_t)
            layout = redist_transposed(layout)
        case (8)
            layout = redist_layout_nd([redist_cyclic(n, 2), columns, redist_block(l, p / 2)])
            layout = redist_permuted(layout, [3, 1, 2])
        case (9)
            layout = redist_from_rank(redist_rotated(redist_layout_nd([redist_block(n, p / 2), columns]), 1), 1)
        case (10)
            layout = redist_replicated(redist_layout_nd([redist_block(n, p / 2), columns]), 2)
        case (11)
            boxes(2)%high(:2) = [n, 4]
            boxes(1)%low(:2) = [0, 4]
            boxes(1)%high(:2) = [n, m]
            layout = redist_layout_boxes([integer(c_int64_t) :: n, m], boxes(:2))
        end select
    end function

    ! Text, owners, offsets and shapes of a layout made in Fortran and of the same made in C.
    subroutine compare(which, extents)
        integer, intent(in) :: which, extents(:)
        type(redist_layout_t) :: mine, theirs, read
        type(redist_shape_t) :: shape, there
        integer(c_int64_t) :: index(size(extents)), storage(64)
        target :: storage
        integer :: k, d, rest, r, wrong, ierr, holds
        character(200) :: message
        mine = layout_of(which)
        call peer_layout(which, p, theirs)
        call redist_layout_explain(mine, ierr, message)
        call check(ierr == REDIST_OK .and. message == '', 'a layout made in Fortran: '//message)
        call check(len(redist_layout_format(mine)) > 10 .and. redist_layout_format(mine) == redist_layout_format(theirs), &
            redist_layout_format(mine)//' is in C '//redist_layout_format(theirs))
        call redist_layout(redist_layout_format(mine), read, ierr, message, storage)
        call check(ierr == REDIST_OK .and. redist_layout_format(read) == redist_layout_format(mine), 'read again: '//message)
        wrong = 0
        do k = 0, product(extents) - 1
            rest = k
            do d = 1, size(extents)
                index(d) = mod(rest, extents(d))
                rest = rest / extents(d)
            end do
            r = redist_layout_owner(mine, index + 1)
            if (r /= c_owner(theirs, index) .or. r < 0) wrong = wrong + 1
            if (redist_layout_offset(mine, index + 1) /= c_offset(theirs, index) + 1) wrong = wrong + 1
        end do
        call check(wrong == 0, 'owners and offsets of '//redist_layout_format(mine))
        index = extents
        call check(redist_layout_offset(mine, index + 1) == 0 .and. redist_layout_owner(mine, index * 0) == -1, 'outside')
        do r = 0, p
            wrong = 0
            holds = redist_layout_shape(mine, r, shape)
            if (holds /= c_shape(theirs, r, there)) wrong = 1
            d = size(extents)
            if (holds == 1) then
                if (any(shape%first(:d) /= there%first(:d) + 1) .or. shape%origin /= there%origin + 1) wrong = 2
                if (any(shape%count /= there%count) .or. any(shape%stride /= there%stride)) wrong = 3
            end if
            call check(wrong == 0, 'the shape of '//redist_layout_format(mine))
        end do
    end subroutine

    subroutine check_layouts()
        integer :: which
        do which = 1, 11
            select case (which)
            case (7)
                call compare(which, [3, n])
            case (8)
                call compare(which, [l, n, m])
            case (9)
                call compare(which, [m, n])
            case default
                call compare(which, [n, m])
            end select
        end do
    end subroutine

    ! Every index of an axis belongs where CYCLIC(3), shifted by one coordinate, puts it.
    subroutine check_axes()
        type(redist_axis_t) :: x
        integer(c_int64_t) :: i, owned
        integer :: wrong, c
        x = redist_starting_at(redist_block_cyclic(50_c_int64_t, 3_c_int64_t, 4), 1)
        wrong = 0
        do i = 1, 50
            c = int(mod((i - 1) / 3 + 1, 4_c_int64_t))
            if (redist_axis_owner(x, i) /= c) wrong = wrong + 1
            if (redist_axis_local(x, i) /= (i - 1) / 12 * 3 + mod(i - 1, 3_c_int64_t) + 1) wrong = wrong + 1
            if (redist_axis_global(x, c, redist_axis_local(x, i)) /= i) wrong = wrong + 1
        end do
        owned = sum([(redist_axis_count(x, c), c = 0, 3)])
        call check(wrong == 0 .and. owned == 50, 'owners and positions along an axis')
        call check(redist_axis_owner(x, 51_c_int64_t) == -1 .and. redist_axis_local(x, 0_c_int64_t) == 0, 'indices outside an axis')
    end subroutine

    subroutine check_constants()
        integer :: k
        integer, parameter :: all_of_them(*) = [ &
            REDIST_OK, REDIST_ERR_ARGUMENT, REDIST_ERR_LAYOUT, REDIST_ERR_SHAPE, REDIST_ERR_RANK, REDIST_ERR_OVERFLOW, &
            REDIST_ERR_TYPE, REDIST_ERR_MISMATCH, REDIST_ERR_MEMORY, REDIST_ERR_ALIAS, REDIST_ERR_BUSY, &
            REDIST_ERR_BUFFER, REDIST_ERR_MPI, REDIST_AUTO, REDIST_ALLTOALLV, REDIST_ALLTOALLW, REDIST_POINT_TO_POINT, &
            REDIST_SCHEDULED, REDIST_SHARED, REDIST_MULTIPHASE, REDIST_NODES, REDIST_ROW_MAJOR, REDIST_COLUMN_MAJOR, &
            REDIST_CLOSED, REDIST_PERIODIC, REDIST_ESTIMATE, REDIST_MEASURE, REDIST_WIRE_EXACT, REDIST_WIRE_FLOAT, &
            REDIST_FLOAT, REDIST_DOUBLE, REDIST_COMPLEX_FLOAT, REDIST_COMPLEX_DOUBLE, REDIST_MAX_DIMS]
        call check(all([(all_of_them(k) == peer_constant(k), k = 1, size(all_of_them))]) .and. &
            peer_constant(size(all_of_them) + 1) == -1, 'constants are as in C')
    end subroutine

    subroutine check_sentences()
        type(redist_layout_t) :: layout
        character(200) :: message
        integer(c_int64_t), target :: storage(1)
        integer :: ierr
        call redist_layout('10x10: block@2, *  ', layout, ierr, message)
        call check(ierr == REDIST_OK .and. message == '' .and. redist_layout_places(layout) == 2, 'a layout from text: '//message)
        call redist_layout('10x10: blok@2, *', layout, ierr, message)
        call check(ierr == REDIST_ERR_LAYOUT .and. index(message, 'column 8: expected') == 1, 'a mistake in text: '//message)
        call check(redist_layout_check(layout) == REDIST_ERR_LAYOUT, 'what was not read is no layout')
        call redist_layout('10: block@2; ranks 1, 0', layout, ierr, message, storage)
        call check(ierr == REDIST_OK .and. redist_layout_owner(layout, [1_c_int64_t]) == 1, 'ranks in text: '//message)
        call redist_layout('10: cuts(0, 4, 10); ranks 1, 0', layout, ierr, message, storage)
        call check(ierr == REDIST_ERR_MEMORY .and. index(message, 'storage') > 0, 'little storage: '//message)
        call redist_layout_explain(redist_with_halo(redist_layout_nd([redist_whole(3)]), 1, -1, 0), ierr, message)
        call check(ierr == REDIST_ERR_LAYOUT .and. index(message, '-1') > 0, 'a negative halo: '//message)
        call check(redist_strerror(REDIST_ERR_MPI) == 'an MPI call failed', 'redist_strerror')
    end subroutine
end module

! Handles that are integers.
module integer_handles
    use testing
    implicit none
    include 'mpif.h'
contains

    ! The element at (i, j), 1 <= i <= n.
    elemental real(c_double) function value_at(i, j)
        integer(c_int64_t), intent(in) :: i, j
        value_at = real(100 * i + j, c_double)
    end function

    ! The expected array of this layout, from C's layout; -1 where nothing is owned.
    function filled(which) result(array)
        integer, intent(in) :: which
        real(c_double), allocatable :: array(:)
        type(redist_layout_t) :: theirs
        integer(c_int64_t) :: i, j
        call peer_layout(which, p, theirs)
        allocate (array(redist_layout_local_size(theirs, rank)))
        array = -1
        do j = 1, m
            do i = 1, n
                if (c_owner(theirs, [i - 1, j - 1]) == rank) array(1 + c_offset(theirs, [i - 1, j - 1])) = value_at(i, j)
            end do
        end do
    end function

    ! Data moved by Fortran lies where C's layout says, and where C moves it.
    subroutine check_move(from, to)
        integer, intent(in) :: from, to
        type(redist_plan_t) :: plan
        real(c_double), allocatable, asynchronous :: a(:), b(:), c(:)
        integer :: ierr, k
        logical :: done
        character(200) :: message
        a = filled(from)
        call redist_plan_create(MPI_COMM_WORLD, layout_of(from), layout_of(to), MPI_DOUBLE_PRECISION, plan, ierr, message=message)
        call check(ierr == REDIST_OK .and. message == '', 'a plan: '//message)
        c = filled(to)
        c = -1
        ierr = peer_move(layout_of(from), layout_of(to), a, c)
        call check(ierr == REDIST_OK .and. all(c == filled(to) .or. filled(to) < 0), 'what C moves')
        do k = 1, 3
            b = 0 * c - 1
            if (k == 1) call redist_execute(plan, a, b, ierr)
            if (k > 1) call redist_start(plan, a, b, ierr)
            done = k == 1
            do while (k == 2 .and. .not. done .and. ierr == REDIST_OK)
                call redist_test(plan, done, ierr)
            end do
            if (k == 3) call redist_wait(plan, ierr)
            call check(ierr == REDIST_OK .and. all(b == c), 'what Fortran moves')
        end do
        call redist_plan_free(plan, ierr)
        call check(ierr == REDIST_OK, 'freeing a plan')
    end subroutine

    subroutine check_several()
        type(redist_plan_t) :: plan, plans(2)
        type(redist_options_t) :: options
        type(redist_stats_t) :: stats
        real(c_double), allocatable, target :: a(:), b(:), c(:), d(:)
        integer :: ierr, i, source, named(0:63)
        logical :: done
        a = filled(1)
        b = 2 * a
        c = 0 * filled(2)
        d = c
        options%arrays = 2
        options%method = REDIST_POINT_TO_POINT
        call redist_plan_create(MPI_COMM_WORLD, layout_of(1), layout_of(2), MPI_DOUBLE_PRECISION, plan, ierr, options)
        call redist_execute(plan, a, c, ierr)
        call check(ierr == REDIST_ERR_ARGUMENT .and. index(redist_plan_message(plan), 'redist_execute_many') > 0, &
            'one array of two: '//redist_plan_message(plan))
        call redist_execute_many(plan, [c_loc(a), c_loc(b)], [c_loc(c), c_loc(d)], ierr)
        call check(ierr == REDIST_OK .and. all(c == filled(2)) .and. all(d == 2 * c), 'two arrays')
        call redist_plan_stats(plan, stats, ierr)
        call check(stats%method == REDIST_POINT_TO_POINT .and. stats%sends == p - 1 .and. stats%receives == p - 1 &
            .and. stats%bytes_sent + stats%bytes_local == 16 * size(a) .and. stats%buffer_bytes > 0 .and. stats%shared_bytes == 0 &
            .and. stats%bytes_received + stats%bytes_local == 16 * size(c) .and. stats%steps == 1 .and. stats%phases == 1 &
            .and. stats%executions == 1 .and. stats%copying == 0 .and. stats%waiting == 0, &
            'what a plan does')
        call redist_plan_free(plan, ierr)
        options%arrays = 1
        call redist_plan_create(MPI_COMM_WORLD, layout_of(1), layout_of(2), MPI_DOUBLE_PRECISION, plans(1), ierr, options)
        call redist_plan_create(MPI_COMM_WORLD, layout_of(2), layout_of(1), MPI_DOUBLE_PRECISION, plans(2), ierr, options)
        c = 0
        b = 0
        call redist_start(plans(1), a, c, ierr)
        call redist_start(plans(2), d, b, ierr)
        call redist_start(plans(2), d, b, ierr)
        call check(ierr == REDIST_ERR_BUSY .and. len(redist_plan_message(plans(2))) > 0, 'started twice')
        call redist_test_all(plans, done, ierr)
        if (ierr == REDIST_OK) call redist_wait_all(plans(2:1:-1), ierr)
        call check(ierr == REDIST_OK .and. all(c == filled(2)) .and. all(b == 2 * a), 'two plans at a time')
        named = 0
        do i = 0, p
            call redist_next_arrival(plans(1), source, ierr)
            if (ierr == REDIST_OK .and. source >= 0) named(source) = named(source) + 1
        end do
        call check(ierr == REDIST_OK .and. source == -1 .and. all(named(0:p - 1) == 1), 'each rank has arrived once')
        call redist_test_all(plans, done, ierr)
        call check(ierr == REDIST_OK .and. done, 'nothing left to wait for')
        call redist_plan_free(plans(1), ierr)
        call redist_plan_free(plans(2), ierr)
    end subroutine

    ! An array from rows to columns with three types: complex, four default integers, and 16 characters.
    subroutine check_kinds()
        type(redist_plan_t) :: plan
        complex(c_double), allocatable :: z(:, :), w(:, :)
        integer, allocatable :: k(:, :, :)
        character(16), allocatable :: text(:)
        type(redist_shape_t) :: own
        integer :: ierr, i, j
        ierr = redist_layout_shape(layout_of(1), rank, own)
        allocate (z(own%count(1), m))
        do j = 1, m
            do i = 1, int(own%count(1))
                z(i, j) = cmplx(value_at(own%first(1) + i - 1, int(j, c_int64_t)), -j, c_double)
            end do
        end do
        allocate (w(redist_layout_local_size(layout_of(2), rank), 1))
        call redist_plan_create(MPI_COMM_WORLD, layout_of(1), layout_of(2), MPI_DOUBLE_COMPLEX, plan, ierr)
        call redist_execute(plan, z, w, ierr)
        call check(ierr == REDIST_OK .and. all(real(w(:, 1)) == filled(2)) .and. &
            all(nint(-aimag(w(:, 1))) == mod(nint(real(w(:, 1))), 100)), 'complex elements')
        allocate (k(4, size(w), 1), text(size(w)))
        call redist_execute(plan, z, k, ierr)
        call check(ierr == REDIST_OK .and. all(transfer(k, w(:, 1)) == w(:, 1)), 'elements of four integers')
        call redist_execute(plan, z, text, ierr)
        call check(ierr == REDIST_OK .and. all(transfer(text, w(:, 1)) == w(:, 1)), 'elements of characters')
        deallocate (k)
        allocate (k(4, 2 * size(w), 1))
        call redist_execute(plan, z, k(:, ::2, :), ierr)
        call check(size(w) < 2 .or. (ierr == REDIST_ERR_ARGUMENT .and. &
            index(redist_plan_message(plan), 'not contiguous in memory') > 0), 'an array with gaps')
        call redist_wait(plan, ierr)
        call check(ierr == REDIST_ERR_BUSY .and. index(redist_plan_message(plan), 'contiguous') == 0, 'waiting for nothing')
        call redist_plan_free(plan, ierr)
    end subroutine

    subroutine check_plan_errors()
        type(redist_plan_t) :: plan
        type(redist_layout_t) :: bad
        character(200) :: message
        integer :: ierr
        call redist_plan_create(MPI_COMM_WORLD, layout_of(1), layout_of(8), MPI_DOUBLE_PRECISION, plan, ierr, message=message)
        call check(ierr == REDIST_ERR_SHAPE .and. message /= '', 'plans of different shapes: '//message)
        bad = layout_of(1)
        if (rank == 1) bad = redist_layout_nd([redist_block(n, 0), redist_whole(m)])
        call redist_plan_create(MPI_COMM_WORLD, bad, layout_of(2), MPI_DOUBLE_PRECISION, plan, ierr, message=message)
        call check(ierr == REDIST_ERR_LAYOUT .and. index(message, 'rank 1: ') == 1, 'a layout that one rank gets wrong: '//message)
        call redist_plan_create(MPI_COMM_WORLD, layout_of(1), layout_of(2), MPI_DOUBLE_PRECISION, plan, ierr, op=MPI_OP_NULL, &
            message=message)
        call check(ierr == REDIST_ERR_ARGUMENT .and. index(message, 'operation') > 0, 'no operation: '//message)
        call redist_execute(plan, message, message, ierr)
        call check(ierr == REDIST_ERR_ARGUMENT, 'a plan that was not made')
        call redist_plan_free(plan, ierr)
        call check(ierr == REDIST_OK, 'freeing nothing')
    end subroutine

    subroutine check_axpby()
        type(redist_plan_t) :: plan
        type(redist_axpby_t), target :: factors
        real(c_double), allocatable :: b(:)
        integer :: ierr
        factors%alpha(1) = 3
        factors%beta(1) = 2
        call redist_plan_create(MPI_COMM_WORLD, layout_of(3), layout_of(2), MPI_DOUBLE_PRECISION, plan, ierr, axpby=factors)
        b = filled(2)
        call redist_execute(plan, filled(3), b, ierr)
        call check(ierr == REDIST_OK .and. all(b == 5 * filled(2)), '2 b + 3 a')
        factors%alpha(1) = -4
        factors%beta(1) = 1
        call redist_execute(plan, filled(3), b, ierr)
        call check(ierr == REDIST_OK .and. all(b == filled(2)), 'b - 4 a')
        call redist_plan_free(plan, ierr)
    end subroutine
end module

! Handles of mpi_f08.
module typed_handles
    use testing
    use mpi_f08
    implicit none
contains

    ! How many ranks hold index i of a periodic axis of n, with one ghost cell before and two after what they own.
    integer function holders(x, i)
        type(redist_axis_t), intent(in) :: x
        integer, intent(in) :: i
        integer :: c, k, first, last
        holders = 0
        do c = 0, p - 1
            first = int(redist_axis_global(x, c, 1_c_int64_t))
            last = first + int(redist_axis_count(x, c)) - 1
            holders = holders + count([(modulo(k - 1, n) + 1 == i, k = first - 1, last + 2)])
        end do
    end function

    ! Ghost cells are filled from their owners, and added to them.
    subroutine check_ghosts()
        type(redist_layout_t) :: plain, ghosts
        type(redist_plan_t) :: fill, add
        type(redist_options_t) :: options
        type(redist_axis_t) :: x
        type(redist_shape_t) :: own
        integer, allocatable :: a(:, :)
        integer :: ierr, i, j, first, count, wrong
        character(200) :: message
        x = redist_balanced(n, p)
        plain = redist_with_halo(redist_layout_nd([x, redist_whole(m)]), 1, 1, 2)
        ghosts = redist_with_ghosts(plain, 1, REDIST_PERIODIC)
        options%in_place = 1
        call redist_plan_create(MPI_COMM_WORLD, plain, ghosts, MPI_INTEGER, fill, ierr, options, message=message)
        call check(ierr == REDIST_OK, 'a plan that fills ghost cells: '//message)
        call redist_plan_create(MPI_COMM_WORLD, ghosts, plain, MPI_INTEGER, add, ierr, options, op=MPI_SUM, message=message)
        call check(ierr == REDIST_OK, 'a plan that adds ghost cells: '//message)
        ierr = redist_layout_shape(plain, rank, own)
        first = int(own%first(1))
        count = int(own%count(1))
        allocate (a(first - 1:first + count + 1, m))
        call check(size(a) == redist_layout_local_size(ghosts, rank) .and. own%origin == 2 .and. own%stride(2) == count + 3, &
            'the shape of an array with ghost cells')
        a = -1
        do j = 1, m
            a(first:first + count - 1, j) = [(1000 * j + i, i = first, first + count - 1)]
        end do
        call redist_execute_in_place(fill, a, ierr)
        wrong = 0
        do j = 1, m
            do i = lbound(a, 1), ubound(a, 1)
                if (a(i, j) /= 1000 * j + modulo(i - 1, n) + 1) wrong = wrong + 1
            end do
        end do
        call check(ierr == REDIST_OK .and. wrong == 0, 'ghost cells')
        a = 1
        call redist_execute_in_place(add, a, ierr)
        call check(ierr == REDIST_OK .and. all(a(first:first + count - 1, 1) == [(holders(x, i), i = first, first + count - 1)]) &
            .and. all(a(first, :) == a(first, 1)) .and. holders(x, first) > 1, 'ghost cells added to their owners')
        call redist_plan_free(fill, ierr)
        call redist_plan_free(add, ierr)
        call check(ierr == REDIST_OK, 'freeing a plan with an operation')
        ghosts = redist_without_corners(redist_with_ghosts(redist_with_halo(ghosts, 2, 1, 1), 2, REDIST_CLOSED))
        call check(redist_layout_check(ghosts) == REDIST_OK .and. &
            index(redist_layout_format(ghosts), 'without corners') > 0, redist_layout_format(ghosts))
        call check(redist_layout_check(redist_without_corners(plain)) == REDIST_ERR_LAYOUT, 'corners without ghost cells')
    end subroutine

    ! Two fields of different staggering in one message per neighbour, ghost cells of half their depth, in place.
    subroutine check_parts()
        type(redist_layout_t) :: plain, ghosts(2), faces
        type(redist_plan_t) :: plan
        type(redist_options_t) :: options
        type(redist_stats_t) :: stats
        type(redist_shape_t) :: own
        double precision, allocatable, target :: u(:, :)
        integer, allocatable, target :: v(:, :)
        integer(c_int64_t), target :: cuts(0:p)
        integer :: ierr, i, first, last, wrong
        character(200) :: message
        cuts = [(int(3 * i, c_int64_t), i = 0, p)]
        cuts(p) = cuts(p) + 1
        plain = redist_with_halo(redist_layout_nd([redist_block(3 * p, p), redist_whole(m)]), 1, 2, 2)
        faces = redist_with_halo(redist_layout_nd([redist_cuts(cuts, p), redist_whole(m)]), 1, 2, 2)
        ghosts = [redist_with_ghosts(plain, 1, REDIST_CLOSED), redist_with_ghosts(faces, 1, REDIST_CLOSED)]
        ghosts(1) = redist_ghost_depth(ghosts(1), 1, 1, 1)
        options%in_place = 1
        call redist_plan_create_parts(MPI_COMM_WORLD, [redist_part(plain, ghosts(1), MPI_DOUBLE_PRECISION), &
            redist_part(faces, ghosts(2), MPI_INTEGER)], plan, ierr, options, message)
        call check(ierr == REDIST_OK, 'a plan of two parts: '//message)
        ierr = redist_layout_shape(faces, rank, own)
        first = int(own%first(1))
        last = first + int(own%count(1)) - 1
        call check(own%allocated(1) == last - first + 5 .and. own%allocated(2) == m, 'cells along the axes')
        allocate (u(first - 2:first + 4, m), v(first - 2:last + 2, m))
        u = -1
        v = -1
        u(first:first + 2, :) = spread([(dble(i), i = first, first + 2)], 2, m)
        v(first:last, :) = spread([(i, i = first, last)], 2, m)
        call redist_execute_many(plan, [c_loc(u(first - 2, 1)), c_loc(v)], [c_loc(u(first - 2, 1)), c_loc(v)], ierr)
        wrong = 0
        do i = first - 2, first + 4
            if (any(u(i, :) /= merge(i, -1, i >= max(1, first - 1) .and. i <= min(3 * p, first + 3)))) wrong = wrong + 1
        end do
        do i = first - 2, last + 2
            if (any(v(i, :) /= merge(i, -1, i >= 1 .and. i <= 3 * p + 1))) wrong = wrong + 1
        end do
        call check(ierr == REDIST_OK .and. wrong == 0, 'ghost cells of two staggerings')
        call redist_plan_stats(plan, stats, ierr)
        call check(stats%sends == count([rank > 0, rank < p - 1]), 'one message per neighbour')
        call redist_plan_free(plan, ierr)
        call redist_plan_create_parts(MPI_COMM_WORLD, [redist_part(plain, faces, MPI_INTEGER)], plan, ierr, message=message)
        call check(ierr == REDIST_ERR_SHAPE .and. index(message, 'extent') > 0, 'a part of two shapes: '//message)
    end subroutine

    ! What the head of the module says: what counts from 1 and what from 0, and which builders are column-major.
    subroutine check_counting()
        type(redist_axis_t) :: x
        type(redist_layout_t) :: columns, boxes, matrix, rows, moved
        type(redist_shape_t) :: own
        type(redist_box_t), target :: box(1)
        integer(c_int64_t), target :: offsets(2) = [0, 7], cuts(0:2) = [0, 1, 4], index(4) = [2, 3, 1, 0]
        integer(c_int64_t), parameter :: one_two(2) = [1, 2]
        integer, target :: ranks(2) = [0, 0], owner(4) = [1, 0, 1, 1]
        integer :: ierr
        x = redist_cuts(cuts, 2)
        call check(redist_axis_owner(x, 1_c_int64_t) == 0 .and. redist_axis_owner(x, 2_c_int64_t) == 1 .and. &
            redist_axis_local(x, 2_c_int64_t) == 1 .and. redist_axis_global(x, 1, 3_c_int64_t) == 4, 'cuts')
        call check(redist_axis_owner(x, 5_c_int64_t) == -1 .and. redist_axis_local(x, 0_c_int64_t) == 0 .and. &
            redist_axis_global(x, 0, 2_c_int64_t) == 0, 'no coordinate is -1, no position and no index 0')
        x = redist_owners(4_c_int64_t, owner, 2)
        call check(redist_axis_owner(x, 3_c_int64_t) == 1 .and. redist_axis_local(x, 3_c_int64_t) == 2 .and. &
            redist_axis_global(x, 1, 3_c_int64_t) == 4, 'owners')
        x = redist_lists(4_c_int64_t, cuts, index, 2)
        call check(redist_axis_owner(x, 3_c_int64_t) == 0 .and. redist_axis_local(x, 1_c_int64_t) == 3 .and. &
            redist_axis_global(x, 1, 1_c_int64_t) == 4, 'lists')
        box(1)%high(:2) = [4, 6]
        columns = redist_layout_nd([redist_whole(4), redist_whole(6)])
        boxes = redist_layout_boxes([integer(c_int64_t) :: 4, 6], box)
        matrix = redist_from_scalapack([1, 0, 4, 6, 4, 6, 0, 0, 4], 1, 1)
        call redist_layout('4x6: *, *', rows, ierr)
        call check(redist_layout_offset(columns, one_two) == 5 .and. redist_layout_offset(boxes, one_two) == 5 .and. &
            redist_layout_offset(matrix, one_two) == 5, 'nd, boxes and from_scalapack are column-major')
        call check(ierr == REDIST_OK .and. redist_layout_offset(rows, one_two) == 2, 'text without an order is row-major')
        moved = redist_at_offsets(redist_on_ranks(redist_layout_nd([redist_block(4, 2), redist_whole(1)]), ranks), offsets)
        ierr = redist_layout_place_shape(moved, 0, own)
        call check(ierr == 1 .and. own%origin == 1, 'offset 0 is position 1')
        ierr = redist_layout_place_shape(moved, 1, own)
        call check(ierr == 1 .and. own%origin == 8, 'offset 7 is position 8')
    end subroutine

    ! Every rank holds two of the places of a matrix, the second one first in its array.
    subroutine check_places()
        type(redist_layout_t) :: columns, patches
        type(redist_plan_t) :: plan
        type(redist_shape_t) :: own
        integer, target :: ranks(2 * p)
        integer(c_int64_t), target :: offsets(2 * p)
        integer :: ierr, i, k, places(3), a(4 * p, 1), b(4)
        ranks = [(mod(k, p), k = 0, 2 * p - 1)]
        offsets = [(merge(2_c_int64_t, 0_c_int64_t, k < p), k = 0, 2 * p - 1)]
        columns = redist_layout_nd([redist_whole(4 * p), redist_block(1, p)])
        patches = redist_layout_nd([redist_block(4 * p, 2 * p), redist_whole(1)])
        patches = redist_at_offsets(redist_on_ranks(patches, ranks), offsets)
        k = redist_layout_on_rank(patches, rank, 3, places)
        call check(k == 2 .and. all(places(:2) == [rank, rank + p]), 'two places')
        call check(redist_layout_next_place(patches, rank, -1) == rank .and. &
            redist_layout_next_place(patches, rank, rank) == rank + p .and. &
            redist_layout_next_place(patches, rank, rank + p) == -1, 'one place after another')
        k = redist_layout_place_coords(patches, rank + p, places)
        call check(k == 1 .and. sum(places(:2)) == rank + p, 'the coordinates of a place')
        call check(redist_version() >= 10000, 'the version')
        ierr = redist_layout_place_shape(patches, rank, own)
        call check(ierr == 1 .and. own%origin == 3 .and. own%first(1) == 2 * rank + 1, 'the shape of a place')
        call redist_plan_create(MPI_COMM_WORLD, columns, patches, MPI_INTEGER, plan, ierr)
        call check(ierr == REDIST_OK, 'a plan to patches')
        a(:, 1) = [(i, i = 1, 4 * p)]
        b = 0
        call redist_execute(plan, a, b, ierr)
        call check(ierr == REDIST_OK .and. all(b == [2 * (rank + p) + 1, 2 * (rank + p) + 2, 2 * rank + 1, 2 * rank + 2]), &
            'what arrives in patches')
        call redist_plan_free(plan, ierr)
    end subroutine

    ! A file in the order of Fortran's arrays, written by all ranks and read by one.
    subroutine check_files()
        type(redist_layout_t) :: layout
        type(MPI_Datatype) :: in_file, memory
        type(MPI_File) :: file
        integer :: ierr, i, j, l, wrong, unit, values(n, m)
        integer, allocatable :: a(:, :)
        type(redist_axis_t) :: x
        x = redist_block_cyclic(n, 2, p)
        layout = redist_transposed(redist_layout_nd([x, redist_whole(m)]))
        call redist_layout_types(layout, rank, MPI_INTEGER, in_file, memory, ierr)
        call check(ierr == REDIST_OK, 'datatypes of a file')
        allocate (a(int(redist_axis_count(x, rank)), m))
        do l = 1, size(a, 1)
            a(l, :) = [(1000 * j + int(redist_axis_global(x, rank, int(l, c_int64_t))), j = 1, m)]
        end do
        call MPI_File_open(MPI_COMM_WORLD, 'fortran.file', ior(MPI_MODE_CREATE, MPI_MODE_WRONLY), MPI_INFO_NULL, file)
        call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, in_file, 'native', MPI_INFO_NULL)
        call MPI_File_write_all(file, a, 1, memory, MPI_STATUS_IGNORE)
        call MPI_File_close(file)
        call MPI_Type_free(in_file)
        call MPI_Type_free(memory)
        wrong = 0
        if (rank == 0) then
            open (newunit=unit, file='fortran.file', access='stream', form='unformatted', status='old')
            read (unit) values
            close (unit, status='delete')
            do j = 1, m
                wrong = wrong + count(values(:, j) /= [(1000 * j + i, i = 1, n)])
            end do
        end if
        call check(wrong == 0, 'a file')
        call redist_layout_types(layout, -1, MPI_INTEGER, in_file, memory, ierr)
        call check(ierr == REDIST_ERR_RANK .and. memory == MPI_DATATYPE_NULL, 'datatypes of no rank')
    end subroutine

    ! Arrays of two kinds and ranks in an arena.
    subroutine check_arena()
        type(redist_arena_t) :: arena
        type(redist_options_t) :: options
        type(redist_plan_t) :: plan
        type(redist_stats_t) :: stats
        type(redist_layout_t) :: from, to
        complex(c_float_complex), pointer :: a(:, :, :)
        real(c_float), pointer :: b(:, :)
        real(c_float), allocatable :: c(:, :)
        type(redist_shape_t) :: own
        integer :: ierr, i, j
        from = redist_layout_nd([redist_whole(n), redist_block(m, p)])
        to = redist_layout_nd([redist_block(n, p), redist_whole(m)])
        call redist_arena_create(MPI_COMM_WORLD, 100000_c_size_t, arena, ierr)
        call check(ierr == REDIST_OK, 'an arena')
        call check(.not. c_associated(redist_arena_alloc(arena, 1000000000_c_size_t)), 'an arena that is too small')
        options%arena = arena
        options%method = REDIST_SHARED
        call redist_plan_create(MPI_COMM_WORLD, from, to, MPI_COMPLEX, plan, ierr, options)
        ierr = redist_layout_shape(from, rank, own)
        call c_f_pointer(redist_arena_alloc(arena, 8_c_size_t * redist_layout_local_size(from, rank)), a, [n, int(own%count(2)), 1])
        do j = 1, size(a, 2)
            a(:, j, 1) = [(cmplx(i, own%first(2) + j - 1, c_float_complex), i = 1, n)]
        end do
        ierr = redist_layout_shape(to, rank, own)
        call c_f_pointer(redist_arena_alloc(arena, 8_c_size_t * redist_layout_local_size(to, rank)), b, [2 * int(own%count(1)), m])
        call redist_execute(plan, a, b, ierr)
        allocate (c, mold=b)
        do j = 1, m
            c(1::2, j) = [(real(own%first(1) + i - 1), i = 1, int(own%count(1)))]
            c(2::2, j) = j
        end do
        call check(ierr == REDIST_OK .and. all(b == c), 'arrays in an arena')
        call redist_plan_stats(plan, stats, ierr)
        call check(ierr == REDIST_OK .and. stats%method == REDIST_SHARED .and. stats%shared_bytes > 0, 'and how they moved')
        call check_adopted(arena, plan, a, c)
        call redist_arena_free(arena, ierr)
        call check(ierr == REDIST_ERR_BUSY, 'an arena that has plans')
        call check_options(arena)
        call redist_plan_free(plan, ierr)
        call redist_arena_free(arena, ierr)
        call check(ierr == REDIST_OK, 'freeing an arena')
    end subroutine

    ! An allocatable array and one in a COMMON block, moved as `a` is to `c`, while an arena has adopted them, and after.
    subroutine check_adopted(arena, plan, a, c)
        type(redist_arena_t), intent(in) :: arena
        type(redist_plan_t), intent(inout) :: plan
        complex(c_float_complex), intent(in) :: a(:, :, :)
        real(c_float), intent(in) :: c(:, :)
        complex(c_float_complex), allocatable, target :: u(:, :, :)
        real(c_float), target :: w(2 * n * m)
        common /adopted/ w
        integer :: ierr, k
        u = a
        w = -1
        call redist_arena_adopt(arena, u, ierr)
        if (ierr == REDIST_OK) call redist_arena_adopt(arena, w, ierr)
        call check(ierr == REDIST_OK .and. all(u == a) .and. all(w == -1), 'adopted arrays')
        do k = 1, 2
            w = 0
            call redist_execute(plan, u, w, ierr)
            call check(ierr == REDIST_OK .and. all(w(:size(c)) == reshape(c, [size(c)])) .and. all(w(size(c) + 1:) == 0), &
                'moving adopted arrays')
            if (k == 1) call redist_arena_release(arena, u, ierr)
            if (k == 1 .and. ierr == REDIST_OK) call redist_arena_release(arena, w(1:0), ierr)
            call check(k == 2 .or. ierr == REDIST_ERR_ARGUMENT, 'nothing to release')
        end do
        call redist_arena_release(arena, w, ierr)
        call check(ierr == REDIST_OK .and. all(u == a), 'released')
        call redist_arena_release(arena, w, ierr)
        call check(ierr == REDIST_ERR_ARGUMENT, 'not adopted')
    end subroutine

    ! C receives every option in its own member.
    subroutine check_options(arena)
        type(redist_arena_t), intent(in) :: arena
        type(redist_options_t) :: o
        integer(c_intptr_t) :: address
        address = transfer(arena, address)
        o%method = 1
        o%effort = 1
        o%arrays = 3
        o%max_buffer = 4
        o%in_place = 5
        o%arena = arena
        o%fixed_from = transfer(address + 1, c_null_ptr)
        o%fixed_to = transfer(address + 2, c_null_ptr)
        o%executions = 9
        o%node_ranks = 10
        o%timed = 11
        o%checked = 12
        o%wire = REDIST_WIRE_FLOAT
        o%combine = operation()
        o%context = transfer(address + 3, c_null_ptr)
        o%cost = redist_cost_t(1, 2)
        o%message = transfer(address + 4, c_null_ptr)
        o%message_size = 14
        call check(peer_options(o, arena) == 1, 'options are as in C')
    end subroutine

    type(c_funptr) function operation()
        interface
            subroutine combine_op(from, to, n, context) bind(c, name='redist_combine_op')
                import; type(c_ptr), value :: from, to, context; integer(c_int64_t), value :: n
            end subroutine
        end interface
        operation = c_funloc(combine_op)
    end function
end module

program main
    use testing
    use typed_handles
    use integer_handles, only: check_move, check_several, check_kinds, check_plan_errors, check_axpby
    implicit none
    integer :: mine(2), all_ranks(2)
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, p)
    call check_constants()
    call check_axes()
    call check_layouts()
    call check_sentences()
    call check_move(1, 2)
    call check_move(2, 3)
    call check_move(5, 4)
    call check_move(6, 5)
    call check_move(11, 1)
    call check_several()
    call check_kinds()
    call check_axpby()
    call check_plan_errors()
    call check_ghosts()
    call check_parts()
    call check_places()
    call check_counting()
    call check_files()
    call check_arena()
    mine = [passed, failed]
    call MPI_Reduce(mine, all_ranks, 2, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
    if (rank == 0) print '(a, i0, a, i0, a)', 'fortran: ', all_ranks(1), ' passed, ', all_ranks(2), ' failed, 0 skipped'
    call MPI_Finalize()
    if (failed > 0) stop 1
end program
