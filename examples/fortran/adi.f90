! The heat equation by alternating directions, in Fortran: the same solver as examples/adi.c, which describes the
! scheme. MIT licence, see LICENSE.
!   make fortran, or by hand: mpicc -c -O3 -I. examples/fortran/redist_f.c
!   mpifort -O3 examples/fortran/redist.f90 examples/fortran/adi.f90 redist_f.o -o adi && mpiexec -n 4 ./adi [N [STEPS]]
!
! Both arrays are (lines, n): the direction of the sweep varies slowest, so that one routine serves both and solves many
! neighbouring lines at once with unit stride. For rows that is Fortran's order, for columns C's; the plan changes the
! order.
module heat
    use, intrinsic :: iso_c_binding, only: real64 => c_double
    implicit none
    integer, parameter :: STRIP = 32 ! lines solved at once: a strip of long lines stays in the cache

    ! (1 - a D) for lines of n points, factored. ratio: a / h^2; line: a strip between rows that stay 0.
    type tridiagonal
        integer :: n
        real(real64) :: ratio
        real(real64), allocatable :: inverse(:), line(:, :)
    end type

contains

    function factor(n, ratio) result(t)
        integer, intent(in) :: n
        real(real64), intent(in) :: ratio
        type(tridiagonal) :: t
        integer :: k
        t%n = n
        t%ratio = ratio
        allocate (t%inverse(n), t%line(STRIP, 0:n + 1))
        t%line = 0
        t%inverse(1) = 1 / (1 + 2 * ratio)
        do k = 2, n
            t%inverse(k) = 1 / (1 + 2 * ratio - ratio * ratio * t%inverse(k - 1))
        end do
    end function

    ! Solves (1 - a D) u = w for all lines: w(line, k) becomes u, or with onward = 1 (1 + a D) u.
    subroutine sweep(t, w, onward)
        type(tridiagonal), intent(inout) :: t
        real(real64), intent(inout) :: w(:, :)
        real(real64), intent(in) :: onward
        integer :: first, last, width, k
        do first = 1, size(w, 1), STRIP
            last = min(first + STRIP - 1, size(w, 1))
            width = last - first + 1
            do k = 1, t%n ! forward elimination, into the strip
                t%line(:width, k) = (w(first:last, k) + t%ratio * t%line(:width, k - 1)) * t%inverse(k)
            end do
            do k = t%n, 1, -1 ! back substitution
                t%line(:width, k) = t%line(:width, k) + t%ratio * t%inverse(k) * t%line(:width, k + 1)
                w(first:last, k) = t%line(:width, k) + onward * (t%line(:width, k) - w(first:last, k))
            end do
        end do
    end subroutine
end module

program adi
    use mpi_f08
    use redist
    use heat
    implicit none
    type(redist_axis_t) :: mine
    type(redist_layout_t) :: rows, columns
    type(redist_plan_t) :: to_rows, to_columns
    type(redist_shape_t) :: own
    type(tridiagonal) :: t
    real(real64), allocatable :: by_rows(:, :), by_columns(:, :), sine(:), start(:)
    real(real64) :: dt, h, ratio, damping, exact, scheme, worst(2), everywhere(2), marching, redistributing
    integer :: n, steps, step, i, lines, rank, ranks, ierr
    real(real64), parameter :: pi = acos(-1.0_real64)

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    n = max(argument(1, 1000), 1)
    steps = max(argument(2, 100), 0)
    dt = 0.1_real64 / max(steps, 1)
    h = 1 / real(n + 1, real64)
    ratio = merge(dt / 2, 0.0_real64, steps > 0) / (h * h)
    t = factor(n, ratio)

    mine = redist_block(n, ranks)
    rows = redist_layout_nd([mine, redist_whole(n)])
    columns = redist_memory_order(redist_layout_nd([redist_whole(n), mine]), REDIST_ROW_MAJOR)
    call create(columns, rows, to_rows)
    call create(rows, columns, to_columns)
    if (redist_layout_shape(columns, rank, own) /= 1) call MPI_Abort(MPI_COMM_WORLD, 1)
    lines = int(own%count(2)) ! the same number of rows and columns
    allocate (by_rows(lines, n), by_columns(lines, n), sine(0:n + 1), start(lines))

    sine = 0
    do i = 1, n
        sine(i) = sin(pi * h * i)
    end do
    start = sine(own%first(2):own%first(2) + lines - 1)
    do i = 1, n ! (1 + a Dy) u, from u = sin(pi x) sin(pi y), whose shape does not change
        by_columns(:, i) = (sine(i) + ratio * (sine(i - 1) - 2 * sine(i) + sine(i + 1))) * start
    end do

    redistributing = 0
    marching = MPI_Wtime()
    do step = 1, steps
        call move(to_rows, by_columns, by_rows)
        call sweep(t, by_rows, 1.0_real64) ! along x
        call move(to_columns, by_rows, by_columns)
        call sweep(t, by_columns, merge(1.0_real64, 0.0_real64, step < steps)) ! along y
    end do
    marching = MPI_Wtime() - marching

    ! Compares with the exact solutions of the equation and of the scheme; the latter must agree to rounding.
    damping = 4 * ratio * sin(pi * h / 2)**2
    exact = exp(-2 * pi * pi * steps * dt)
    scheme = ((1 - damping) / (1 + damping))**(2.0_real64 * steps)
    worst = 0
    do i = 1, n
        worst(1) = max(worst(1), maxval(abs(by_columns(:, i) - exact * (sine(i) * start))))
        worst(2) = max(worst(2), maxval(abs(by_columns(:, i) - scheme * (sine(i) * start))))
    end do
    call MPI_Allreduce(worst, everywhere, 2, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD)
    call redist_plan_print(to_rows, ierr)
    if (rank == 0) call report()
    call redist_plan_free(to_rows, ierr)
    call redist_plan_free(to_columns, ierr)
    call MPI_Finalize()
    if (.not. everywhere(2) < 1e-9_real64) stop 1

contains

    ! The k-th argument of the program, or its default.
    integer function argument(k, otherwise)
        integer, intent(in) :: k, otherwise
        character(20) :: text
        integer :: status
        argument = otherwise
        if (command_argument_count() < k) return
        call get_command_argument(k, text)
        read (text, *, iostat=status) argument
        if (status == 0) return
        if (rank == 0) print '(a)', 'usage: mpiexec -n RANKS adi [POINTS ALONG EACH SIDE [TIME STEPS]]'
        call MPI_Finalize()
        stop 2
    end function

    subroutine create(from, to, plan)
        type(redist_layout_t), intent(in) :: from, to
        type(redist_plan_t), intent(out) :: plan
        character(256) :: message
        call redist_plan_create(MPI_COMM_WORLD, from, to, MPI_DOUBLE_PRECISION, plan, ierr, message=message)
        if (ierr == REDIST_OK) return ! else it failed on every rank
        if (rank == 0) print '(2a)', 'adi: ', trim(message)
        call MPI_Finalize()
        stop 1
    end subroutine

    subroutine move(plan, from, to)
        type(redist_plan_t), intent(inout) :: plan
        real(real64), intent(in) :: from(:, :)
        real(real64), intent(inout) :: to(:, :)
        redistributing = redistributing - MPI_Wtime()
        call redist_execute(plan, from, to, ierr)
        if (ierr /= REDIST_OK) call MPI_Abort(MPI_COMM_WORLD, 1)
        redistributing = redistributing + MPI_Wtime()
    end subroutine

    subroutine report()
        print '(a, i0, a, i0, a, i0, a, i0, a)', 'heat equation by ADI: ', n, ' x ', n, ' points, ', steps, ' steps on ', &
            ranks, ' ranks'
        print '(a, f9.3, a, f9.3, a)', '  seconds     ', redistributing, ' redistributing, ', &
            marching - redistributing, ' sweeping'
        print '(a, es8.2, a, es8.2, a)', '  error            ', everywhere(1), ' of ', exact, &
            ', against exp(-2 pi^2 t) sin(pi x) sin(pi y)'
        print '(a, es7.1, 2a)', '  rounding         ', everywhere(2), ': ', &
            merge('right', 'WRONG', everywhere(2) < 1e-9_real64)
    end subroutine
end program
