# Installing what packaging/packages.txt lists, group by group, and only what is missing.
packages_file=packaging/packages.txt

packages_of() { # GROUP... -> package names, one a line
  awk -v wanted=" $* " '
    /^#/ { next }
    /^\[/ { name = $1; gsub(/[][]/, "", name); take = index(wanted, " " name " ") > 0; next }
    take { for (i = 1; i <= NF; i++) print $i }' "$packages_file"
}

missing_of() { # PACKAGE... -> those that are not installed
  local installed
  installed=$(dpkg-query -W -f='${db:Status-Abbrev}${Package}\n' "$@" 2>/dev/null || true)
  printf '%s\n' "$@" | awk -v have="$installed" '
    BEGIN { n = split(have, lines, "\n")
            for (i = 1; i <= n; i++) if (lines[i] ~ /^.i /) installed[substr(lines[i], 4)] = 1 }
    !($0 in installed)'
}

as_root() {
  if [[ $EUID -eq 0 ]]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else die "packages are missing and there is neither root nor sudo; as root: apt-get install ${missing[*]}"
  fi
}

# apt's status lines, "dlstatus:…:PERCENT:…" and "pmstatus:…:PERCENT:…", become progress; its usual
# talk goes to LOG. The status descriptor is opened below sudo, which would close it.
run_apt() { # LOG ARGUMENTS...
  local log=$1
  shift
  as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=l \
    bash -c 'exec apt-get -y -q -o APT::Status-Fd=3 -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 "$@" 3>&1 1>&2' \
    apt "$@" 2>>"$log" |
    awk -F: '
      { step = ($1 == "dlstatus" ? "downloading " : "installing ") int($3 / 10) * 10 "%" }
      step != last { print "    " step; fflush(); last = step }'
}

# A freshly installed server starts to serve, now and at every boot, which nobody asked for. A masked
# unit does not start; a server that was there before is left as it is.
keep_services_stopped() { # mask | unmask
  local package service
  [[ -d /run/systemd/system ]] || return 0
  for package in "${missing[@]}"; do
    case $package in
      nginx-light) service=nginx.service ;;
      prometheus) service=prometheus.service ;;
      redis-server) service=redis-server.service ;;
      postgresql-15) service=postgresql.service ;;
      pgbouncer) service=pgbouncer.service ;;
      *) continue ;;
    esac
    as_root systemctl "$1" --quiet "$service" || true
    [[ $1 == mask ]] || as_root systemctl disable --quiet "$service" || true
  done
}

# Debian makes a database cluster along with the server, unless this folder says otherwise.
cluster_setting=/etc/postgresql-common/createcluster.d/oncekey.conf
keep_cluster_away() { # before | after
  [[ " ${missing[*]} " == *" postgresql-15 "* ]] || return 0
  if [[ $1 == before ]]; then
    as_root mkdir -p "${cluster_setting%/*}"
    as_root bash -c "echo 'create_main_cluster = false' >$cluster_setting"
  else
    as_root rm -f "$cluster_setting"
  fi
}

need() { # GROUP... : makes sure that the groups' packages are installed
  command -v dpkg-query >/dev/null ||
    die "this is not Debian; install what $packages_file lists, then use cmake and ctest directly"
  local wanted missing log
  mapfile -t wanted < <(packages_of "$@")
  mapfile -t missing < <(missing_of "${wanted[@]}")
  ((${#missing[@]})) || return 0
  log=$(mktemp -t oncekey-apt.XXXXXX)
  say "installing ${#missing[@]} packages (listed in $packages_file): ${missing[*]}"
  say "reading the package lists"
  run_apt "$log" update >/dev/null || { tail -n 20 "$log" >&2; die "apt-get update failed (whole output: $log)"; }
  keep_services_stopped mask
  keep_cluster_away before
  local result=0
  run_apt "$log" install --no-install-recommends "${missing[@]}" || result=$?
  keep_cluster_away after
  keep_services_stopped unmask
  ((result == 0)) || { tail -n 20 "$log" >&2; die "apt-get install failed (whole output: $log)"; }
  rm -f "$log"
}
