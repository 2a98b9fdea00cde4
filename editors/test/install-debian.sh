#!/bin/bash
# Installs a real editor of another Debian suite below a cache folder, without touching the system's packages, and prints
# the path to run:
#
#   install-debian.sh nvim sid        # Neovim 0.12
#   install-debian.sh nvim trixie     # Neovim 0.10
#   install-debian.sh helix sid       # Helix 25.07
#   install-debian.sh emacs trixie    # Emacs 30, which has eglot
#
# The whole dependency closure, libc included, is unpacked into a prefix of its own; a second run finds it and does
# nothing. TANDEM_EDITORS names the cache folder. The prefix cannot be moved, since the binary is told where its
# libraries are.
set -euo pipefail

usage="usage: install-debian.sh nvim|helix|emacs SUITE"
editor=${1:?$usage} suite=${2:?$usage}
case $editor in
nvim) package=neovim binary=nvim ;;
helix) package=hx binary=hx ;;
emacs) package=emacs-nox binary=emacs-nox ;;
*) echo "$usage" >&2; exit 2 ;;
esac
cache=${TANDEM_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/tandem-editors}
prefix=$cache/$editor-$suite
program=$prefix/bin/$editor

mkdir -p "$prefix"
exec 9>"$prefix.lock"
flock 9
if [ -x "$program" ] && "$program" --version >/dev/null 2>&1; then
    echo "$program"
    exit 0
fi
rm -rf "$prefix"

fail() { echo "install-debian.sh: $*" >&2; exit 1; }

for tool in apt-get dpkg-deb dpkg; do
    command -v $tool >/dev/null || fail "$tool is not here: this script needs a Debian system"
done

# The mirror that this system uses already, in either form of apt's source files.
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null |
    sed -n 's/^URIs: *//p; s/^deb  *\(\[[^]]*\] *\)\{0,1\}\([^ ]*\) .*/\2/p' | tr ' ' '\n' |
    grep '/debian/*$' | head -1) || true
[ -n "$mirror" ] || fail "no Debian mirror among the system's apt sources"

apt=$prefix/apt
root=$prefix/root
mkdir -p "$apt"/{etc/apt.conf.d,etc/preferences.d,state/lists/partial,cache/archives/partial,log} "$root" "$prefix/bin"
: >"$apt/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$apt/etc/sources.list"

# apt-get with no state but its own; an empty list of installed packages makes it fetch all that is needed.
apt_get() {
    apt-get -qq \
        -o Dir::Etc="$apt/etc" -o Dir::Etc::sourcelist="$apt/etc/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State="$apt/state" -o Dir::State::status="$apt/status" \
        -o Dir::Cache="$apt/cache" -o Dir::Log="$apt/log" -o Debug::NoLocking=true \
        -o APT::Install-Recommends=false -o APT::Get::List-Cleanup=false -o APT::Sandbox::User="$(id -un)" \
        -o Acquire::Languages=none -o Acquire::Check-Valid-Until=false -o Acquire::Retries=3 "$@" \
        >>"$apt/log/apt" 2>&1 || { cat "$apt/log/apt" >&2; fail "apt-get $* failed"; }
}
apt_get update
apt_get install -y --download-only "$package"
for d in bin sbin lib lib64; do
    mkdir -p "$root/usr/$d"
    ln -sfn "usr/$d" "$root/$d"
done
for deb in "$apt"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --keep-directory-symlink --no-same-owner
done

# Starting it as "ld.so nvim" would work headless only: Neovim's terminal interface runs v:progpath once more. So the binary
# itself is told its loader and its libraries; DT_RPATH, unlike DT_RUNPATH, also serves what the libraries need.
patchelf=$(command -v patchelf || true)
if [ -z "$patchelf" ]; then
    rm -f "$apt"/cache/archives/*.deb
    apt_get install -y --download-only patchelf
    mkdir -p "$prefix/patchelf"
    for deb in "$apt"/cache/archives/*.deb; do
        dpkg-deb -x "$deb" "$prefix/patchelf"
    done
    loader=$(echo "$prefix"/patchelf/usr/lib*/ld-linux-*.so.*)
    libs=$(dirname "$(find "$prefix/patchelf/usr/lib" -name 'libc.so.6' | head -1)")
    patchelf="$loader --library-path $libs $prefix/patchelf/usr/bin/patchelf"
fi
loader=$(readlink -f "$(echo "$root"/usr/lib*/ld-linux-*.so.* | cut -d' ' -f1)")
libs=$(dirname "$(find "$root/usr/lib" -name 'libc.so.6' | head -1)")
$patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$libs" "$root/usr/bin/$binary"

share=$root/usr/share
{
    echo '#!/bin/sh'
    case $editor in
    nvim)
        echo "export VIMRUNTIME='$share/nvim/runtime'"
        echo "export LUA_PATH='$share/lua/5.1/?.lua;$share/lua/5.1/?/init.lua;;' LUA_CPATH='$libs/lua/5.1/?.so;;'"
        echo "exec '$root/usr/bin/nvim' \"\$@\""
        ;;
    helix)
        echo "export HELIX_RUNTIME='$root/usr/lib/hx/runtime'"
        echo "exec '$root/usr/bin/hx' \"\$@\""
        ;;
    emacs)
        dump=$(find "$root/usr/libexec/emacs" -name 'emacs*.pdmp' | head -1)
        lisp=$(echo "$share"/emacs/[0-9]*/lisp)
        echo "export EMACSLOADPATH='$(find "$lisp" -type d | tr '\n' ':')' EMACSDATA='$(dirname "$lisp")/etc'"
        echo "export EMACSDOC='$(dirname "$lisp")/etc' EMACSPATH='$(dirname "$dump")'"
        echo "exec '$root/usr/bin/$binary' --dump-file '$dump' \"\$@\""
        ;;
    esac
} >"$program"
chmod +x "$program"
rm -rf "$apt" "$prefix/patchelf"
"$program" --version >/dev/null || fail "$editor of $suite does not run"
echo "$program"
