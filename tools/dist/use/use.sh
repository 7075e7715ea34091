# Runs in a system where nothing was built and that has no network: installs the packages, decides, times it.
set -eu
cd /packages
for tool in cc gcc clang cargo rustc; do
    if command -v "$tool" >/dev/null; then echo "there is a compiler here: $tool" >&2; exit 1; fi
done

valkey-server --port 7000 --save '' --daemonize yes --pidfile /tmp/valkey.pid >/dev/null
trap 'kill "$(cat /tmp/valkey.pid)"' EXIT
until valkey-cli -p 7000 ping >/dev/null 2>&1; do sleep 0.1; done

now() { date +%s%N; }
seconds() { awk "BEGIN { printf \"%.2f\", ($(now) - $1) / 1e9 }"; }

for version in 3.13 3.14 3.15; do
    begun=$(now)
    "python$version" -m venv "/venv$version"
    "/venv$version/bin/pip" install --quiet --no-index --find-links /packages --only-binary=:all: tidegate
    "/venv$version/bin/python" use.py
    echo "Python $version: from an empty venv to the first decision in $(seconds "$begun") s"
    "/venv$version/bin/pip" install --quiet --no-index --find-links /packages django
    "/venv$version/bin/python" use_django.py
done

mkdir /app
cd /app
echo '{ "name": "app", "private": true }' >package.json
begun=$(now)
# The addon is an optional dependency, which npm takes from its registry; here it comes as a file beside the main package.
npm install --silent --offline --omit=optional /packages/tidegate-[0-9]*.tgz /packages/tidegate-linux-x64-gnu-*.tgz
cp /packages/use.mjs .
node use.mjs
echo "Node $(node --version): from an empty folder to the first decision in $(seconds "$begun") s"
