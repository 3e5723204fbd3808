#!/bin/sh
# Serial tests compiled for a 32-bit processor, if this machine runs such programs. MIT licence, see LICENSE.
# environment: BUILD (where to write), FLAGS_32 (the flags that make such programs)
. "${0%/*}/lib.sh"
FLAGS_32=${FLAGS_32:--m32}

cd "$work" || exit 1
printf '#include <stdint.h>\nint main(void) { return SIZE_MAX != UINT32_MAX; }\n' >probe.c
if cc $FLAGS_32 -o probe probe.c 2>/dev/null && ./probe; then
    for name in parse layouts errors narrow 'move 60 0 1 100'; do
        set -- $name
        cc $FLAGS_32 -std=c99 -O0 -I"$root" -o $1 "$tests/$1.c" >output 2>&1 && ./"$@" >>output 2>&1
        count $? "$1 on a 32-bit processor"
    done
else
    skip 'no 32-bit programs here (gcc-multilib)'
fi
report
