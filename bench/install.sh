#!/bin/sh
# Installs the load generator wrk from Debian. The benchmark installs Prism from npm.
set -eu
apt-get install -y wrk
