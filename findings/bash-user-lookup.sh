#!/usr/bin/env bash
# bash -c looks up who the user is where SHELL is not in the environment, which asks a name service over a Unix socket, twice.
#
# One would guess that "bash -c true" needs no user: no prompt, no ~, no profile. But bash sets the variable SHELL at each start where it has
# none, for which it calls getpwuid, and the C library first tries the socket of nscd. In a sandbox where sockets are refused and each
# refusal is reported, a command that does nothing is reported twice.
#
# Package: bash 5.2.15-2+b13 and strace 6.1-0.1 of Debian 12 (shell.c, set_shell_name and get_current_user_info).
# Tandem names bash in SHELL where the environment of a command has none (sandbox/env.go).
set -euo pipefail
for need in apt-get dpkg-deb; do
	command -v "$need" >/dev/null || { echo "$need is not installed"; exit 2; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
cd "$dir"
apt-get -q download bash=5.2.15-2+b13 strace=6.1-0.1 >/dev/null 2>&1 || { echo "the packages cannot be had"; exit 2; }
for package in *.deb; do dpkg-deb -x "$package" .; done
sockets() {
	env -i PATH=/usr/bin:/bin HOME=/ "$@" ./usr/bin/strace -qq -f -e trace=connect ./bin/bash -c true 2>&1 | grep -c 'AF_UNIX.*nscd' || true
}
./usr/bin/strace -qq -e trace=none ./bin/bash -c true || { echo "strace does not run here"; exit 2; }
without=$(sockets) with=$(sockets SHELL=/bin/bash)
echo "asked without SHELL: $without times, with it: $with times"
[ "$without" = 2 ] && [ "$with" = 0 ] || { echo "changed"; exit 1; }
echo "as before: bash looks the user up where SHELL is not set"
