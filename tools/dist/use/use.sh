# Runs in a system where nothing was built and that has no network: installs the packages, decides, times it.
set -eu
cd /packages
for tool in cc gcc clang cargo rustc; do
    if command -v "$tool" >/dev/null; then echo "there is a compiler here: $tool" >&2; exit 1; fi
done

valkey-server --port 7000 --save '' --daemonize yes --pidfile /tmp/valkey.pid >/dev/null
trap 'kill "$(cat /tmp/valkey.pid)"' EXIT
until valkey-cli -p 7000 ping >/dev/null 2>&1; do sleep 0.1; done

slow=0
now() { date +%s%N; }
milliseconds() { echo $((($(now) - $1) / 1000000)); }

# Says a time and the most that it may be, in milliseconds.
report() {
    echo "$1: $2 ms, at most $3"
    if [ "${2%.*}" -ge "$3" ]; then slow=1; echo "too slow: $1" >&2; fi
}

# The shortest of some runs, over two seconds or more: a busy machine makes others longer, and for as long.
shortest() {
    for _ in $(seq 40); do "$@"; done | sort -n | head -n 1
}

for version in 3.13 3.14 3.15; do
    "python$version" -m venv "/venv$version"
    begun=$(now)
    "/venv$version/bin/pip" install --quiet --no-index --find-links /packages --only-binary=:all: tidegate
    "/venv$version/bin/python" -c 'import tidegate; tidegate.Limiter().limit(tidegate.Bucket("door", size=1), "ada")'
    report "Python $version: from an empty venv to the first decision" "$(milliseconds "$begun")" 5000
    report "Python $version: import" "$(shortest "/venv$version/bin/python" import.py)" 20
    "/venv$version/bin/python" use.py
    "/venv$version/bin/pip" install --quiet --no-index --find-links /packages django
    "/venv$version/bin/python" use_django.py
done

mkdir /app
cd /app
echo '{ "name": "app", "private": true }' >package.json
cp /packages/*.mjs .
begun=$(now)
# The addon is an optional dependency, which npm takes from its registry; here it comes as a file beside the main package.
npm install --silent --offline --omit=optional /packages/tidegate-[0-9]*.tgz /packages/tidegate-linux-x64-gnu-*.tgz
node --input-type=module -e "import { bucket, Limiter } from 'tidegate'; new Limiter().limitSync(bucket({ key: 'door', size: 1 }), 'ada')"
report "Node $(node --version): from an empty folder to the first decision" "$(milliseconds "$begun")" 5000
report "Node: import" "$(shortest node import.mjs)" 30
node use.mjs
exit "$slow"
