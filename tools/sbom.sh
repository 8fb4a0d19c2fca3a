#!/usr/bin/env bash
# Writes the contents of a build tree as an SPDX document: the system's packages whose headers were compiled
# into the programs and whose archives were linked.
#
#   tools/sbom.sh BUILD >muster.spdx.json      BUILD is configured by a preset, and built
#
# or of a container image, whose packages are lines "NAME VERSION" of standard input:
#
#   tools/sbom.sh --packages NAME VERSION <LIST >image.spdx.json
set -euo pipefail

build='' name=muster
if [[ $# -eq 3 && $1 == --packages ]]; then
  name=$2 version=$3
elif [[ $# -eq 1 && -f $1/build.ninja ]]; then
  build=$1
  version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
else
  sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2
  exit 64
fi

# System files that the compiler read or the linker used.
files() {
  ninja -C "$build" -t deps | sed -n 's/^ *\(\/usr\/.*\)/\1/p'
  ninja -C "$build" -t commands muster muster-bench | grep --only-matching '/usr/[^ ]*\.a'
}

# "NAME VERSION" of each package they belong to.
packages() {
  if command -v dpkg-query >/dev/null; then
    # Files that were installed by hand belong to none.
    # shellcheck disable=SC2016 # fields of dpkg-query
    { files | sort --unique | xargs dpkg-query --search 2>/dev/null || true; } |
      sed 's/: .*//; s/, /\n/g' | sort --unique | xargs dpkg-query --show --showformat='${Package} ${Version}\n'
  else
    files | sort --unique | xargs rpm --query --file --queryformat '%{NAME} %{VERSION}-%{RELEASE}\n'
  fi | sort --unique
}

kind=$(command -v dpkg-query >/dev/null && echo deb || echo rpm)
distribution=$(sed -n 's/^ID=//p' /etc/os-release | tr --delete '"')
if [[ $build ]]; then parts=$(packages); else parts=$(sort --unique); fi
[[ -n $parts ]] || {
  echo "sbom: no package of the system has a file that ${build:-$name} was built from" >&2
  exit 1
}

cat <<EOF
{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "$name-$version",
  "documentNamespace": "https://spdx.org/spdxdocs/$name-$version-$(sha256sum <<<"$parts" | cut --characters=1-16)",
  "creationInfo": {"created": "$(date --utc +%FT%TZ)", "creators": ["Tool: muster tools/sbom.sh"]},
  "packages": [
    {"SPDXID": "SPDXRef-$name", "name": "$name", "versionInfo": "$version", "downloadLocation": "NOASSERTION",
     "licenseDeclared": "Apache-2.0"}
EOF
while read -r part number; do
  printf '    ,{"SPDXID": "SPDXRef-%s", "name": "%s", "versionInfo": "%s", "downloadLocation": "NOASSERTION",\n' \
    "${part//[^A-Za-z0-9.-]/-}" "$part" "$number"
  printf '     "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": "pkg:%s/%s/%s@%s"}]}\n' \
    "$kind" "$distribution" "${part//+/%2B}" "${number//+/%2B}"
done <<<"$parts"
echo '  ],'
echo '  "relationships": ['
echo '    {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-'"$name"'"}'
while read -r part _; do
  printf '    ,{"spdxElementId": "SPDXRef-%s", "relationshipType": "CONTAINS", "relatedSpdxElement": "SPDXRef-%s"}\n' \
    "$name" "${part//[^A-Za-z0-9.-]/-}"
done <<<"$parts"
echo '  ]'
echo '}'
