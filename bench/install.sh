#!/bin/sh
# Installs what the benchmark needs from Debian: the load generator. Prism comes from npm, by the benchmark itself.
set -eu
apt-get install -y wrk
