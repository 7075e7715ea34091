#!/usr/bin/env bash
# Installs a redis-server for the tests, and `ip` for those of a bad network, where that can be done without asking; says
# what is missing where it cannot.
set -euo pipefail

if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq
    # The service of that package is not wanted: the tests start servers of their own.
    RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends redis-server iproute2 \
        >/dev/null
fi

if ! { command -v redis-server && command -v redis-cli; } >/dev/null; then
    echo "The tests need redis-server and redis-cli, version 7 or later: for example, apt-get install redis-server." >&2
    exit 1
fi
