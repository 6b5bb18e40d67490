#!/bin/bash
# ./pesuite on a machine where nothing is installed. Everything that it calls is a stand-in, which
# does what the test wants and notes that it was called.
# usage: launcher_test.sh ROOT
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
chmod 755 "$work"
mkdir -p "$work"/{bin,repo/core,sys}
cp -- "$1/pesuite" "$work/repo/pesuite"
touch "$work/repo/CMakeLists.txt"

stand_in() { # NAME, its script on stdin
  { printf '#!/bin/bash\nwork=%q\n' "$work" && cat; } >"$work/bin/$1"
  chmod 755 "$work/bin/$1"
}
# Only these programs of the system: neither sudo nor apt-get can be reached by accident.
for program in awk bash cat comm chmod cp date dirname env find flock grep head mkdir mv readlink realpath \
  rm sed sleep sort tail tee touch; do
  ln -s "$(command -v $program)" "$work/sys/$program"
done
stand_in nproc <<<'echo 2'
stand_in dpkg-query <<<'cat "$work/installed" 2>/dev/null || true'
stand_in apt-get <<'END'
echo "apt-get $*" >>"$work/calls"
[[ -e $work/apt_fails ]] && { echo "E: no network" >&2; exit 100; }
if [[ $* == *--print-uris* ]]; then
  printf "'http://x/g++.deb' g++.deb 61400000 MD5Sum:0\n'http://x/cmake.deb' cmake.deb 100000000 MD5Sum:0\n"
elif [[ $* == *Status-Fd* ]]; then
  printf 'dlstatus:1:50.0:Retrieving file 1 of 2\npmstatus:g++:80.0:Unpacking\n'
  for p in "$@"; do printf 'installed %s\n' "$p"; done >"$work/installed"
fi
END
stand_in cmake <<'END'
echo "cmake $*" >>"$work/calls"
build=$work/repo/build
mkdir -p "$build/bin" "$build/backends"
if [[ $1 == -S ]]; then
  touch "$build/CMakeCache.txt" "$build/build.ninja"
else
  [[ -e $work/build_fails ]] && { echo "[1/2] Building a"; echo "error: no semicolon"; exit 1; }
  printf '[1/2] Building a\n[2/2] Linking b\n'
  touch "$build/.ninja_log"
  [[ $(cat "$work/installed") == *openmpi-bin* ]] && touch "$build/backends/pesuite_mpi.so"
  printf '#!/bin/bash\necho "program: $*"\n' >"$build/bin/pesuite"
  chmod 755 "$build/bin/pesuite"
fi
END
stand_in ctest <<'END'
while (($#)); do [[ $1 == --output-junit ]] && xml=$2; shift; done
cat <<'OUT'
Test project /somewhere
      Start  1: A.Passes
1/4 Test  #1: A.Passes .....................   Passed    0.01 sec
      Start  2: A.Fails
2/4 Test  #2: A.Fails ......................***Failed    0.02 sec
a_test.cpp:3: Failure
expected 1, got 2

      Start  3: A.Skips
3/4 Test  #3: A.Skips ......................***Skipped   0.00 sec
      Start  4: B.Skips
4/4 Test  #4: B.Skips ......................***Skipped   0.00 sec

33% tests passed, 1 tests failed out of 4
OUT
cat >"$xml" <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="x" tests="4">
	<testcase name="A.Passes" classname="A.Passes" time="0.01" status="run">
		<system-out>fine</system-out>
	</testcase>
	<testcase name="A.Fails" classname="A.Fails" time="0.02" status="fail">
		<failure message="Failed"/>
		<system-out>a_test.cpp:3: Failure</system-out>
	</testcase>
	<testcase name="A.Skips" classname="A.Skips" time="0" status="notrun">
		<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
		<system-out>[ RUN      ] A.Skips
a_test.cpp:9: Skipped
no device &quot;cuda:0&quot; answers

[  SKIPPED ] A.Skips (0 ms)
</system-out>
	</testcase>
	<testcase name="B.Skips" classname="B.Skips" time="0" status="notrun">
		<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
		<system-out>a_test.cpp:12: Skipped
no device &quot;cuda:0&quot; answers

</system-out>
	</testcase>
</testsuite>
XML
exit 8
END

failures=0
expect() { # WHAT, CODE wanted, PATTERN wanted, PATTERN unwanted or '', COMMAND...
  local what=$1 wanted=$2 yes=$3 no=$4 said code=0
  shift 4
  said=$(env -i PATH="$work/bin:$work/sys" HOME="$work" "$@" 2>&1 </dev/null) || code=$?
  if [[ $code != "$wanted" || ! $said =~ $yes || (-n $no && $said =~ $no) ]]; then
    failures=$((failures + 1))
    printf 'FAILED: %s (exit code %s, wanted %s; wanted "%s", not "%s")\n%s\n' "$what" "$code" "$wanted" "$yes" "$no" "$said"
  fi
}
anew() { rm -rf -- "$work"/{installed,calls,apt_fails,build_fails,repo/build}; }
nobody=()
if ((EUID == 0)); then nobody=("$(command -v setpriv)" --reuid=65534 --clear-groups); fi
run=("$work/repo/pesuite")

anew
expect "one line tells download, build time and cores" 0 \
  'first start: downloads 161 MB for .*g\+\+.*\(2 packages in all\), then builds for about [0-9]+ s on 2 cores' 'openmpi' \
  "${run[@]}" help
expect "the second start does nothing of this" 0 '^program: help$' '' "${run[@]}" help

anew
expect "MPI comes where it is asked for" 0 'openmpi-bin' '' "${run[@]}" run x --launch 'mpirun -n 2'
expect "and once" 0 '^program: run x --launch mpirun -n 2$' '' "${run[@]}" run x --launch 'mpirun -n 2'

anew
expect "program without MPI" 0 'program' '' "${run[@]}" help
expect "MPI is added later" 0 'openmpi-bin.*program: run' '' "${run[@]}" run x --launch 'mpirun -n 2'

anew
chmod 777 "$work/repo"
expect "neither root nor sudo" 69 'run this as root, then start again:.*apt-get update && apt-get install' \
  'sudo|not found' "${nobody[@]}" "${run[@]}" help

anew
stand_in sudo <<<'echo "sudo: a password is required" >&2; exit 1'
expect "a sudo that wants a password" 69 'run this as root' 'sudo:' "${nobody[@]}" "${run[@]}" help
rm "$work/bin/sudo"

anew
touch "$work/apt_fails"
expect "apt's own words where apt fails" 69 'E: no network.*run this as root' 'status:' "${run[@]}" help

anew
touch "$work/build_fails"
expect "the compiler's words where the build fails" 70 'no semicolon.*the build failed; its whole output is in' '' "${run[@]}" help

anew
expect "tests in short" 8 \
  'expected 1, got 2.*skipped:.*2: no device "cuda:0" answers.*A.Skips, B.Skips.*failed:.*A.Fails.*4 tests: 1 passed, 1 failed, 2 skipped in' \
  'Start|A.Passes' "${run[@]}" test

# What cgroups keep, by the launcher's own lines.
kept() { # CORES and MB before, FILE and its line...: cores and MB after
  local group=$work/group
  rm -rf -- "$group"
  mkdir "$group"
  (
    set -euo pipefail
    cores=$1 memory=$2
    shift 2
    for (( ; $#; )); do
      printf '%s\n' "$2" >"$group/$1"
      shift 2
    done
    eval "$(sed -n '/^lower()/,/^} 2>/p' "$work/repo/pesuite")"
    look_at "$group"
    echo "$cores $memory"
  )
}
keeps() { # WANTED, what kept() takes
  local wanted=$1 found
  shift
  found=$(kept "$@") || found="exit code $?"
  [[ $found == "$wanted" ]] && return
  failures=$((failures + 1))
  echo "FAILED: kept $*: $found, wanted $wanted"
}
keeps '64 9000' 64 9000
keeps '64 9000' 64 9000 cpu.max 'max 100000' memory.max max
keeps '2 4096' 64 9000 cpu.max '250000 100000' memory.max 4294967296
keeps '1 9000' 64 9000 cpu.max '50000 100000'
keeps '2 9000' 2 9000 cpu.max '400000 100000' memory.max 99999999999999
keeps '64 9000' 64 9000 cpu.cfs_quota_us -1 cpu.cfs_period_us 100000 memory.limit_in_bytes 9223372036854771712
keeps '3 953' 64 9000 cpu.cfs_quota_us 300000 cpu.cfs_period_us 100000 memory.limit_in_bytes 1000000000
keeps '64 9000' 64 9000 cpu.max '' memory.max x
keeps '64 9000' 64 9000 cpu.max '5 0'

((failures == 0)) && echo "all passed"
exit $((failures > 0))
