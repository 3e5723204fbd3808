#!/bin/sh
# Serial tests compiled for a 32-bit processor, where this one runs such programs. MIT licence, see LICENSE.
# environment: BUILD (where to write), FLAGS_32 (the flags that make such programs)
root=$(cd "$(dirname "$0")/.." && pwd)
work=${BUILD:-$root/build}/narrow32
FLAGS_32=${FLAGS_32:--m32}
passed=0 failed=0 skipped=0

mkdir -p "$work"
cd "$work" || exit 1
printf '#include <stdint.h>\nint main(void) { return SIZE_MAX != UINT32_MAX; }\n' >probe.c
if cc $FLAGS_32 -o probe probe.c 2>/dev/null && ./probe; then
    for name in parse layouts errors narrow move; do
        if cc $FLAGS_32 -std=c99 -O1 -I"$root" -o $name "$root/tests/$name.c" >log 2>&1 && ./$name >>log 2>&1; then
            passed=$((passed + 1))
        else
            failed=$((failed + 1))
            echo "FAILED: $name on a 32-bit processor"
            tail -n 12 log
        fi
    done
else
    skipped=1
    echo "skipped: no 32-bit programs here (gcc-multilib)"
fi
cd "$root" && rm -rf "$work"
echo "narrow.sh: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
