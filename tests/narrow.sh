#!/bin/sh
# Serial tests compiled for a 32-bit processor, if this machine runs such programs, and plans. MIT licence, see LICENSE.
# environment: BUILD (where to write), FLAGS_32 (the flags that make such programs)
. "${0%/*}/lib.sh"
FLAGS_32="${FLAGS_32:--m32} -std=c99 -O0 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"

# Compiles, without warnings, and flags are read and written by instructions: nothing of libatomic's is needed.
plans() { # compiler
    printf '#define REDIST_IMPLEMENTATION\n#include "redist_plan.h"\n' >plans.c
    $1 $FLAGS_32 -I"$root" -isystem "$tests/abi" -c plans.c && nm plans.o >symbols &&
        grep -q ' T redist_execute$' symbols && ! grep __atomic symbols
}

cd "$work" || exit 1
printf '#include <stdint.h>\nint main(void) { return SIZE_MAX != UINT32_MAX; }\n' >probe.c
if cc $FLAGS_32 -o probe probe.c 2>/dev/null && ./probe; then
    for name in 'parse 10' 'layouts 300' errors narrow 'move 60 0 1 100'; do
        set -- $name
        cc $FLAGS_32 -I"$root" -o $1 "$tests/$1.c" >output 2>&1 && ./"$@" >>output 2>&1
        count $? "$1 on a 32-bit processor"
    done
    for compiler in cc clang; do
        if have $compiler; then check "$compiler: plans" plans $compiler; else skip "no $compiler"; fi
    done
else
    skip 'no 32-bit programs here (gcc-multilib)'
fi
report
