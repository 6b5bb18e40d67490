#!/bin/bash
# The documentation as a site: every link within it leads to a file and a place of it, and no page
# asks a network by itself.
# usage: site_test.sh ROOT; exit code 77 where pandoc is missing
set -euo pipefail
command -v pandoc >/dev/null || { echo "skipped: pandoc is not installed"; exit 77; }
site=$(mktemp -d)
trap 'rm -rf -- "$site"' EXIT
"$1/cmake/site/build" "$site" >/dev/null
failures=0
wrong() { failures=$((failures + 1)) && echo "FAILED: $1"; }

links=0
while IFS=: read -r page link; do
  links=$((links + 1))
  link=${link#*=\"} link=${link%\"} file=${link%%#*} place=''
  [[ $link != *#* ]] || place=${link#*#}
  if [[ -z $file ]]; then file=$page; else file=$(dirname -- "$page")/$file; fi
  if [[ ! -e $file ]]; then
    wrong "$page: $link: there is no such file"
  elif [[ -n $place && $file == *.html ]] && ! grep -q "id=\"$place\"" "$file"; then
    wrong "$page: $link: there is no such place"
  fi
done < <(grep -roE '(href|src)="[^":]+"' --include='*.html' "$site")
((links > 1000)) || wrong "$links links are too few"
[[ -s $site/index.html && -s $site/docs/index.html && -s $site/docs/tasks/copy.html ]] || wrong "pages are missing"
! grep -rnE '<(script|iframe)|(src|<link [^>]*href)="[a-z]*:?//|@import|url\(' --include='*.html' --include='*.css' "$site" ||
  wrong "a page asks a network"
((failures == 0)) && echo "$links links lead somewhere"
exit $((failures > 0))
