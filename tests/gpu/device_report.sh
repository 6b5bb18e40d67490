#!/usr/bin/env bash
# All that a device has to show, in one call of under nine minutes that needs no network, the most
# valuable first: what the machine is, the tests of label gpu, a whole model and where its time goes,
# encodings, attention, small models, determinism, published checkpoints, PyTorch beside it where
# python3 has it, memory errors. Stops early where a first small step already fails.
#
#   tests/gpu/device_report.sh [--device cuda|cpu] [--build FOLDER] [--no-build] [--out FILE]
#                              [--seconds N] [--only REGEX]
#
# FILE is one JSON object, written anew after each stage; what each stage printed stands beside it in
# FILE.logs. --only runs the stages whose names match, such as '^(probe|tests)$'.
# --device cpu tries the script itself where there is no device: tests are then skipped, and say so.
# --no-build takes what stands in FOLDER, such as a build brought from another machine by pack.sh.
set -uo pipefail

device=cuda build=build out= build_it=yes seconds_in_all=530 only=.
while [ $# -gt 0 ]; do
  case "$1" in
    --device) device=$2; shift 2 ;;
    --build) build=$2; shift 2 ;;
    --no-build) build_it=; shift ;;
    --out) out=$2; shift 2 ;;
    --seconds) seconds_in_all=$2; shift 2 ;;
    --only) only=$2; shift 2 ;;
    *) sed -n '2,15s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
done
cd "$(dirname "$0")/../.." || exit 2
build=$(realpath -m "$build")
out=$(realpath -m "${out:-$build/device_report.json}")
if [ "$device" = cuda ] && ! nvidia-smi -L >/dev/null 2>&1; then
  echo "no CUDA device: nvidia-smi names none; --device cpu tries this script without" >&2
  exit 6
fi
work=$out.logs
rm -rf "$work" && mkdir -p "$work" || exit 5
: >"$work/stages"
worst=0

write_report() { python3 tests/gpu/device_report.py "$work" "$out" "$device"; }

# stage NAME SECONDS COMMAND...: what it says goes to a log, how it ended to the report.
stage() {
  local name=$1 limit=$2 start=$SECONDS left=$((seconds_in_all - SECONDS)) status=passed
  shift 2
  [[ $name =~ $only ]] || return 0
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
  [ "$status" = passed ]
}

if [ "$build_it" ]; then
  [ -f "$build/CMakeCache.txt" ] || # as ./pesuite does it
    stage configure 60 cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON
  stage build 330 cmake --build "$build" -j "$(nproc)" --target pesuite gpu_device_test pesuite_cuda
fi
ours=(env "PESUITE_PLUGIN_PATH=$build/plugins" "PESUITE_TEST_PLUGINS=$build/plugins")
if [ -d "$build/lib" ]; then # packed: cuDNN and cuBLAS may be there as wheels only. PyTorch has its own.
  wheels=$(python3 -c 'import glob, site; print(":".join(d for s in site.getsitepackages()
                       for d in glob.glob(s + "/nvidia/*/lib")))' 2>/dev/null)
  ours+=("LD_LIBRARY_PATH=$build/lib:${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$wheels")
fi
pesuite=("${ours[@]}" "$build/bin/pesuite")

# What is timed: on a device, or small enough to try this script on a CPU.
whole='C(width=768, layers=12, heads=12, ff_width=2048, vocabulary=50304, length=2048, batch=16)'
peer=(768,12,12,2048,50304 2048 16) # the same: GPT-2's 124M parameters
model=C lengths=1024,4096 types=(bf16 fp32) threads=0
if [ "$device" = cpu ]; then
  whole='A(batch=2)' peer=(128,2,4,384,16 64 2) model=A lengths=64 types=(fp32) threads=1
fi
dtype=${types[0]}
bench() { # NAME SECONDS KIND ARGUMENT...
  stage "$1" "$2" "${pesuite[@]}" bench "$3" --device "$device" --threads "$threads" --repetitions 3 \
    --window 0.1 --out "$work/$1.json" "${@:4}"
}
profile() { # NAME ENCODING CONFIG
  stage "profile_$1" 40 "${pesuite[@]}" bench profile --device "$device" --threads "$threads" --dtype "$dtype" \
    --encoding "$2" --config "$3"
}

stage machine 30 "${pesuite[@]}" doctor
bench probe 60 train --config 'A(batch=8)' --encoding none,t5,cope --dtype "$dtype" || {
  echo "a small model does not train: the rest is left out; see $work/probe.log" >&2
  exit 1
}
stage tests 130 "${ours[@]}" python3 tests/gpu/device_tests.py "$build/bin/gpu_device_test" \
  --out "$work/tests.jsonl" --seconds 120
bench whole 60 train --config "$whole" --encoding rope,none --dtype "$dtype"
profile whole rope "$whole"
bench whole_t5 40 train --config "$whole" --encoding t5 --dtype "$dtype"
bench encodings 60 train --config "$model" --encoding none,rope,alibi,t5,fire,cope,pope --dtype "$dtype"
for t in "${types[@]}"; do bench "attention_$t" 60 attention --lengths "$lengths" --dtype "$t"; done
for e in t5 fire cope; do profile "$e" "$e" "$model"; done
for t in "${types[@]}"; do bench "small_$t" 30 train --config 'A(batch=8)' --encoding none --dtype "$t"; done
profile small none 'A(batch=8)'
bench reading 60 eval --config "$model" --encoding none,rope,alibi,t5,cope --lengths "$lengths" --dtype "$dtype"
if [ "$device" = cuda ]; then
  stage small_on_the_cpu 30 "${pesuite[@]}" bench train --config 'A(batch=8)' --encoding none --device cpu --threads 2 \
    --repetitions 3 --window 0.1 --out "$work/small_on_the_cpu.json"
  bench whole_fp16 40 train --config "$whole" --encoding rope --dtype fp16
  stage fp16 60 "${pesuite[@]}" run smoke --device cuda --set defaults.precision=fp16 --out "$work/fp16" --progress none
  rm -rf "$work/fp16"
  with() { # VARIABLE BENCH_ARGUMENT...: with it alone beside what all have
    pesuite=("${ours[@]}" "$1" "$build/bin/pesuite")
    bench "${@:2}"
    pesuite=("${ours[@]}" "$build/bin/pesuite")
  }
  # The same step with other ways of attention, and small ones with every kernel started by itself.
  for way in any_order cudnn_alone composed; do
    with "PESUITE_CUDA_ATTENTION=$way" "whole_$way" 40 train --config "$whole" --encoding rope --dtype "$dtype"
  done
  with PESUITE_CUDA_ATTENTION=split whole_t5_split 40 train --config "$whole" --encoding t5 --dtype "$dtype"
  with PESUITE_CUDA_ATTENTION=split encodings_split 40 train --config "$model" --encoding none,t5 --dtype "$dtype"
  with PESUITE_CUDA_ATTENTION=split attention_split 40 attention --lengths 1024,2048,4096,16384 --slots none,distance,buckets --dtype "$dtype"
  for t in "${types[@]}"; do
    with PESUITE_CUDA_GRAPHS=0 "small_${t}_without_graphs" 30 train --config 'A(batch=8)' --encoding none --dtype "$t"
  done
fi
stage repeats 60 "${pesuite[@]}" run smoke --device "$device" --verify-determinism --out "$work/repeats" --progress none
rm -rf "$work/repeats"
if [ -d tests/checkpoints ]; then
  stage checkpoints 60 "${pesuite[@]}" model golden tests/checkpoints --quiet \
    --backend "${device/cpu/reference}"
fi
has_torch=
python3 -c 'import torch' 2>/dev/null && has_torch=yes
pytorch() { # NAME ARGUMENT...
  [ "$has_torch" ] || return 0
  stage "pytorch_$1" 120 python3 tests/gpu/device_peer.py "${@:2}" --device "$device" --dtype "$dtype" \
    --out "$work/pytorch_$1.json"
}
step=(train --config "${peer[0]}" --length "${peer[1]}" --batch "${peer[2]}")
pytorch eager "${step[@]}"
[ "$device" = cpu ] || pytorch compiled "${step[@]}" --compile
if [ "$device" = cuda ] && command -v compute-sanitizer >/dev/null; then
  stage memcheck 40 "${ours[@]}" compute-sanitizer --error-exitcode 1 "$build/bin/gpu_device_test" --gtest_brief=1 \
    --gtest_filter='*rows_backward*:*take_backward*:*interpolate_backward*:*heads_in_eights*:*gate*:*classify*:Optimiser*'
fi
pytorch attention attention --lengths "${lengths##*,}" # a minute to compile: what a limit leaves is kept
echo "written: $out"
exit $worst
