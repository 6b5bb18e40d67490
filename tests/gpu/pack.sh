#!/usr/bin/env bash
# Packs all that a machine with a device needs for device_report.sh, where nothing can be installed or
# built: the script and its tests, programs, plugins, backends, and the shared libraries they open but
# for those of the compiler, the system's C library, CUDA and cuDNN.
#
#   tests/gpu/pack.sh [--build FOLDER] FILE.tar.xz
#
# There, in any folder: tar xJf FILE.tar.xz && tests/gpu/device_report.sh --no-build
set -euo pipefail
build=build file=
while [ $# -gt 0 ]; do
  case "$1" in
    --build) build=$2; shift 2 ;;
    -*) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
    *) file=$1; shift ;;
  esac
done
[ -n "$file" ] || { echo "where to? e.g. tests/gpu/pack.sh device.tar.xz" >&2; exit 2; }
[ -x "$build/bin/gpu_device_test" ] || {
  echo "$build has no bin/gpu_device_test; build with the CUDA toolkit first, or name the build by --build" >&2
  exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/build/bin" "$work/build/lib"
cp "$build/bin/pesuite" "$build/bin/gpu_device_test" "$work/build/bin/"
cp -r "$build/backends" "$build/plugins" "$work/build/"
find "$work/build" -name CMakeFiles -prune -exec rm -rf {} +
find "$work/build" -type f \( -name '*.cmake' -o -name '*.a' -o -name '*.o' \) -delete
ldd "$work"/build/bin/* "$work"/build/backends/*.so | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
  grep -vE '/(libc|libm|libstdc\+\+|libgcc_s|libdl|libpthread|librt|ld-linux[^/]*|libcuda|libcudnn|libcublas|libcublasLt|libnccl)[.-]' |
  xargs -I{} cp -L {} "$work/build/lib/"
strip --strip-unneeded "$work"/build/lib/* "$work"/build/bin/* 2>/dev/null || true
# A quarter of the archive would be ICU's tables, which libxml2 below libarchive asks for where it
# reads XML in rare encodings. Nothing here reads XML: an empty table keeps the linker content.
for icu in "$work"/build/lib/libicudata.so.*; do
  [ -e "$icu" ] || continue
  version=${icu##*.}
  echo "const char icudt${version}_dat[64] = {0};" |
    "${CC:-cc}" -shared -fPIC -x c -Wl,-soname,"libicudata.so.$version" -o "$icu" -
done
mkdir -p "$work/tests/gpu" "$work/tests/bench"
here=$(dirname "$0")
cp "$here"/device_report.sh "$here"/device_*.py "$work/tests/gpu/"
cp "$here/../bench/torch_peer.py" "$work/tests/bench/"
git -C "$here" describe --always --dirty --abbrev=40 --exclude '*' >"$work/tests/gpu/commit" 2>/dev/null || true
cp -r "$here/../checkpoints" "$here/../../suites" "$work/tests/"
mv "$work/tests/suites" "$work/suites"
tar -C "$work" -c build tests suites | xz -T0 --x86 --lzma2=preset=9e >"$file"
echo "$file: $(du -h "$file" | cut -f1)"
