# For the scripts that try the package in a fresh Debian 12. Sourced; needs `place`, a folder of their own.
skip() { echo "SKIPPED: $*"; exit 77; }
step() { echo "--- $*"; }

[[ $EUID -eq 0 ]] || skip "a clean root needs root"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
command -v python3 >/dev/null || skip "python3 is not installed"

# The Debian mirror that this machine uses.
mirror() {
  local found
  found=$(grep -rhoE '^(URIs: *|deb +(\[[^]]*\] +)?)https?://[^ ]*/debian/?( |$)' /etc/apt/sources.list \
    /etc/apt/sources.list.d 2>/dev/null | grep -oE 'https?://[^ ]*' | head -1 || true)
  [[ -n $found ]] || skip "no Debian mirror is configured"
  echo "$found"
}

# A tar file, when there is one of this name, is used instead of the mirror; otherwise it is made.
make_clean_root() { # ROOT [CACHE]
  local root=$1 cache=${2:-}
  if [[ -n $cache && -f $cache ]]; then
    step "a fresh Debian 12, from $cache"
    mkdir "$root" && tar -C "$root" -xf "$cache"
  else
    step "a fresh Debian 12, by debootstrap"
    local from
    from=$(mirror) || { echo "$from"; exit 77; }
    debootstrap --variant=minbase bookworm "$root" "$from" >"$place/debootstrap.log" 2>&1 || {
      tail -n 5 "$place/debootstrap.log"
      skip "debootstrap did not succeed"
    }
    [[ -z $cache ]] || tar -C "$root" -cf "$cache" .
  fi
  mount -t proc proc "$root/proc"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" && chmod +x "$root/usr/sbin/policy-rc.d"
}

inside() { # COMMAND... : in the root, with a plain environment
  chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@"
}

install_dependencies() { # DEB PACKAGE... : what the package needs, and more
  local deb=$1
  shift
  step "what the package depends on${*:+, and $*}"
  inside apt-get -q update >"$place/apt.log" 2>&1 || { tail -n 5 "$place/apt.log"; skip "the mirror cannot be reached"; }
  inside apt-get -q -y --no-install-recommends satisfy "$(dpkg-deb -f "$deb" Depends)" "$@" >>"$place/apt.log" 2>&1 ||
    { tail -n 5 "$place/apt.log" >&2; die "the dependencies cannot be installed"; }
  inside ldconfig
}

start_upstream() { # the service behind the gateway: sets upstream and upstream_port
  python3 "$here/upstream.py" >"$place/upstream" & upstream=$!
  local i
  for ((i = 0; i < 500; i++)); do [[ ! -s $place/upstream ]] || break; sleep 0.02; done
  read -r upstream_port <"$place/upstream" || die "the service behind the gateway did not start"
}
