#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Terraform module is valid HCL and uses the variables that it declares, and the page passes everything it needs.
# HashiCorp's parser comes from npm; no plan is run.
#
#   terraform_test.sh SOURCES FOLDER    FOLDER keeps the parser
set -euo pipefail
module=$1/deploy/terraform/cyclecloud/main.tf page=$1/docs/deploy/cyclecloud.md folder=$2
parser=@cdktf/hcl2json@0.21.0
for program in node npm jq; do
  command -v "$program" >/dev/null || {
    echo "$program is not installed"
    exit 77
  }
done
mkdir -p "$folder"
if [[ ! -d $folder/node_modules/@cdktf/hcl2json ]]; then
  npm install --prefix "$folder" --ignore-scripts --no-audit --no-fund "$parser" >"$folder/log" 2>&1 || {
    echo "npm cannot install $parser: $(tail -n 1 "$folder/log")"
    exit 77
  }
fi

fail() {
  echo "not ok: $*" >&2
  exit 1
}

# parse <HCL: as JSON.
parse() {
  NODE_PATH=$folder/node_modules node --eval '
    require("@cdktf/hcl2json").parse("main.tf", require("fs").readFileSync(0, "utf8"))
      .then((json) => console.log(JSON.stringify(json)), (error) => { console.error(String(error)); process.exit(1); })'
}

json=$(parse <"$module") || fail "$module cannot be parsed"
if sed '$d' "$module" | parse >/dev/null 2>&1; then fail 'a module without its last brace is parsed'; fi

resources=$(jq --raw-output '.resource | to_entries[] | .key + "." + (.value | keys[])' <<<"$json" | xargs)
[[ $resources == 'local_sensitive_file.parameters terraform_data.upload' ]] || fail "the resources are $resources"
declared=$(jq --raw-output '.variable | keys[]' <<<"$json")
used=$(grep -oP '\bvar\.\K[a-z_]+' "$module" | sort -u)
[[ $declared == "$used" ]] || fail "variables are declared or used alone: $(comm -3 <(echo "$declared") <(echo "$used") | xargs)"

# The page's call.
call=$(awk '/^```hcl$/ {on = 1; next} on && /^```$/ {exit} on' "$page" | parse) || fail 'the call in the page cannot be parsed'
given=$(jq --raw-output '.module.muster[0] | keys[] | select(. != "source")' <<<"$call")
required=$(jq --raw-output '.variable | to_entries[] | select(.value[0].default == null) | .key' <<<"$json")
[[ $given == "$required" ]] || fail "the page gives $given, and the module needs $required"
echo ok
