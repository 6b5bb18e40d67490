#!/bin/bash
# Runs the commands of templates/ci as they stand: those for a fork in a fresh clone, that for a
# library in a project made by 'pesuite plugin new'. Builds pesuite twice.
# usage: templates_test.sh ROOT PESUITE
set -euo pipefail
root=$(realpath -- "$1") pesuite=$(realpath -- "$2")
unset PESUITE_BUILD_DIR
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
export GITHUB_STEP_SUMMARY=$work/summary.md

# The commands of a workflow, a line each: 'run: COMMAND', the lines below 'run: |', GitLab's items of
# 'script:'. What only prepares an empty container is left out.
commands() { # FILE
  awk '
    /^ *(- )?run: \|/ { block = 1; match($0, /[^ ]/); depth = RSTART; next }
    block { match($0, /[^ ]/); if (RSTART > depth) { sub(/^ +/, ""); print; next } block = 0 }
    /^ *(- )?run: / { sub(/^ *(- )?run: /, ""); print; next }
    /^  script:/ { script = 1; next }
    script && /^    - / { sub(/^    - /, ""); print; next }
    script { script = 0 }' "$1" | grep -v '^apt-get'
}

run_all() { # FILE, from the present folder
  local count=0 line
  while IFS= read -r line; do
    echo "+ $line"
    bash -euo pipefail -c "$line" </dev/null
    count=$((count + 1))
  done < <(commands "$1")
  ((count >= 2)) || { echo "$1: only $count commands were found"; exit 1; }
}

git clone --quiet "$root" "$work/fork"
cd "$work/fork"
for file in github gitlab; do
  run_all "templates/ci/$file.yml"
  [[ -s gate.md ]] || { echo "$file.yml: gate.md was not written"; exit 1; }
done
[[ -s $GITHUB_STEP_SUMMARY ]] || { echo "github.yml wrote no summary"; exit 1; }

cd "$work"
"$pesuite" plugin new encoding shifted >/dev/null
cd "$work/shifted"
export PESUITE_REPOSITORY=$work/fork
# A project gates against a baseline that it made before; here from the same library.
first=$work/first.yml gate=$work/gate.yml
sed '/- name: gate/,$d' "$root/templates/ci/plugin.github.yml" >"$first"
sed -n '/- name: gate/,$p' "$root/templates/ci/plugin.github.yml" >"$gate"
run_all "$first"
.prefix/bin/pesuite run suite.toml --plugin-path build/plugins --progress none
.prefix/bin/pesuite baseline save main results/runs/*
run_all "$gate"
grep -q identical gate.md || { echo "the same library is not identical to itself:"; cat gate.md; exit 1; }
echo "passed"
