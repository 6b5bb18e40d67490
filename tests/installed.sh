#!/bin/sh
# The tests of an installation, as 'pesuite test' runs them where no build tree is:
# what libraries promise, reference vectors of public code, a small run.
# usage: run PROGRAM
set -eu
pesuite=$1
here=$(dirname -- "$0")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

echo "== this machine"
"$pesuite" doctor --out "$work/results"
echo "== reference vectors"
"$pesuite" plugin golden "$here/golden" --failed
echo "== a small run"
"$pesuite" run smoke --out "$work/results" --progress plain
again=$("$pesuite" run smoke --out "$work/results" --progress plain 2>&1)
case $again in
*"nothing to do"*) ;;
*) printf 'a second run should have nothing to do, and said:\n%s\n' "$again" >&2 && exit 1 ;;
esac
echo "== libraries"
for kind in encoding task; do
  "$pesuite" list "$kind" --json
done | sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' | sort -u >"$work/libraries"
[ -s "$work/libraries" ]
failed=0
while IFS= read -r library; do # with time for machines that have other work
  "$pesuite" plugin check "$library" --only-failed --time-limit 120 || failed=1
done <"$work/libraries"
[ $failed = 0 ] && echo "all passed"
exit $failed
