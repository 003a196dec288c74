#!/usr/bin/env bash
# try_under_systemd.sh DEB [CACHE] : boots a fresh Debian 12 in a container with systemd as its first process,
# installs the package, and uses the service by systemctl: start, one request and its replay, reload, a refused
# reload, a kill, stop, purge. So the unit's sandbox is the real one. Exit 77: not possible here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
deb=$(readlink -f "$1")
cache=${2:-}
die() { echo "FAIL: $*" >&2; exit 1; }
place=$(mktemp -d)
# shellcheck source=tests/packaging/clean_root.sh
source "$here/clean_root.sh"
command -v systemd-nspawn >/dev/null || skip "systemd-container is not installed"
root=$place/system
upstream=
cleanup() {
  [[ -z $upstream ]] || kill "$upstream" 2>/dev/null || true
  ! mountpoint -q "$root/proc" || umount "$root/proc"
  rm -rf --one-file-system "$place"
}
trap cleanup EXIT

make_clean_root "$root" "$cache"
install_dependencies "$deb" systemd-sysv curl
umount "$root/proc"
rm "$root/usr/sbin/policy-rc.d"
start_upstream
mkdir "$root/trial"
cp "$deb" "$root/trial/oncekey.deb"
cp "$here/trial.sh" "$root/trial/trial.sh"
python3 - "$upstream_port" >"$root/trial/settings" <<'PORTS'
import socket, sys
free = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
listen, admin = (place.getsockname()[1] for place in free)
print(f"ONCEKEY_UPSTREAM=http://127.0.0.1:{sys.argv[1]}\nONCEKEY_LISTEN=127.0.0.1:{listen}\nONCEKEY_ADMIN=127.0.0.1:{admin}")
PORTS
cat >"$root/etc/systemd/system/trial.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash -c 'bash /trial/trial.sh >/trial/trial.log 2>&1; echo $$? >/trial/trial.status; systemctl poweroff'
UNIT
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s ../trial.service "$root/etc/systemd/system/multi-user.target.wants/trial.service"

step "boot"
timeout 180 systemd-nspawn -q -D "$root" --register=no --keep-unit --boot >"$place/boot.log" 2>&1 || true
[[ -f $root/trial/trial.log ]] || { tail -n 5 "$place/boot.log"; skip "systemd does not boot in a container here"; }
cat "$root/trial/trial.log"
[[ $(cat "$root/trial/trial.status" 2>/dev/null) == 0 ]] || die "the trial under systemd failed"
