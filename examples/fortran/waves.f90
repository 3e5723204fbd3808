! Shallow waves in a channel by redist: two staggered fields, whose ghost cells are exchanged in one message per
! neighbour, in an arena, compared with the exact solution of the scheme. MIT licence, see LICENSE.
!
!   mpiexec -n 4 build/waves_fortran [points] [steps]
!
! Heights h(i, j) lie at cell centres, velocities u(i, j) at faces along the first axis, of which there is one more, on
! the last rank: the channel is closed, and u = 0 at its ends. Both arrays store two ghost cells on either side, so that
! they begin with h(-1, 1), and exchange only the nearest one.
program waves
    use, intrinsic :: iso_c_binding
    use mpi_f08
    use redist
    implicit none
    double precision, parameter :: pi = acos(-1d0)
    double precision, pointer :: h(:, :), u(:, :)
    type(redist_arena_t) :: arena
    type(redist_plan_t) :: plan
    integer :: n = 60, steps = 40, rank, ranks, step, first, cells, faces, j
    double precision :: ratio, turn, sine, worst
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    call argument(1, n)
    call argument(2, steps)
    call prepare()
    ! With a time step of `ratio` cells, the leapfrog scheme turns the phase of h by `turn` in each step.
    ratio = 0.5d0
    sine = ratio * sin(pi / (2 * n))
    turn = 2 * asin(sine)
    h = 0
    u = 0
    do j = 1, 3
        h(1:cells, j) = [(exact_height(step, j, 0d0), step=first, first + cells - 1)]
        u(1:faces, j) = [(exact_velocity(step, j, -0.5d0), step=first, first + faces - 1)]
    end do
    do step = 1, steps
        call fill()
        u(1:faces, :) = u(1:faces, :) - ratio * (h(1:faces, :) - h(0:faces - 1, :))
        if (first == 1) u(1, :) = 0
        if (first + faces - 1 == n + 1) u(faces, :) = 0
        call fill()
        h(1:cells, :) = h(1:cells, :) - ratio * (u(2:cells + 1, :) - u(1:cells, :))
    end do
    call report()

contains

    subroutine argument(k, value)
        integer, intent(in) :: k
        integer, intent(inout) :: value
        character(20) :: text
        integer :: status
        if (command_argument_count() < k) return
        call get_command_argument(k, text)
        read (text, *, iostat=status) value
        if (status == 0 .and. value >= ranks .and. value <= 100000) return
        if (rank == 0) print '(3a, i0, a)', "waves: '", trim(text), "' is no number from ", ranks, ' to 100000'
        call MPI_Finalize()
        stop 2
    end subroutine

    ! Allocates the fields in an arena, and plans the exchange of the nearest of their two ghost cells.
    subroutine prepare()
        type(redist_layout_t) :: heights, velocities, of_h, of_u
        type(redist_options_t) :: options
        type(redist_shape_t) :: shape
        integer(c_int64_t), target :: cuts(0:ranks), ends(0:ranks)
        integer :: k, holds, ierr
        character(200) :: message
        cuts = [(int(n, c_int64_t) * k / ranks, k=0, ranks)]
        ends = cuts
        ends(ranks) = n + 1
        heights = redist_with_halo(redist_layout_nd([redist_cuts(cuts, ranks), redist_whole(3)]), 1, 2, 2)
        velocities = redist_with_halo(redist_layout_nd([redist_cuts(ends, ranks), redist_whole(3)]), 1, 2, 2)
        of_h = redist_ghost_depth(redist_with_ghosts(heights, 1, REDIST_CLOSED), 1, 1, 1)
        of_u = redist_ghost_depth(redist_with_ghosts(velocities, 1, REDIST_CLOSED), 1, 1, 1)
        call redist_arena_create(MPI_COMM_WORLD, int(2 * 8 * 3 * (n + 6) + 128, c_size_t), arena, ierr)
        holds = redist_layout_shape(heights, rank, shape)
        first = int(shape%first(1))
        cells = int(shape%count(1))
        call make(h, int(shape%allocated(1)))
        holds = redist_layout_shape(velocities, rank, shape)
        faces = int(shape%count(1))
        call make(u, int(shape%allocated(1)))
        options%arena = arena
        options%in_place = 1
        call redist_plan_create_parts(MPI_COMM_WORLD, [redist_part(heights, of_h, MPI_DOUBLE_PRECISION), &
            redist_part(velocities, of_u, MPI_DOUBLE_PRECISION)], plan, ierr, options, message)
        if (ierr == REDIST_OK) return
        if (rank == 0) print '(2a)', 'waves: ', trim(message)
        call MPI_Abort(MPI_COMM_WORLD, 1)
    end subroutine

    ! An array of the arena whose first ghost cell has index -1.
    subroutine make(field, length)
        double precision, pointer, intent(out) :: field(:, :)
        integer, intent(in) :: length
        double precision, pointer :: memory(:, :)
        call c_f_pointer(redist_arena_alloc(arena, int(8 * 3 * length, c_size_t)), memory, [length, 3])
        field(-1:, 1:) => memory
    end subroutine

    subroutine fill()
        integer :: ierr
        call redist_execute_many(plan, [redist_array(h), redist_array(u)], ierr)
    end subroutine

    ! A standing wave, j times as high in line j.
    double precision function exact_height(i, j, time)
        integer, intent(in) :: i, j
        double precision, intent(in) :: time
        exact_height = j * cos(pi * (i - 0.5d0) / n) * cos(turn * time)
    end function

    double precision function exact_velocity(i, j, time)
        integer, intent(in) :: i, j
        double precision, intent(in) :: time
        exact_velocity = j * sin(pi * (i - 1d0) / n) * sin(turn * time)
    end function

    subroutine report()
        double precision :: all_ranks
        type(redist_stats_t) :: stats
        integer :: i, j, ierr
        worst = 0
        do j = 1, 3
            do i = 1, cells
                worst = max(worst, abs(h(i, j) - exact_height(first + i - 1, j, dble(steps))))
            end do
        end do
        call MPI_Reduce(worst, all_ranks, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD)
        call redist_plan_stats(plan, stats, ierr)
        if (rank == 0) print '(a, i0, a, i0, a, i0, a, es8.1, a)', 'waves in a channel of ', n, ' cells, ', steps, &
            ' steps, ', stats%sends, ' message in each exchange of two fields from rank 0; rounding ', all_ranks, &
            merge(': right', ': WRONG', all_ranks < 1d-9)
        call redist_plan_free(plan, ierr)
        call redist_arena_free(arena, ierr)
        call MPI_Finalize()
    end subroutine
end program
