#!/bin/bash
# Executes the Containerfile for the CPU as a builder of containers would, in folders made by debootstrap
# that this changes its root to, then runs the smoke suite in the image. Needs root, debootstrap and the
# packages' mirror. Takes some ten minutes.
# usage: container_test.sh ROOT
set -euo pipefail
root=$(realpath -- "$1")
skip() { echo "skipped: $*"; exit 77; }
((EUID == 0)) || skip "only root may change its root folder"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
work=$(mktemp -d)
end() {
  for mounted in "$work"/*/{proc,dev/pts,dev}; do umount "$mounted" 2>/dev/null || true; done
  rm -rf --one-file-system -- "$work"
}
trap end EXIT

begin_stage() { # FOLDER: of debian:12
  [[ -d $work/debian ]] || debootstrap --variant=minbase bookworm "$work/debian" >/dev/null
  cp -a "$work/debian" "$work/$1"
  # this machine's way to the mirror
  rm -f "$work/$1/etc/apt/sources.list"
  cp -r /etc/apt/sources.list* /etc/apt/apt.conf.d "$work/$1/etc/apt/" 2>/dev/null || true
  cp /etc/resolv.conf "$work/$1/etc/"
  mount -t proc proc "$work/$1/proc"
  for shared in /dev /dev/pts; do mount --bind "$shared" "$work/$1$shared"; done
}
inside() { # STAGE FOLDER COMMAND
  echo "+ $3"
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive \
    chroot "$work/$1" /bin/sh -c "mkdir -p '$2' && cd '$2' && $3" </dev/null
}

stage='' folder=/ entry='' runs=0
while IFS= read -r line; do
  words=${line#* }
  case ${line%% *} in
    ARG | ENV) ;; # the CPU's defaults, and what inside() sets
    FROM)
      stage=stage${#stage} folder=/
      begin_stage "$stage"
      ;;
    WORKDIR) folder=$words ;;
    RUN)
      inside "$stage" "$folder" "$words"
      runs=$((runs + 1))
      ;;
    COPY)
      if [[ $words == --from=* ]]; then
        read -r _ from to <<<"$words"
        mkdir -p "$work/$stage$to"
        cp $work/stage0$from "$work/$stage$to" # the pattern is the file's
      else
        git clone --quiet "$root" "$work/$stage${words#* }"
      fi
      ;;
    ENTRYPOINT) entry=$(tr -d '[]",' <<<"$words") ;;
    *) echo "this test does not know '$line'" && exit 1 ;;
  esac
done < <(sed -e ':a' -e '/\\$/N; s/\\\n *//; ta' "$root/Containerfile" | grep -v '^ *\(#\|$\)')
((runs >= 5)) || { echo "only $runs commands were found"; exit 1; }
inside "$stage" "$folder" "$entry version"
inside "$stage" "$folder" "$entry run smoke --progress none"
inside "$stage" "$folder" "test -s results/runs/*/report.html && ls results/runs/*/figures/*.svg"
echo "the image of $runs commands ran the smoke suite"
