#!/usr/bin/env bash
# check_contents.sh BUILD : makes the Debian package of a build and looks at what is in it.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$1" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
failures=0
fail() { echo "FAIL: $*"; failures=$((failures + 1)); }

command -v dpkg-shlibdeps >/dev/null || { echo "dpkg-dev is not installed: the package cannot be made"; exit 77; }
(cd "$build" && cpack -G DEB -D CPACK_COMPONENTS_ALL=program -B "$place") >"$place/log" 2>&1 || {
  cat "$place/log"
  exit 1
}
packages=("$place"/*.deb)
[[ ${#packages[@]} -eq 1 ]] || fail "one package was expected, not: ${packages[*]}"
deb=${packages[0]}
dpkg-deb -c "$deb" >"$place/contents"

has() { # PATH MODE : as root's, with this mode
  grep -Eq "^$2 root/root .* \./$1\$" "$place/contents" || fail "$1 ($2 root/root) is not in the package"
}
has usr/bin/oncekey -rwxr-xr-x
has usr/lib/systemd/system/oncekey.service -rw-r--r--
has etc/oncekey/oncekey.toml -rw-r--r--
has usr/share/doc/oncekey/copyright -rw-r--r--
has usr/share/doc/oncekey/configuration.md -rw-r--r--
for page in oncekey oncekey-serve oncekey-key oncekey-key-resolve oncekey-outbox-retry; do
  has "usr/share/man/man1/$page.1.gz" -rw-r--r--
done
has usr/share/bash-completion/completions/oncekey -rw-r--r--
has usr/share/zsh/vendor-completions/_oncekey -rw-r--r--
has usr/share/fish/vendor_completions.d/oncekey.fish -rw-r--r--
! grep -vE '^.{10} root/root ' "$place/contents" || fail "not everything belongs to root"
! grep -E ' \./(var|home|root|tmp|opt|usr/local)/' "$place/contents" || fail "files where none belong"

field() { dpkg-deb -f "$deb" "$1"; }
[[ $(field Package) == oncekey ]] || fail "the package is called $(field Package)"
version=$("$build/oncekey" version)
[[ "oncekey $(field Version)" == "$version" ]] || fail "the package is $(field Version), the program $version"
for library in libc6 librocksdb libpq5 libssl3 libjemalloc2; do
  [[ $(field Depends) == *$library* ]] || fail "no dependency on $library: $(field Depends)"
done
[[ $(dpkg-deb -I "$deb" conffiles) == /etc/oncekey/oncekey.toml ]] || fail "conffiles are wrong"
dpkg-deb -e "$deb" "$place/control"
for script in postinst prerm postrm; do
  [[ -x $place/control/$script ]] || fail "$script is missing or not executable"
  sh -n "$place/control/$script" || fail "$script is not a shell script"
done

# What the unit runs and reads is in the package, and the program accepts the default configuration.
dpkg-deb -x "$deb" "$place/system"
unit=$place/system/usr/lib/systemd/system/oncekey.service
while read -r program; do
  [[ -x $place/system$program ]] || fail "the unit runs $program, which is not in the package"
done < <(sed -n 's/^Exec[A-Za-z]*=\([^ ]*\).*/\1/p' "$unit")
"$place/system/usr/bin/oncekey" check --offline --config "$place/system/etc/oncekey/oncekey.toml" >"$place/check" ||
  fail "the default configuration is refused"
! grep warning: "$place/check" || fail "the default configuration has warnings"
if command -v systemd-analyze >/dev/null; then
  sed "s|/usr/bin/oncekey|$place/system/usr/bin/oncekey|" "$unit" >"$place/oncekey.service"
  complaints=$(systemd-analyze verify --man=no --recursive-errors=no "$place/oncekey.service" 2>&1 | grep -i 'oncekey' || true)
  [[ -z $complaints ]] || fail "systemd-analyze verify: $complaints"
  exposure=$(systemd-analyze security --offline=yes --threshold=20 "$place/oncekey.service" 2>&1) ||
    fail "systemd-analyze security: $(tail -1 <<<"$exposure")"
  tail -1 <<<"$exposure"
fi
if command -v lintian >/dev/null; then
  lintian --fail-on error --suppress-tags-from-file "$source/tests/packaging/lintian_suppressed" "$deb" ||
    fail "lintian has errors"
fi
((failures == 0)) || exit 1
echo "$(basename "$deb"): $(wc -l <"$place/contents") entries, as expected"
