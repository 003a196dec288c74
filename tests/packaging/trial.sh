# Runs inside the booted system; see try_under_systemd.sh.
set -euo pipefail
die() {
  echo "FAIL: $*"
  systemctl --no-pager status oncekey || true
  journalctl --no-pager -u oncekey -n 30 || true
  exit 1
}
step() { echo "--- $*"; }
property() { systemctl show -P "$1" oncekey; }

step "apt install"
apt-get -q -y install /trial/oncekey.deb >/trial/apt.log 2>&1 || { cat /trial/apt.log; die "the package does not install"; }
[[ $(property ActiveState) == inactive ]] || die "the service was started unasked"
install -m 600 /trial/settings /etc/oncekey/environment
set -a
# shellcheck source=/dev/null
source /trial/settings # ONCEKEY_ADMIN is where the commands below ask
set +a

step "systemctl enable --now"
systemctl enable --now oncekey 2>/trial/enable.log || die "the service does not start: $(cat /trial/enable.log)"
[[ $(property ActiveState) == active ]] || die "the service is $(property ActiveState)"
[[ $(property StatusText) == "serving $ONCEKEY_LISTEN before http://127.0.0.1:"* ]] || die "status: $(property StatusText)"
oncekey healthcheck || die "it is not ready"
pid=$(property MainPID)
user=$(stat -c %u "/proc/$pid")
((user >= 61184 && user <= 65519)) || die "it runs as $user, which is no dynamic user"
grep -q '^CapBnd:[[:space:]]*0*$' "/proc/$pid/status" || die "it has capabilities"
grep -q '^Seccomp:[[:space:]]*2$' "/proc/$pid/status" || die "its system calls are not filtered"

step "one request, executed and replayed"
order() {
  curl -sS -i --max-time 20 http://$ONCEKEY_LISTEN/orders -H 'Idempotency-Key: the-first-order-1' \
    -H 'Content-Type: application/json' -d '{"item":"espresso"}'
}
[[ $(order) == *"HTTP/1.1 201"*'{"executed":1}' ]] || die "the first answer is wrong"
[[ $(order) == *"Idempotency-Replayed: true"*'{"executed":1}' ]] || die "the second answer is wrong"

step "systemctl reload"
echo 'policy_url = "https://shop.example/retries"' | cat - /etc/oncekey/oncekey.toml >/trial/new && cp /trial/new /etc/oncekey/oncekey.toml
systemctl reload oncekey || die "the reload was refused"
[[ $(curl -sS -X POST http://$ONCEKEY_LISTEN/orders) == *https://shop.example/retries* ]] || die "the file is not in force"
[[ $(property MainPID) == "$pid" ]] || die "it is another process"
echo 'threads = 1' | cat - /etc/oncekey/oncekey.toml >/trial/new && cp /trial/new /etc/oncekey/oncekey.toml
! systemctl reload oncekey 2>/dev/null || die "a change that needs a restart was put in force"
journalctl --no-pager -u oncekey | grep -q 'threads: differs' || die "the journal does not say why"
[[ $(property ActiveState) == active ]] || die "after a refused reload it is $(property ActiveState)"

step "kill: it comes back, and knows its answers"
kill -KILL "$pid"
for ((i = 0; i < 200; i++)); do oncekey healthcheck >/dev/null 2>&1 && break; sleep 0.1; done
[[ $(property MainPID) != "$pid" ]] || die "it was not started again"
[[ $(order) == *"Idempotency-Replayed: true"*'{"executed":1}' ]] || die "the record is lost"

step "systemctl stop, apt purge"
systemctl stop oncekey
[[ $(property Result) == success ]] || die "it ended with $(property Result)"
rm /etc/oncekey/environment
systemctl start oncekey 2>/dev/null || true # a purge ends a service that runs
apt-get -q -y purge oncekey >/trial/apt.log 2>&1 || { cat /trial/apt.log; die "the package cannot be purged"; }
[[ $(property LoadState) == not-found ]] || die "systemd still knows the unit"
! grep -qx oncekey /proc/[0-9]*/comm || die "it still runs"
[[ ! -e /etc/oncekey && ! -e /usr/bin/oncekey ]] || die "files are left"
[[ -d /var/lib/private/oncekey/data ]] || die "the records are gone"
step "good: under systemd it was installed, started, reloaded, killed, stopped and purged"
