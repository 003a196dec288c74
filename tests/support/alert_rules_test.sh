#!/usr/bin/env bash
# alert_rules_test.sh TESTS : the alert rules, as promtool evaluates them. It is looked for here, and not when the build
# is configured, as it may be installed after that.
set -euo pipefail
type -P promtool >/dev/null || {
  echo "skipped: promtool is not installed"
  exit 77
}
exec promtool test rules "$1"
