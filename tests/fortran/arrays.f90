! redist tests: arrays of every rank, kind and storage in executions from Fortran, against brute force over every element.
! 1, 2 or 4 ranks; by the C preprocessor. MIT licence, see LICENSE.
module arrays
    use, intrinsic :: iso_c_binding
    use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
    use mpi_f08
    use redist
    implicit none
    integer, parameter :: extents(4) = [8, 4, 4, 4], strides(4) = [1, 8, 32, 128], source = 1, destination = 2
    integer :: passed = 0, failed = 0, rank, p

contains

    ! Elsewhere than what moves it: gfortran would pass a copy there.
    subroutine point_to_real_part(numbers, part)
        complex(real64), target, intent(in) :: numbers(:)
        real(real64), pointer, intent(out) :: part(:)
        part => numbers%re
    end subroutine

    logical function has_address(array)
        class(*), target, intent(in) :: array(:)
        has_address = c_associated(redist_array(array))
    end function

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

    ! The source has blocks along the first axis, the destination is cyclic along the last. Local arrays are allocated
    ! with the extents of the whole one.
    function layout_of(dims, side) result(layout)
        integer, intent(in) :: dims, side
        type(redist_layout_t) :: layout
        type(redist_axis_t) :: axes(dims)
        integer :: d, cut
        axes = [(redist_whole(extents(d)), d = 1, dims)]
        cut = merge(1, dims, side == source)
        if (side == source) axes(cut) = redist_block(extents(cut), p)
        if (side == destination) axes(cut) = redist_cyclic(extents(cut), p)
        layout = redist_with_allocated(redist_layout_nd(axes), cut, int(extents(cut), c_int64_t))
    end function

    ! This rank's array: element k = 1, 2, ... of the whole one has the value k, and what it does not own is -1.
    pure function local(dims, side) result(values)
        integer, intent(in) :: dims, side
        integer :: values(product(extents(:dims)))
        integer :: k, owner, index(dims)
        values = -1
        do k = 1, size(values)
            index = mod((k - 1) / strides(:dims), extents(:dims))
            if (side == source) then
                owner = index(1) * p / extents(1)
                index(1) = index(1) - owner * extents(1) / p
            else
                owner = mod(index(dims), p)
                index(dims) = index(dims) / p
            end if
            if (owner == rank) values(1 + sum(index * strides(:dims))) = k
        end do
    end function

    ! What moving within one array leaves there.
    pure function local_in_place(dims) result(values)
        integer, intent(in) :: dims
        integer :: values(product(extents(:dims)))
        values = local(dims, destination)
        where (values < 0) values = local(dims, source)
    end function

    subroutine create(dims, datatype, count, in_place, plan, checked)
        integer, intent(in) :: dims, count, in_place
        type(MPI_Datatype), intent(in) :: datatype
        type(redist_plan_t), intent(out) :: plan
        integer, intent(in), optional :: checked
        type(redist_options_t) :: options
        character(200) :: message
        integer :: ierr
        options%arrays = count
        options%in_place = in_place
        if (present(checked)) options%checked = checked
        call redist_plan_create(MPI_COMM_WORLD, layout_of(dims, source), layout_of(dims, destination), datatype, plan, ierr, &
            options, message=message)
        call check(ierr == REDIST_OK, 'a plan: '//message)
    end subroutine

#define NAME single
#define COMMON_NAME single_arrays
#define ELEMENT real(real32)
#define VALUE(x) real(x, real32)
#include "kind.inc"
#define NAME double
#define COMMON_NAME double_arrays
#define ELEMENT real(real64)
#define VALUE(x) real(x, real64)
#include "kind.inc"
#define NAME single_complex
#define COMMON_NAME single_complex_arrays
#define ELEMENT complex(real32)
#define VALUE(x) cmplx(x, 1 - (x), real32)
#include "kind.inc"
#define NAME double_complex
#define COMMON_NAME double_complex_arrays
#define ELEMENT complex(real64)
#define VALUE(x) cmplx(x, 1 - (x), real64)
#include "kind.inc"
#define NAME integers
#define COMMON_NAME integer_arrays
#define ELEMENT integer(int32)
#define VALUE(x) int(x, int32)
#include "kind.inc"
#define NAME long_integers
#define COMMON_NAME long_integer_arrays
#define ELEMENT integer(int64)
#define VALUE(x) int(x, int64)
#include "kind.inc"

    ! Fields along the last axis of one array, contiguous sections, and arrays whose size the callee does not know.
    subroutine check_sections()
        type(redist_plan_t) :: one, two
        integer, asynchronous :: fields(8, 4, 3), moved(8, 4, 3)
        integer :: ierr, k
        call create(2, MPI_INTEGER, 1, 0, one)
        call create(2, MPI_INTEGER, 2, 0, two)
        do k = 1, 3
            fields(:, :, k) = k * reshape(local(2, source), [8, 4])
        end do
        moved = -1
        call redist_execute_many(two, [(redist_array(fields(:, :, k)), k = 3, 2, -1)], &
            [(redist_array(moved(:, :, k)), k = 1, 2)], ierr)
        call check(ierr == REDIST_OK .and. are_moved(moved(:, :, 1), 3) .and. are_moved(moved(:, :, 2), 2) .and. &
            all(moved(:, :, 3) == -1), 'fields along the last axis')
        call redist_execute(one, fields(:, :, 2), moved(:, :, 3), ierr)
        call check(ierr == REDIST_OK .and. are_moved(moved(:, :, 3), 2), 'contiguous sections')
        call of_unknown_size(one, fields, moved, ierr)
        call check(ierr == REDIST_OK .and. are_moved(moved(:, :, 1), 1), 'arrays of assumed size')
        call redist_execute(one, fields(1, 1, 3), moved(1, 1, 2), ierr)
        call check(ierr == REDIST_OK .and. are_moved(moved(:, :, 2), 3), 'arrays that begin with an element')
        call redist_plan_free(one, ierr)
        call redist_plan_free(two, ierr)
    end subroutine

    pure logical function are_moved(array, factor)
        integer, intent(in) :: array(:, :), factor
        integer :: wanted(8, 4)
        wanted = reshape(local(2, destination), [8, 4])
        are_moved = all(array == merge(factor * wanted, -1, wanted > 0))
    end function

    subroutine of_unknown_size(plan, from, to, ierr)
        type(redist_plan_t), intent(inout) :: plan
        integer, intent(in) :: from(*)
        integer, intent(inout) :: to(8, *)
        integer, intent(out) :: ierr
        call redist_execute(plan, from, to, ierr)
    end subroutine

    ! One rank gives an array with gaps, or too short a list: with options%checked all ranks return the error, and the
    ! plans can be used again.
    subroutine check_mistakes()
        type(redist_plan_t) :: one, two, within
        integer, asynchronous :: a(8, 4), b(8, 4), c(8, 4), wide(16, 4)
        integer, pointer :: gaps(:, :)
        target :: wide
        type(c_ptr) :: list(2)
        character(200) :: message
        integer :: wrong, ierr
        call create(2, MPI_INTEGER, 1, 0, one, checked=1)
        call create(2, MPI_INTEGER, 2, 0, two, checked=1)
        call create(2, MPI_INTEGER, 1, 1, within, checked=1)
        a = reshape(local(2, source), [8, 4])
        wide = 0
        gaps => wide(::2, :)
        do wrong = 0, p - 1
            b = -1
            c = -1
            list = [redist_array(b), redist_array(c)]
            if (rank == wrong) then
                call redist_execute(one, wide(::2, :), b, ierr)
                call is_refused(one, ierr, wrong, 'source 0 is NULL')
                call redist_start(one, a, gaps, ierr)
                call is_refused(one, ierr, wrong, 'destination 0 is NULL')
                call redist_execute(within, gaps, ierr)
                call is_refused(within, ierr, wrong, 'source 0 is NULL')
                call redist_execute_many(two, [redist_array(a), redist_array(a)], [redist_array(b), redist_array(gaps)], ierr)
                call is_refused(two, ierr, wrong, 'destination 1 is NULL')
                call redist_start_many(two, [redist_array(a)], list, ierr)
                call is_refused(two, ierr, wrong, 'the list of source arrays is NULL')
            else
                call redist_execute(one, a, b, ierr)
                call is_refused(one, ierr, wrong, 'source 0 is NULL')
                call redist_start(one, a, b, ierr)
                call is_refused(one, ierr, wrong, 'destination 0 is NULL')
                call redist_execute(within, b, ierr)
                call is_refused(within, ierr, wrong, 'source 0 is NULL')
                call redist_execute_many(two, [redist_array(a), redist_array(a)], list, ierr)
                call is_refused(two, ierr, wrong, 'destination 1 is NULL')
                call redist_start_many(two, [redist_array(a), redist_array(a)], list, ierr)
                call is_refused(two, ierr, wrong, 'the list of source arrays is NULL')
            end if
            call check(all(b == -1) .and. all(c == -1) .and. all(wide == 0), 'nothing moves')
            call redist_execute(one, a, b, ierr)
            call check(ierr == REDIST_OK .and. are_moved(b, 1), 'a plan after a mistake')
            call redist_start_many(two, [redist_array(a), redist_array(a)], list, ierr)
            if (ierr == REDIST_OK) call redist_wait(two, ierr)
            call check(ierr == REDIST_OK .and. are_moved(b, 1) .and. are_moved(c, 1), 'a plan of two after a mistake')
            call redist_wait(two, ierr)
            message = redist_plan_message(two)
            call check(ierr == REDIST_ERR_BUSY .and. index(message, 'NULL') == 0, 'no remark on another error: '//message)
        end do
        call redist_plan_free(one, ierr)
        call redist_plan_free(two, ierr)
        call redist_plan_free(within, ierr)
    end subroutine

    ! Every second number of an array has gaps, also where gfortran says that it has not.
    subroutine check_parts()
        complex(real64), target :: numbers(5)
        real(real64), pointer :: part(:)
        call point_to_real_part(numbers, part)
        call check(.not. c_associated(redist_array(part)), 'real parts have gaps')
        call point_to_real_part(numbers(2:2), part)
        call check(c_associated(redist_array(part)), 'one real part has none')
        call check(has_address([1.0, 2.0]), 'class(*) of real')
        call check(has_address(['abc', 'def']), 'class(*) of characters')
        call check(.not. has_address(numbers(::2)), 'class(*) with gaps')
        call point_to_real_part(numbers(2:1), part)
        call check(c_associated(redist_array(numbers(2:1))) .eqv. c_associated(redist_array(part)), 'no real part')
    end subroutine

    ! The mistaken rank also learns what counts as NULL.
    subroutine is_refused(plan, ierr, wrong, sentence)
        type(redist_plan_t), intent(in) :: plan
        integer, intent(in) :: ierr, wrong
        character(*), intent(in) :: sentence
        character(:), allocatable :: message, remark
        character(20) :: who
        message = redist_plan_message(plan)
        remark = 'not contiguous in memory'
        if (index(sentence, 'list') > 0) remark = 'fewer than 2 addresses'
        write (who, '(a, i0, a)') 'rank ', wrong, ': '
        if (p == 1) who = ''
        call check(ierr == REDIST_ERR_ARGUMENT .and. index(message, trim(who)) == 1 .and. index(message, sentence) > 0 .and. &
            (index(message, remark) > 0 .eqv. rank == wrong), sentence//': '//message)
    end subroutine

    ! A plan for one pair of fixed arrays, whose addresses are given to the options.
    subroutine check_fixed()
        type(redist_plan_t) :: plan
        type(redist_options_t) :: options
        integer, asynchronous :: a(8, 4), b(8, 4), c(8, 4)
        integer :: ierr
        options%method = REDIST_POINT_TO_POINT
        options%fixed_from = redist_array(a)
        options%fixed_to = redist_array(b)
        call redist_plan_create(MPI_COMM_WORLD, layout_of(2, source), layout_of(2, destination), MPI_INTEGER, plan, ierr, options)
        a = reshape(local(2, source), [8, 4])
        b = -1
        c = -1
        call redist_execute(plan, a, c, ierr)
        call check(ierr == REDIST_ERR_BUFFER .and. all(c == -1), 'another array than the fixed one')
        call redist_execute(plan, a, b, ierr)
        call check(ierr == REDIST_OK .and. are_moved(b, 1), 'fixed arrays')
        call redist_plan_free(plan, ierr)
    end subroutine

    ! to = to + weight from, with addresses as in C ...
    subroutine add_weighted(from, to, n, context) bind(c)
        type(c_ptr), value :: from, to, context
        integer(c_int64_t), value :: n
        integer(int32), pointer :: x(:), y(:), weight
        call c_f_pointer(from, x, [n])
        call c_f_pointer(to, y, [n])
        call c_f_pointer(context, weight)
        y = y + weight * x
    end subroutine

    ! ... and to = max(to, factor from) with arrays.
    subroutine take_larger(from, to, n, context) bind(c)
        integer(c_int64_t), value :: n
        real(c_double), intent(in) :: from(n)
        real(c_double), intent(inout) :: to(n)
        type(c_ptr), value :: context
        real(c_double), pointer :: factor
        call c_f_pointer(context, factor)
        to = max(to, factor * from)
    end subroutine

    ! Two parts, each with a function of the user's own: one in redist_part, one in the options.
    subroutine check_combining()
        procedure(redist_combine), pointer :: add
        type(redist_plan_t) :: plan
        type(redist_options_t) :: options
        integer, target :: weight
        double precision, target :: factor
        integer, asynchronous :: a(8, 4), b(8, 4)
        double precision, asynchronous :: u(8), v(8)
        integer :: ierr, wanted(8, 4)
        character(200) :: message
        add => add_weighted
        options%combine = c_funloc(take_larger)
        options%context = c_loc(factor)
        call redist_plan_create_parts(MPI_COMM_WORLD, [ &
            redist_part(layout_of(2, source), layout_of(2, destination), MPI_INTEGER, combine=c_funloc(add), &
                context=c_loc(weight)), &
            redist_part(layout_of(1, source), layout_of(1, destination), MPI_DOUBLE_PRECISION)], plan, ierr, options, message)
        call check(ierr == REDIST_OK, 'a plan with functions: '//message)
        a = reshape(local(2, source), [8, 4])
        wanted = reshape(local(2, destination), [8, 4])
        b = 7
        u = local(1, source)
        v = 4.5d0
        weight = 3
        factor = 1
        call redist_execute_many(plan, [redist_array(a), redist_array(u)], [redist_array(b), redist_array(v)], ierr)
        call check(ierr == REDIST_OK .and. all(b == merge(7 + 3 * wanted, 7, wanted > 0)) .and. &
            all(nint(2 * v) == max(2 * local(1, destination), 9)), 'functions of the user')
        weight = -3
        factor = 2
        call redist_execute_many(plan, [redist_array(a), redist_array(u)], [redist_array(b), redist_array(v)], ierr)
        call check(ierr == REDIST_OK .and. all(b == 7) .and. all(nint(2 * v) == max(4 * local(1, destination), 9)), &
            'functions of the user with other contexts')
        call redist_plan_free(plan, ierr)
    end subroutine
end module

program main
    use arrays
    implicit none
    integer :: mine(2), all_ranks(2)
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, p)
    call single(MPI_REAL, 'real')
    call double(MPI_DOUBLE_PRECISION, 'double precision')
    call single_complex(MPI_COMPLEX, 'complex')
    call double_complex(MPI_DOUBLE_COMPLEX, 'double complex')
    call integers(MPI_INTEGER, 'integer')
    call long_integers(MPI_INTEGER8, 'integer(int64)')
    call check_sections()
    call check_mistakes()
    call check_parts()
    call check_fixed()
    call check_combining()
    mine = [passed, failed]
    call MPI_Reduce(mine, all_ranks, 2, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
    if (rank == 0) print '(a, i0, a, i0, a)', 'arrays: ', all_ranks(1), ' passed, ', all_ranks(2), ' failed, 0 skipped'
    call MPI_Finalize()
    if (failed > 0) stop 1
end program
