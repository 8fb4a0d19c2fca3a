#!/usr/bin/env bash
# Runs ib.loopback next to perftest in a QEMU guest with Debian's kernel, on software HCAs (rdma_rxe). The guest's clock
# counts its instructions, so the results do not depend on other load of the machine.
#
#   rdma.sh MUSTER_BENCH KERNEL    KERNEL: the folder of tools/guest-kernel.sh, or MUSTER_GUEST_KERNEL
# Exits with 77 if no such guest can be started.
set -euo pipefail

program=$1
kernel=${MUSTER_GUEST_KERNEL:-$2}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

skip() {
  echo "rdma_guest: skipped: $*" >&2
  exit 77
}
[[ $(uname -m) == x86_64 ]] || skip "this machine is not x86_64"
for needed in qemu-system-x86_64 busybox cpio modprobe ip rdma ib_write_bw ib_read_bw; do
  command -v "$needed" >/dev/null || skip "$needed is not installed"
done
if ldd "$(command -v busybox)" >/dev/null 2>&1; then skip "busybox is not static (busybox-static)"; fi
[[ -d $kernel ]] || skip "no kernel in $kernel (tools/guest-kernel.sh $kernel)"
driver=$(find /usr/lib /usr/lib64 -name 'librxe-rdmav*.so' -print -quit 2>/dev/null)
[[ -n $driver ]] || skip "libibverbs has no driver rxe (ibverbs-providers)"

work=$(mktemp --directory)
trap 'rm -rf "$work"' EXIT
root=$work/root
mkdir -p "$root"/{bin,dev,proc,sys,tmp,etc,modules}

# Copies a program or library and the libraries that it needs.
add() {
  local file
  for file in "$1" $(ldd "$1" 2>/dev/null | grep --only-matching '/[^ )]*'); do
    [[ -e $root$file ]] || install -D "$(readlink --canonicalize "$file")" "$root$file"
  done
}

add_modules() {
  local version module
  version=$(basename "$kernel"/lib/modules/*)
  # Newer kernels have the checksum built in.
  for module in crc32_generic dummy ib_uverbs rdma_rxe; do
    modprobe --dirname "$kernel" --set-version "$version" --show-depends "$module" 2>/dev/null ||
      [[ $module == crc32_generic ]] || skip "the kernel in $kernel has no module $module"
  done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$work/modules"
  while read -r module; do
    cp "$module" "$root/modules/"
    if [[ $module == *.xz ]]; then xz --decompress "$root/modules/$(basename "$module")"; fi
    basename "$module" .xz
  done <"$work/modules" >"$root/modules/order"
}

cp "$(command -v busybox)" "$root/bin/busybox"
for name in sh mount insmod poweroff sleep cat awk grep kill tail head cut sed; do ln -s busybox "$root/bin/$name"; done
for name in ip rdma ib_write_bw ib_read_bw; do add "$(command -v "$name")"; done
add "$program"
mv "$root$program" "$root/bin/muster-bench"
strip "$root/bin/muster-bench" 2>/dev/null || true
add "$(ldconfig -p | awk '/libibverbs.so.1 .*x86-64/ { print $NF; exit }')"
add "$driver"
install -D --mode 644 /etc/libibverbs.d/rxe.driver "$root/etc/libibverbs.d/rxe.driver"
add_modules
install --mode 755 "$here/rdma_inside.sh" "$root/init"
(cd "$root" && find . | cpio --quiet --create --format newc | gzip -1) >"$work/initrd"

timeout 540 qemu-system-x86_64 -M microvm,rtc=on -cpu Nehalem -icount shift=1,sleep=off -smp 1 -m 512 -nodefaults \
  -no-reboot -display none -serial stdio -kernel "$kernel"/boot/vmlinuz-* -initrd "$work/initrd" \
  -append "console=ttyS0 quiet loglevel=1 mitigations=off panic=-1 reboot=t" </dev/null 2>"$work/qemu" | tr --delete '\r' | tee "$work/said" || {
  cat "$work/qemu" >&2
  echo "rdma_guest: the guest did not end well" >&2
  exit 1
}
if ! grep --quiet '^guest: the end$' "$work/said" || grep --quiet '^guest: WRONG' "$work/said"; then exit 1; fi
