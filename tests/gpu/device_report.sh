#!/usr/bin/env bash
# All that a device has to show, in one call of under nine minutes that needs no network: builds,
# runs the tests of label gpu, times attention, encodings and training beside PyTorch where python3
# has it, and writes one JSON file.
#
#   tests/gpu/device_report.sh [--device cuda|cpu] [--build FOLDER] [--no-build] [--out FILE]
#
# --device cpu tries the script itself where there is no device: tests are then skipped, and say so.
# --no-build takes what stands in FOLDER, such as a build brought from another machine by pack.sh.
# Goes on after a stage that fails; what it has is in FILE after each stage.
set -uo pipefail

device=cuda build=build out= build_it=yes
while [ $# -gt 0 ]; do
  case "$1" in
    --device) device=$2; shift 2 ;;
    --build) build=$2; shift 2 ;;
    --no-build) build_it=; shift ;;
    --out) out=$2; shift 2 ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
done
cd "$(dirname "$0")/../.." || exit 2
out=${out:-$build/device_report.json}
seconds_in_all=530 # the first stages may take what the last ones then lack
if [ "$device" = cuda ] && ! nvidia-smi -L >/dev/null 2>&1; then
  echo "no CUDA device: nvidia-smi names none; --device cpu tries this script without" >&2
  exit 6
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/stages"
worst=0

# Puts together what there is: a line a stage, and what the programs wrote.
write_report() {
  mkdir -p "$(dirname "$out")"
  python3 - "$work" "$out" "$device" <<'PYTHON'
import datetime, json, pathlib, subprocess, sys

work, out, device = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]

def said(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""

def read(name):
    try:
        return json.loads((work / name).read_text())
    except (OSError, ValueError):
        return None

stages = []
for line in (work / "stages").read_text().splitlines():
    name, status, seconds = line.split("\t")
    stages.append({"name": name, "status": status, "seconds": float(seconds),
                   "output": (work / f"{name}.log").read_text(errors="replace")[-4000:]})
report = {
    "schema": "pesuite.device_report/1",
    "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
    "commit": said("git", "rev-parse", "HEAD"),
    "changed": said("git", "status", "--porcelain") != "",
    "device": device,
    "devices": said("nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_cap,clocks.max.sm",
                    "--format=csv,noheader").splitlines(),
    "toolkit": said("nvcc", "--version").splitlines()[-2:],
    "stages": stages,
}
tests = read("tests.json")
if tests is not None:
    cases = [c for suite in tests["testsuites"] for c in suite["testsuite"]]
    results = {"passed": [], "failed": [], "skipped": []}
    for c in cases:
        name = f'{c["classname"]}.{c["name"]}'
        if c.get("failures"):
            results["failed"].append({"name": name, "why": c["failures"][0]["failure"][:1000]})
        else:
            results["skipped" if c["result"] == "SKIPPED" else "passed"].append(name)
    report["tests"] = {"passed": len(results["passed"]), "failed": results["failed"],
                       "skipped": len(results["skipped"])}
report["benchmarks"] = {f.stem: read(f.name) for f in sorted(work.glob("bench_*.json"))}
report["pytorch"] = {f.stem: read(f.name) for f in sorted(work.glob("peer_*.json"))}
out.write_text(json.dumps(report, indent=1) + "\n")
PYTHON
}

# stage NAME SECONDS COMMAND...: what it says goes to a log, how it ended to the report.
stage() {
  local name=$1 limit=$2 start=$SECONDS left=$((seconds_in_all - SECONDS)) status=passed
  shift 2
  [ "$limit" -gt "$left" ] && limit=$left
  if [ "$limit" -lt 5 ]; then
    status="no time left"
    : >"$work/$name.log"
  else
    timeout "$limit" "$@" >"$work/$name.log" 2>&1
    case $? in
      0) ;;
      124) status="timed out" ;;
      *) status=failed ;;
    esac
  fi
  [ "$status" = passed ] || worst=1
  printf '%s\t%s\t%s\n' "$name" "$status" "$((SECONDS - start))" >>"$work/stages"
  printf '%-24s %-12s %4d s\n' "$name" "$status" "$((SECONDS - start))"
  write_report
}

jobs=$(nproc)
if [ "$build_it" ]; then
  [ -f "$build/CMakeCache.txt" ] || # as ./pesuite does it
    stage configure 60 cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON
  stage build 330 cmake --build "$build" -j "$jobs" --target pesuite gpu_device_test pesuite_cuda
fi
ours=() # before our own programs only: PyTorch has libraries of its own
if [ -d "$build/lib" ]; then # packed: cuDNN and cuBLAS may be there as wheels only
  wheels=$(python3 -c 'import glob, site; print(":".join(d for s in site.getsitepackages()
                       for d in glob.glob(s + "/nvidia/*/lib")))' 2>/dev/null)
  ours=(env "LD_LIBRARY_PATH=$(realpath "$build")/lib:${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$wheels")
fi
stage tests 120 "${ours[@]}" "$build/bin/gpu_device_test" --gtest_brief=1 --gtest_output="json:$work/tests.json"

pesuite=$build/bin/pesuite
export PESUITE_PLUGIN_PATH=$build/plugins
sizes=(1024,4096 C 2048 "bf16 fp32" 0)
whole='C(width=768, layers=12, heads=12, ff_width=2048, vocabulary=50304, length=2048, batch=32)'
peer=(768,12,12,2048,50304 2048 32) # the same: GPT-2's 124M parameters
if [ "$device" = cpu ]; then
  sizes=(64 A 64 fp32 1) whole='A(batch=2)' peer=(128,2,4,384,16 64 2)
fi
torch_peer() { # NAME ARGUMENT...
  stage "peer_$1" 60 bash -c 'python3 tests/gpu/device_peer.py "${@:2}" >"$1"' - "$work/peer_$1.json" \
    "${@:2}" --device "$device"
}
for dtype in ${sizes[3]}; do
  bench() {
    stage "bench_$1_$dtype" 45 "${ours[@]}" "$pesuite" bench "$1" --device "$device" --dtype "$dtype" \
      --threads "${sizes[4]}" --repetitions 3 --window 0.1 --out "$work/bench_$1_$dtype.json" "${@:2}"
  }
  bench attention --lengths "${sizes[0]}"
  bench train --config "${sizes[1]}" --encoding none,rope,alibi,t5
  bench overhead --config "${sizes[1]}" --lengths "${sizes[2]}" --encoding rope,alibi,t5,cope
done
whole_dtype=${sizes[3]%% *}
stage bench_whole 60 "${ours[@]}" "$pesuite" bench train --config "$whole" --encoding rope,none --device "$device" \
  --dtype "$whole_dtype" --threads "${sizes[4]}" --repetitions 5 --window 0.5 \
  --out "$work/bench_whole.json"
if python3 -c 'import torch' 2>/dev/null; then
  torch_peer attention attention --lengths "${sizes[0]}" --dtype "$whole_dtype"
  whole_step=(train --config "${peer[0]}" --length "${peer[1]}" --batch "${peer[2]}" --dtype "$whole_dtype")
  torch_peer eager "${whole_step[@]}"
  [ "$device" = cpu ] || torch_peer compiled "${whole_step[@]}" --compile
fi
if [ "$device" = cuda ] && command -v compute-sanitizer >/dev/null; then
  stage memcheck 60 "${ours[@]}" compute-sanitizer --error-exitcode 1 "$build/bin/gpu_device_test" --gtest_brief=1 \
    --gtest_filter='*Ops*:*Embed*:*Optimiser*'
fi
echo "written: $out"
exit $worst
