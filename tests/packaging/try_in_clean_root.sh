#!/usr/bin/env bash
# try_in_clean_root.sh DEB [CACHE] : installs the package into a fresh Debian 12, runs the service as its
# unit says, executes one request and replays it, reloads, removes and purges the package, and looks at what is
# left. CACHE keeps the fresh system between runs. Needs root, debootstrap and Debian's mirror; exit 77: not possible.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
deb=$(readlink -f "$1")
cache=${2:-}
die() { echo "FAIL: $*" >&2; [[ ! -f ${place:-}/service.log ]] || tail -n 20 "$place/service.log" >&2; exit 1; }
place=$(mktemp -d)
# shellcheck source=tests/packaging/clean_root.sh
source "$here/clean_root.sh"
root=$place/system
service= upstream=
cleanup() {
  [[ -z $service ]] || kill -KILL "$service" 2>/dev/null || true
  [[ -z $upstream ]] || kill "$upstream" 2>/dev/null || true
  ! mountpoint -q "$root/proc" || umount "$root/proc"
  rm -rf --one-file-system "$place"
}
trap cleanup EXIT

make_clean_root "$root" "$cache"
# Everything but what package tools write for themselves.
listing() {
  (cd "$root" && find . -xdev \( -path ./proc -o -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/lib/apt \
    -o -path ./var/log -o -path ./tmp -o -path ./run \) -prune -o -print | sort)
}

install_dependencies "$deb"
listing >"$place/before"

step "dpkg -i"
cp "$deb" "$root/tmp/oncekey.deb"
inside dpkg -i /tmp/oncekey.deb >"$place/dpkg.log" 2>&1 || { cat "$place/dpkg.log" >&2; die "the package does not install"; }
inside oncekey version
inside oncekey check --offline --config /etc/oncekey/oncekey.toml >/dev/null || die "the default configuration is refused"

step "the service, as its unit starts it"
unit=$root/usr/lib/systemd/system/oncekey.service
value_of() { sed -n "s/^$1=//p" "$unit" | tail -1; }
[[ $(value_of DynamicUser) == yes && $(value_of Type) == notify ]] || die "the unit is not the one this script knows"
start_upstream
# What systemd does: a user without a name, its folder, no privileges, nothing of root's environment.
uid=61234
install -d -m "$(value_of StateDirectoryMode)" -o "$uid" -g "$uid" "$root/var/lib/$(value_of StateDirectory)"
# shellcheck disable=SC2016  # the words are expanded inside
as_unit() { # COMMAND... : in the unit's working directory, as its user
  chroot "$root" /usr/bin/env -i PATH=/usr/bin "${environment[@]}" \
    setpriv --reuid="$uid" --regid="$uid" --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all \
    sh -c 'umask "$0"; cd "$1" || exit 1; shift; exec "$@"' "$(value_of UMask)" "$(value_of WorkingDirectory)" "$@"
}
environment=(ONCEKEY_UPSTREAM="http://127.0.0.1:$upstream_port" ONCEKEY_LISTEN=127.0.0.1:0 ONCEKEY_ADMIN=127.0.0.1:0)
read -r -a start <<<"$(value_of ExecStart)"
logged() { # FIELD : of the line that says that it listens
  sed -n '/"event":"listening"/s/.*"'"$1"'":"\{0,1\}\([^",}]*\).*/\1/p' "$place/service.log"
}
start_service() { # sets service, listen, admin and pid
  local i
  : >"$place/service.log"
  as_unit "${start[@]}" 2>>"$place/service.log" & service=$!
  for ((i = 0; i < 500; i++)); do
    [[ -z $(logged listen) ]] || break
    kill -0 "$service" 2>/dev/null || die "the service ended"
    sleep 0.02
  done
  listen=$(logged listen) admin=http://$(logged admin) pid=$(logged pid)
  [[ -n $listen ]] || die "the service does not listen"
}
start_service
[[ $(stat -c %u "/proc/$pid") == "$uid" ]] || die "the service does not run as the unit's user"
as_unit oncekey healthcheck --url "$admin" || die "the service is not ready"

step "one request, executed and replayed"
order() {
  curl -sS -i --max-time 20 "http://$listen/orders" -H 'Idempotency-Key: the-first-order-1' \
    -H 'Content-Type: application/json' -d '{"item":"espresso"}'
}
first=$(order) && again=$(order)
[[ $first == *"HTTP/1.1 201"*'{"executed":1}' ]] || die "the first answer: $first"
[[ $again == *"Idempotency-Replayed: true"*'{"executed":1}' ]] || die "the second answer: $again"

step "reload, as the unit does it"
sed -i 's|^# \[\[route\]\]|[[route]]|; s|^# match = "POST,PATCH \*"|match = "POST,PATCH *"|; s|^# key = "optional"|key = "optional"|' "$root/etc/oncekey/oncekey.toml"
sed -i '0,/^\[\[route\]\]/s//# [[route]]/' "$root/etc/oncekey/oncekey.toml"
read -r -a reload <<<"$(value_of ExecReload)"
for i in "${!reload[@]}"; do [[ ${reload[i]} != "\$MAINPID" ]] || reload[i]=$pid; done
verdict=$(as_unit "${reload[@]}" --url "$admin") || die "the reload failed"
[[ $verdict == *"key"* ]] || die "the reload changed something else: $verdict"
[[ $(curl -sS --max-time 20 "http://$listen/orders" -d x) == '{"executed":2}' ]] || die "the key is not optional now"
echo "broken = " >>"$root/etc/oncekey/oncekey.toml"
! as_unit "${reload[@]}" --url "$admin" 2>"$place/refusal" || die "a broken file was put in force"
grep -q 'oncekey.toml:' "$place/refusal" || die "the refusal does not name the place: $(cat "$place/refusal")"
sed -i '/^broken = $/d' "$root/etc/oncekey/oncekey.toml"

step "stop, and start again: the answer is still there"
stop() {
  kill -TERM "$pid"
  wait "$service" || die "the service did not end well"
  service=
}
stop
start_service
[[ $(order) == *"Idempotency-Replayed: true"*'{"executed":1}' ]] || die "the record is lost"
stop

step "dpkg -r, dpkg -P: nothing is left but data"
inside dpkg -r oncekey >"$place/dpkg.log" 2>&1 || die "the package cannot be removed: $(cat "$place/dpkg.log")"
left=$(listing | comm -13 "$place/before" - | grep -v '^./var/lib/oncekey' || true)
[[ $left == $'./etc/oncekey\n./etc/oncekey/oncekey.toml' ]] || die "left after dpkg -r: $left"
inside dpkg -P oncekey >"$place/dpkg.log" 2>&1 || die "the package cannot be purged: $(cat "$place/dpkg.log")"
left=$(listing | comm -13 "$place/before" - | grep -v '^./var/lib/oncekey' || true)
[[ -z $left ]] || die "left after dpkg -P: $left"
gone=$(listing | comm -23 "$place/before" - || true)
[[ -z $gone ]] || die "gone that was there before: $gone"
[[ -d $root/var/lib/oncekey/data ]] || die "the records are gone"
! inside dpkg -s oncekey >/dev/null 2>&1 || die "dpkg still knows the package"
step "good: installed, served, replayed, reloaded, restarted and removed"
