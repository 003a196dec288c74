# One function for each command of ./dev.

dev_help() {
  cat <<'HELP'
./dev run [--once]                    build, then the demo; --once ends after the tour
./dev test [--asan] [--filter REGEX]  build and run all tests, or those whose name matches
./dev build                           build/oncekey: optimised, debug info, assertions on
./dev bench [--quick] [...]           figures beside nginx and pgbench, as a table and in bench/results/ (--help)
./dev fuzz [--seconds N] [NAME...]    each fuzzer for N seconds (60)
./dev crash [--store NAME] [...]      kill -9 under load, 200 times, then check every record; with
                                      postgres, redis or tiered: two gateways, whose servers are
                                      killed, restarted and frozen as well (--help)
./dev crash --payments [...]          50,000 payments with random faults and kills; the provider's
                                      ledger must agree with ours (--help)
./dev package [--try]                 the Debian packages, in build/packages/; --try installs one into a
                                      fresh Debian 12, uses it and removes it (a minute or two)
./dev lint                            format, include rules, size limits
./dev clean                           remove the build directories

What is installed, and why: packaging/packages.txt. ONCEKEY_JOBS=N limits parallel compilers.
HELP
}

dev_build() {
  (($# == 0)) || usage_error "build takes no arguments"
  need build libraries tests examples
  configure build
  compile build oncekey
  say "built build/oncekey"
}

dev_package() {
  local argument try=
  for argument; do
    [[ $argument == --try ]] || usage_error "package knows --try, not '$argument'"
    try=yes
  done
  need build libraries tests examples package
  configure build
  compile build oncekey oncekey_library
  rm -rf build/packages
  (cd build && cpack -G DEB -B packages) >build/packages.log 2>&1 || {
    tail -n 20 build/packages.log >&2
    die "the packages could not be made (whole output: build/packages.log)"
  }
  say "made$(printf ' %s' build/packages/*.deb)"
  [[ -n $try ]] || return 0
  need try
  local script result
  for script in try_in_clean_root try_under_systemd; do
    result=0
    as_root "tests/packaging/$script.sh" build/packages/oncekey_*.deb "$PWD/build/clean_root.tar" || result=$?
    ((result == 0 || result == 77)) || die "the package failed: tests/packaging/$script.sh"
  done
}

dev_run() {
  local argument
  for argument; do [[ $argument == --once ]] || usage_error "run knows --once, not '$argument'"; done
  dev_build
  compile build oncekey-example-payments oncekey-example-provider
  exec build/oncekey demo "$@"
}

dev_test() {
  local directory=build filter=
  while (($#)); do
    case $1 in
      --asan) directory=build-asan ;;
      --filter) (($# > 1)) || usage_error "--filter needs a regular expression"; filter=$2; shift ;;
      --filter=*) filter=${1#*=} ;;
      *) usage_error "test knows --asan and --filter REGEX, not '$1'" ;;
    esac
    shift
  done
  local select=(--no-tests=error)
  [[ -z $filter ]] || select+=(-R "$filter")
  local groups=(build libraries tests servers examples alerts package lint)
  type -P node npm >/dev/null || groups+=(node) # other makers' node brings npm along, and excludes Debian's
  need "${groups[@]}"
  if [[ $directory == build ]]; then
    configure build
    compile build
  else
    # Crash and end-to-end runs take minutes under the sanitizers and exercise the same code.
    configure build-asan -DONCEKEY_SANITIZE=ON
    local targets
    mapfile -t targets < <(targets_like build-asan '[a-z_]+_test' | grep -vxE 'e2e_test|crash_test|payments_test')
    compile build-asan "${targets[@]}"
    select+=(-LE '^(e2e|crash|payments)' -E '_NOT_BUILT$|^(lint|package)$')
    export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1}
    export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
  fi
  say "running the tests in $directory"
  local result=0
  ctest --test-dir "$directory" --output-on-failure -j2 "${select[@]}" || result=$?
  local asan=
  [[ $directory == build ]] || asan=' --asan'
  say "one test: ./dev test$asan --filter 'Suite.Name' (all names: ctest --test-dir $directory -N)"
  return "$result"
}

dev_crash() {
  need build libraries tests servers examples
  configure build
  if [[ ${1:-} == --payments ]]; then
    shift
    compile build oncekey oncekey-example-payments oncekey-example-provider payments_campaign
    exec build/payments_campaign "$@"
  fi
  compile build oncekey crash_campaign
  exec build/crash_campaign "$@"
}

dev_fuzz() {
  local seconds=60 names=()
  while (($#)); do
    case $1 in
      --seconds) (($# > 1)) || usage_error "--seconds needs a number"; seconds=$2; shift ;;
      --seconds=*) seconds=${1#*=} ;;
      -*) usage_error "fuzz knows --seconds N and fuzzer names, not '$1'" ;;
      *) names+=("$1") ;;
    esac
    shift
  done
  [[ $seconds =~ ^[1-9][0-9]*$ ]] || usage_error "--seconds takes a whole number above 0, not '$seconds'"
  need build libraries tests examples fuzz
  configure build-fuzz -DONCEKEY_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++-14
  local known name
  mapfile -t known < <(targets_like build-fuzz '[a-z_]+_fuzz|fuzz_[a-z_]+')
  ((${#known[@]})) || die "build-fuzz has no fuzzers"
  ((${#names[@]})) || names=("${known[@]}")
  for name in "${names[@]}"; do
    [[ " ${known[*]} " == *" $name "* ]] || usage_error "there is no fuzzer '$name'; there are ${known[*]}"
  done
  compile build-fuzz "${names[@]}"
  local failed=()
  for name in "${names[@]}"; do
    fuzz_one "$name" "$seconds" || failed+=("$name")
  done
  ((${#failed[@]} == 0)) || die "found something: ${failed[*]} (inputs in build-fuzz/findings/)"
  say "nothing found by ${names[*]}"
}

fuzz_one() { # NAME SECONDS : what it learnt stays in build-fuzz/corpus for the next time
  local name=$1 seconds=$2 corpus=build-fuzz/corpus/$1 seeds=()
  mkdir -p "$corpus" build-fuzz/findings
  [[ -d tests/fuzz/corpus/$name ]] && seeds=("tests/fuzz/corpus/$name")
  say "$name for $seconds s"
  "build-fuzz/$name" -max_total_time="$seconds" -print_final_stats=1 -verbosity=1 -timeout=10 \
    -artifact_prefix="build-fuzz/findings/$name-" "$corpus" "${seeds[@]}" 2>"build-fuzz/$name.log" || {
    tail -n 40 "build-fuzz/$name.log" >&2
    return 1
  }
  grep -E '^stat::(number_of_executed_units|average_exec_per_sec)|^Done' "build-fuzz/$name.log" | sed 's/^/    /'
}

dev_lint() {
  (($# == 0)) || usage_error "lint takes no arguments"
  need lint
  exec tools/lint
}

dev_bench() {
  need build libraries tests servers examples bench
  configure build
  compile build oncekey $(targets_like build '(store|payment)_bench')
  exec /usr/bin/python3 bench/run.py "$@"
}

dev_clean() {
  (($# == 0)) || usage_error "clean takes no arguments"
  say "removing build, build-asan, build-fuzz and the bench's data"
  rm -rf build build-asan build-fuzz build*.configure.log
}
