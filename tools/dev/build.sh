# Configuring and building one build directory.

# A compiler needs up to about 1 GiB here, so little memory means fewer jobs than processors.
jobs() {
  local memory
  memory=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
  local count=${ONCEKEY_JOBS:-$(nproc)}
  ((memory >= 1 && memory < count)) && count=$memory
  echo "$count"
}

configure() { # DIRECTORY CMAKE-ARGUMENTS... : once, and again when the checkout was moved
  local directory=$1 home=
  shift
  [[ -f $directory/CMakeCache.txt ]] &&
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$directory/CMakeCache.txt")
  [[ -f $directory/build.ninja && $home == "$PWD" ]] && return 0
  say "configuring $directory"
  cmake --fresh -S . -B "$directory" -G Ninja "$@" >"$directory.configure.log" 2>&1 || {
    tail -n 30 "$directory.configure.log" >&2
    die "cmake could not configure $directory (whole output: $directory.configure.log)"
  }
  rm -f "$directory.configure.log"
}

compile() { # DIRECTORY TARGET...
  local directory=$1
  shift
  say "building $directory: ${*:-everything}"
  ninja -C "$directory" -j "$(jobs)" "$@" || die "the build failed; the compiler's message is above"
}

targets_like() { # DIRECTORY REGEX -> program names whose target matches
  ninja -C "$1" -t targets all | sed 's/: .*//' | grep -E "^($2)\$" | grep -v '^cmake_' | sort -u || true
}
