! redist tests: what Fortran computes on paper, and what it prints and measures, against brute force over every element.
! Any number of ranks; each computes the same. MIT licence, see LICENSE.
module paper
    use, intrinsic :: iso_c_binding
    use mpi_f08
    use redist
    implicit none
    integer, parameter :: n = 9, m = 8, p = 3
    integer :: passed = 0, failed = 0, rank
    type(redist_layout_t) :: rows, columns
    integer :: volume(0:p - 1, 0:p - 1) ! of elements from one rank to another

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

    ! Blocks of 3 rows; columns dealt out by threes.
    subroutine prepare()
        integer :: i, j
        rows = redist_layout_nd([redist_block(n, p), redist_whole(m)])
        columns = redist_layout_nd([redist_whole(n), redist_block_cyclic(m, 3, p)])
        volume = 0
        do j = 1, m
            do i = 1, n
                associate (v => volume((i - 1) / 3, mod((j - 1) / 3, p)))
                    v = v + 1
                end associate
            end do
        end do
    end subroutine

    subroutine check_cuts()
        integer(c_int64_t) :: cuts(0:4)
        call redist_cuts_remainder_last(14, 4, cuts)
        call check(all(cuts == [0, 3, 6, 9, 14]), 'cuts with the remainder on the last')
        call redist_cuts_remainder_first(14, 4, cuts)
        call check(all(cuts == [0, 5, 8, 11, 14]), 'cuts with the remainder on the first')
        call redist_cuts_remainder_last(4000000003_c_int64_t, 4, cuts)
        call check(all(cuts(:3) == 1000000000_c_int64_t * [0, 1, 2, 3]) .and. cuts(4) == 4000000003_c_int64_t, 'long cuts')
        call redist_cuts_remainder_first(4000000003_c_int64_t, 4, cuts)
        call check(cuts(1) == 1000000003_c_int64_t .and. cuts(4) == 4000000003_c_int64_t, 'long cuts, the first')
    end subroutine

    subroutine check_traffic()
        type(redist_traffic_t) :: traffic
        integer(c_int64_t) :: elements
        integer :: from, to, ierr, wrong, moving(0:p - 1, 0:p - 1)
        wrong = 0
        moving = volume
        do to = 0, p - 1
            moving(to, to) = 0
            do from = 0, p - 1
                ierr = redist_volume(rows, from, columns, to, elements)
                if (ierr /= REDIST_OK .or. elements /= volume(from, to)) wrong = wrong + 1
            end do
        end do
        call check(wrong == 0, 'redist_volume')
        ierr = redist_traffic_between(rows, columns, 0, traffic)
        call check(ierr == REDIST_OK .and. traffic%total == n * m .and. traffic%moved == sum(moving) .and. &
            traffic%local == n * m - sum(moving) .and. traffic%messages == count(moving > 0), 'redist_traffic_between')
        call check(traffic%max_sends == maxval(count(moving > 0, 2)) .and. traffic%max_receives == maxval(count(moving > 0, 1)) &
            .and. traffic%max_sent == maxval(sum(moving, 2)) .and. traffic%max_received == maxval(sum(moving, 1)), 'its maxima')
        ierr = redist_traffic_between(rows, redist_layout_nd([redist_whole(m)]), 0, traffic)
        call check(ierr == REDIST_ERR_SHAPE, 'traffic between two shapes')
    end subroutine

    ! Every pair that shares elements meets in one step; both ends say so.
    subroutine check_schedule()
        type(redist_schedule_t) :: schedule
        integer :: ierr, step, steps, from, to, sender, nobody, met(0:p - 1, 0:p - 1), wrong
        ierr = redist_schedule_create(rows, columns, 0, schedule)
        steps = redist_schedule_steps(schedule)
        call check(ierr == REDIST_OK .and. steps == max(maxval(count(volume > 0, 1)), maxval(count(volume > 0, 2))), &
            'the steps of a schedule')
        met = 0
        wrong = 0
        do step = 0, steps - 1
            do from = 0, p - 1
                ierr = redist_schedule_step(schedule, from, step, to, nobody)
                if (ierr /= REDIST_OK) wrong = wrong + 1
                if (to < 0) cycle
                met(from, to) = met(from, to) + 1
                ierr = redist_schedule_step(schedule, to, step, nobody, sender)
                if (ierr /= REDIST_OK .or. sender /= from) wrong = wrong + 1
            end do
        end do
        call check(wrong == 0 .and. all(met == merge(1, 0, volume > 0)), 'who meets whom')
        ierr = redist_schedule_step(schedule, 0, steps, to, from)
        call check(ierr == REDIST_ERR_ARGUMENT, 'a step after the last')
        ierr = redist_schedule_free(schedule)
        call check(ierr == REDIST_OK .and. redist_schedule_steps(schedule) == 0, 'a schedule freed')
    end subroutine

    ! Pencils along x, y, z, y and x.
    integer(c_int) function pencils(grid, sequence, most, context) bind(c)
        integer(c_int), intent(in) :: grid(*)
        type(redist_layout_t), intent(inout) :: sequence(*)
        integer(c_int), value :: most
        type(c_ptr), value :: context
        integer, pointer :: edge
        call c_f_pointer(context, edge)
        sequence(1) = redist_layout_nd([redist_whole(edge), redist_block(edge, grid(1)), redist_block(edge, grid(2))])
        sequence(2) = redist_layout_nd([redist_block(edge, grid(1)), redist_whole(edge), redist_block(edge, grid(2))])
        sequence(3) = redist_layout_nd([redist_block(edge, grid(1)), redist_block(edge, grid(2)), redist_whole(edge)])
        sequence(4:5) = sequence(2:1:-1)
        pencils = merge(5, -1, most >= 5)
    end function

    ! All grids move as much: the most square one. Each of four exchanges takes 8 messages on a grid of 8 x 8.
    subroutine check_grid()
        integer, target :: edge
        integer :: ierr, grid(2)
        real(c_double) :: seconds
        edge = 16
        ierr = redist_best_grid(16, 2, pencils, c_loc(edge), 8_c_size_t, redist_cost_t(0, 1), grid, seconds)
        call check(ierr == REDIST_OK .and. all(grid == 4) .and. nint(seconds) == 4 * 8 * edge**3 / 16, 'elements only')
        edge = 64
        ierr = redist_best_grid(64, 2, pencils, c_loc(edge), 8_c_size_t, redist_cost_t(10, 0), grid, seconds)
        call check(ierr == REDIST_OK .and. all(grid == 8) .and. nint(seconds) == 4 * 8 * 10, 'a square grid')
        ierr = redist_best_grid(0, 2, pencils, c_loc(edge), 8_c_size_t, redist_cost_t(10, 0), grid, seconds)
        call check(ierr == REDIST_ERR_ARGUMENT .and. nint(seconds) == -1 .and. all(grid == 8), 'a grid of 0 ranks')
    end subroutine

    subroutine check_costs()
        type(redist_cost_t) :: cost
        type(redist_advice_t) :: advice
        type(redist_layout_t) :: between(7), wide, tall
        real(c_double) :: seconds, longer
        integer :: ierr, stops
        cost = redist_cost_t(5, 0.25d0)
        ierr = redist_cost_of(rows, columns, 8_c_size_t, cost, seconds)
        call check(ierr == REDIST_OK .and. abs(seconds - 5 * p - 2 * max(maxval(sum(volume, 1)), maxval(sum(volume, 2)))) < 1d-9, &
            'redist_cost_of')
        ierr = redist_cost_of(rows, columns, 8_c_size_t, redist_cost_t(-1, 0), seconds)
        call check(ierr == REDIST_ERR_ARGUMENT .and. nint(seconds) == -1, 'a negative cost')
        wide = redist_layout_nd([redist_block(16, 16), redist_whole(16)]) ! 16 messages at once, or 4 and 4
        tall = redist_layout_nd([redist_whole(16), redist_block(16, 16)])
        cost = redist_cost_t(1, 0)
        ierr = redist_phases(wide, tall, 8_c_size_t, cost, 7, between, stops)
        call check(ierr == REDIST_OK .and. stops == 1 .and. redist_layout_places(between(1)) == 16, 'a route')
        ierr = redist_cost_of(wide, between(1), 8_c_size_t, cost, seconds)
        ierr = redist_cost_of(between(1), tall, 8_c_size_t, cost, longer)
        call check(nint(seconds) == 4 .and. nint(longer) == 4, 'messages of its phases')
        ierr = redist_advise(3d0, 1d0, 4d0, 2d0, 10_c_int64_t, advice)
        call check(ierr == REDIST_OK .and. nint(advice%gain) == 14 .and. advice%break_even == 4 .and. advice%worthwhile == 1, &
            'redist_advise')
    end subroutine

    ! The best of all six numberings of three places.
    subroutine check_relabel()
        integer, parameter :: all_of_them(3, 6) = reshape([0, 1, 2, 0, 2, 1, 1, 0, 2, 1, 2, 0, 2, 0, 1, 2, 1, 0], [3, 6])
        type(redist_traffic_t) :: traffic
        type(redist_layout_t) :: from
        integer, target :: ranks(p)
        integer :: ierr, best, stays, k, c
        from = redist_from_rank(redist_layout_nd([redist_starting_at(redist_block(n, p), 2), redist_whole(m)]), 0)
        ierr = redist_relabel(from, redist_layout_nd([redist_block(n, p), redist_whole(m)]), 0, ranks)
        call check(ierr == REDIST_OK .and. all(ranks == [2, 0, 1]), 'rows that begin elsewhere')
        ierr = redist_relabel(rows, columns, 0, ranks)
        ierr = redist_traffic_between(rows, redist_on_ranks(columns, ranks), 0, traffic)
        best = 0
        do k = 1, 6
            stays = 0
            do c = 1, p
                stays = stays + volume(all_of_them(c, k), c - 1)
            end do
            best = max(best, stays)
        end do
        call check(ierr == REDIST_OK .and. traffic%local == best, 'redist_relabel')
    end subroutine

    ! From arrays of three places to those of three others, in one process.
    subroutine check_move()
        integer, asynchronous :: a(3, m, 0:p - 1), b(n, 3, 0:p - 1)
        integer :: ierr, i, j, k, wanted(n, 3, 0:p - 1)
        wanted = -1
        do k = 0, p - 1
            do concurrent (i = 1:3, j = 1:m)
                a(i, j, k) = 100 * (3 * k + i) + j
            end do
            do concurrent (i = 1:n, j = 1:3, 3 * k + j <= m)
                wanted(i, j, k) = 100 * i + 3 * k + j
            end do
        end do
        b = -1
        ierr = redist_move(rows, [(redist_array(a(:, :, k)), k = 0, p - 1)], columns, &
            [(redist_array(b(:, :, k)), k = 0, p - 1)], int(c_sizeof(1_c_int), c_size_t))
        call check(ierr == REDIST_OK .and. all(b == wanted), 'redist_move')
        ierr = redist_move_combining(rows, [(redist_array(a(:, :, k)), k = 0, p - 1)], columns, &
            [(redist_array(b(:, :, k)), k = 0, p - 1)], int(c_sizeof(1_c_int), c_size_t), c_funloc(add), c_null_ptr)
        call check(ierr == REDIST_OK .and. all(b == merge(2 * wanted, -1, wanted > 0)), 'redist_move_combining')
    end subroutine

    subroutine add(from, to, n, context) bind(c)
        integer(c_int64_t), value :: n
        integer(c_int), intent(in) :: from(n)
        integer(c_int), intent(inout) :: to(n)
        type(c_ptr), value :: context
        if (.not. c_associated(context)) to = to + from
    end subroutine

    ! Storage of exactly the size that a text takes is enough, and a word less is not; what is printed, fortran.sh reads.
    subroutine check_text()
        character(*), parameter :: text = '10x4: cuts(0, 4, 10), *; ranks 1, 0'
        integer(c_int64_t), target, allocatable :: storage(:)
        type(redist_layout_t) :: layout
        character(200) :: message
        integer :: ierr
        allocate (storage(redist_layout_parse_size(text) / 8))
        call redist_layout(text, layout, ierr, message, storage)
        call check(ierr == REDIST_OK .and. size(storage) == 4, 'storage for three cuts and two ranks: '//message)
        call redist_layout(text, layout, ierr, message, storage(2:))
        call check(ierr == REDIST_ERR_MEMORY, 'storage of a word less: '//message)
        call redist_layout(text, layout, ierr, message, storage)
        if (rank == 0) call redist_layout_print(layout, ierr)
        call check(ierr == REDIST_OK, 'redist_layout_print')
        call redist_layout_print(redist_layout_nd([redist_block(3, 0)]), ierr)
        call check(ierr == REDIST_ERR_LAYOUT, 'a bad layout is not printed')
    end subroutine

    subroutine check_calibration()
        type(redist_cost_t) :: cost
        real(c_double) :: mine(4), least(4)
        integer :: ierr
        call redist_calibrate(MPI_COMM_WORLD, cost, ierr)
        mine = [cost%per_message, -cost%per_message, cost%per_byte, -cost%per_byte]
        call MPI_Allreduce(mine, least, 4, MPI_DOUBLE_PRECISION, MPI_MIN, MPI_COMM_WORLD)
        call check(ierr == REDIST_OK .and. minval([least(1), least(3), 1d0]) > 0 .and. all(abs(least - mine) <= 0), &
            'redist_calibrate: the same on all ranks')
        call redist_calibrate(MPI_COMM_WORLD%MPI_VAL, cost, ierr)
        call check(ierr == REDIST_OK .and. cost%per_message > 0 .and. cost%per_byte > 0, 'with a handle that is an integer')
    end subroutine
end module

program main
    use paper
    implicit none
    integer :: mine(2), all_ranks(2)
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call prepare()
    call check_cuts()
    call check_traffic()
    call check_schedule()
    call check_costs()
    call check_grid()
    call check_relabel()
    call check_move()
    call check_text()
    call check_calibration()
    mine = [passed, failed]
    call MPI_Reduce(mine, all_ranks, 2, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
    if (rank == 0) print '(a, i0, a, i0, a)', 'paper: ', all_ranks(1), ' passed, ', all_ranks(2), ' failed, 0 skipped'
    call MPI_Finalize()
    if (failed > 0) stop 1
end program
