#!/usr/bin/env bash
# Builds kube-apiserver 1.20 from Debian 12's source package and unpacks etcd, both into the folder DIR
# (usually build/kube-apiserver): four minutes of processor time. Nothing is installed.
set -euo pipefail

if [[ $# -ne 1 ]]; then
  echo "usage: tools/kube-apiserver.sh DIR" >&2
  exit 64
fi
folder=$1
[[ -d $folder ]] && exit 0

for program in apt-get dpkg-deb; do
  command -v "$program" >/dev/null || {
    echo "kube-apiserver: $program is not here" >&2
    exit 1
  }
done
mirror=$("$(dirname "${BASH_SOURCE[0]}")"/debian-mirror.sh)
mkdir -p "$(dirname "$folder")"
folder=$(realpath "$(dirname "$folder")")/$(basename "$folder")
work=$(mktemp --directory "$folder.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

mkdir -p lists/partial cache/archives/partial root tree
echo "deb-src $mirror bookworm main" >sources.list
sources=(--option Dir::Etc::SourceList="$work/sources.list" --option Dir::Etc::SourceParts=-
  --option Dir::State::Lists="$work/lists" --option Dir::Cache="$work/cache")
apt-get -qq --option APT::Sandbox::User=root "${sources[@]}" update
apt-get -qq --option APT::Sandbox::User=root "${sources[@]}" source --download-only --only-source kubernetes
apt-get -qq --option APT::Sandbox::User=root download golang-1.19-go golang-1.19-src \
  golang-github-modern-go-reflect2-dev etcd-server
for package in ./*.deb; do dpkg-deb --extract "$package" root; done
mv root/usr/bin/etcd tree/

export GOPATH=$work/go GOCACHE=$work/go-cache GO111MODULE=off GOROOT=$work/root/usr/lib/go-1.19
go=$GOROOT/bin/go
kubernetes=$GOPATH/src/k8s.io/kubernetes
mkdir -p "$kubernetes"
tar --extract --file kubernetes_*.orig.tar.gz --directory "$kubernetes" --strip-components 1
cd "$kubernetes"
# The package's own reflect2 crashes if built by Go 1.18 or newer.
rm vendor/github.com/modern-go/reflect2/*
cp "$work"/root/usr/share/gocode/src/github.com/modern-go/reflect2/*.{go,s} vendor/github.com/modern-go/reflect2/
rm -f vendor/github.com/modern-go/reflect2/*_test.go

# The only generated file that the package lacks.
"$go" build -o "$work/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
mapfile -t packages < <(grep -rl --include='*.go' '^// +k8s:openapi-gen=' pkg staging/src vendor/k8s.io |
  xargs --max-args=1 dirname |
  sed -e 's|^staging/src/|vendor/|' -e 's|^|k8s.io/kubernetes/|' | sort --unique)
"$work/openapi-gen" --input-dirs "$(
  IFS=,
  echo "${packages[*]}"
)" --output-base "$GOPATH/src" --output-package k8s.io/kubernetes/pkg/generated/openapi \
  --output-file-base zz_generated.openapi --go-header-file /dev/null --report-filename /dev/null

version=k8s.io/kubernetes/vendor/k8s.io/component-base/version
"$go" build -o "$work/tree/kube-apiserver" \
  -ldflags "-s -w -X $version.gitVersion=v1.20.2 -X $version.gitMajor=1 -X $version.gitMinor=20" \
  k8s.io/kubernetes/cmd/kube-apiserver
chmod 755 "$work/tree"
mv "$work/tree" "$folder"
