#!/usr/bin/env bash
# Fails when docs/architecture.md and the tree name different folders, or a folder holds too many units. A unit is a source
# with its header; the checks of a group are one list and do not count.
set -euo pipefail

most_units=25
status=0

# The folders of the programs, and the other top-level folders.
in_tree() {
  git ls-files lib checks slurm bench accept fleet repair | grep / | xargs --max-args=1 dirname
  git ls-files | grep / | grep -vE '^(lib|checks|slurm|bench|accept|fleet|repair|\.ci)/' | cut --delimiter=/ --fields=1
}
in_table() {
  # shellcheck disable=SC2016 # the backquotes are Markdown's
  sed -n 's/^| \(`[^|]*`\) |.*/\1/p' docs/architecture.md | grep -o '`[^`]*`' | tr -d '`'
}

while read -r side folder; do
  case $side in
    '<') echo "rooms: $folder has no line in the table of docs/architecture.md" ;;
    '>') echo "rooms: docs/architecture.md names $folder, which is not a folder with files" ;;
    *) continue ;;
  esac
  status=1
done < <(diff <(in_tree | sort --unique) <(in_table | sort) || true)

while read -r units folder; do
  [[ $units -le $most_units || $folder =~ ^checks/(host|gpu)$ ]] && continue
  echo "rooms: $folder holds $units, more than $most_units"
  status=1
done < <(git ls-files lib checks slurm bench accept fleet repair | grep -E '\.(cpp|hpp)$' | sed -E 's/\.(cpp|hpp)$//' | sort --unique |
  xargs --max-args=1 dirname | sort | uniq --count)

exit "$status"
