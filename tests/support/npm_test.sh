#!/usr/bin/env bash
# npm_test.sh FOLDER COPY: installs, builds and tests the package of FOLDER in COPY, so that nothing is written
# beside the sources. Ends with 77, which ctest shows as skipped, where node, npm or the packages cannot be had.
set -euo pipefail
source_folder=$1 copy=$2
node_major_min=18
install_seconds_max=120 # packages come in a few seconds; a registry that falls silent is asked again, and then left alone
export npm_config_fetch_timeout=20000 npm_config_fetch_retries=2 npm_config_fetch_retry_mintimeout=1000
export npm_config_update_notifier=false

skip() { echo "skipped: $*"; exit 77; }

command -v node >/dev/null || skip "there is no node (packaging/packages.txt, group node)"
command -v npm >/dev/null || skip "there is no npm (packaging/packages.txt, group node)"
major=$(node -p 'process.versions.node.split(".")[0]')
((major >= node_major_min)) || skip "node is version $major; at least $node_major_min is needed"

mkdir -p "$copy"
# What an earlier run has installed stays as long as the lockfile is the same.
find "$copy" -mindepth 1 -maxdepth 1 ! -name node_modules ! -name installed.lock -exec rm -rf {} +
tar -C "$source_folder" --exclude=node_modules --exclude=dist --exclude=build-test -cf - . | tar -C "$copy" -xf -
cd "$copy"

if [[ ! -d node_modules ]] || ! cmp -s package-lock.json installed.lock; then
  rm -f installed.lock
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  result=0
  timeout --kill-after=10 "$install_seconds_max" npm ci --no-audit --no-fund --prefer-offline >"$log" 2>&1 || result=$?
  if ((result != 0)); then
    cat "$log"
    ((result != 124 && result != 137)) || skip "the packages did not come within $install_seconds_max s"
    # Only what says that nobody answers is a reason to skip; a broken lockfile is not.
    grep -qE 'code (ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED|E401|E403|E50[0-9])|ERR_SOCKET_TIMEOUT|network' "$log" &&
      skip "the packages cannot be fetched from here (see above)"
    exit 1
  fi
  cp package-lock.json installed.lock
fi

npm run --silent build --if-present
npm test --silent
