#!/usr/bin/env bash
# Fails on turns of phrase that make comments, messages and pages read as if translated, and names the plainer word.
# `plain_english.sh --count` prints how often each occurs; `plain_english.sh FILE...` reads those files alone.
set -euo pipefail

# pattern (extended, of Perl) | what to write
rules='
\b([Nn]obody|[Ss]omebody|[Ww]hoever)\b(?!$|["(/\\,-]| \|| (else|has|may|can) | else\b)|the thing itself: "no rank", "the user", "an admin"
(?<![Tt]here )\b(is|are|was|were) no (?!longer|more|less|fewer|later|need|way|point|use\b|reason|guarantee|limit|such|room|single|one\b)[a-z]|"is not a": "invalid", "unknown", "not a"
\btold (of|by|to|so|that|what)\b|"reported", "informed", "asked"
\btells? (of|what)\b|"reports", "prints", "shows"
\bstands? (once|twice|beside|with|there|here|alone|in|at the)\b|"is in", "occurs", "appears"
\b[Ww]hat is no\b|"anything that is not a"
\b[Ww]here nobody\b|"if no ..."
\bso many times\b|"N times"
\bin vain\b|"without result", "forever"
\bwithout a word\b|"unexpectedly"
\bmeans? nothing to\b|"unknown"
\bnoughts?\b|"zeros"
\bis said to be\b|"is reported as"
\bsays? of\b|"reports", "shows"
\bcame? over (changed|whole)\b|"was corrupted", "arrived"
\bof which each\b|"each of which"
^\s*(//|#) (Of|Whatever|What|Whoever|Where nobody|That which|That) |begin with a verb or a noun
'

count=false
if [[ ${1:-} == --count ]]; then
  count=true
  shift
fi
if [[ $# -gt 0 ]]; then
  files=("$@")
else
  mapfile -t files < <(git ls-files 'lib' 'checks' 'bench' 'slurm' 'deploy' 'tests' 'docs' 'tools' 'configs' 'cmake' 'nhc-plugins' '*.md' '*.txt' |
    grep -E '\.(cpp|hpp|cu|sh|md|yaml|cmake|in|nhc|txt)$' | grep -vE '^(tests/plain_english\.sh|tests/.*/(seeds|data)/)' | sort --unique)
fi

status=0
while IFS= read -r rule; do
  [[ $rule ]] || continue
  pattern=${rule%|*} plainer=${rule##*|}
  if $count; then
    printf '%5d  %s\n' "$(grep -hoP "$pattern" "${files[@]}" | wc -l || true)" "$pattern"
    continue
  fi
  hits=$(grep -nP "$pattern" "${files[@]}" /dev/null || true)
  [[ $hits ]] || continue
  printf 'write %s:\n%s\n' "$plainer" "$hits"
  status=1
done <<<"$rules"
exit "$status"
