#!/bin/bash
# Installs a real Neovim of another Debian suite below a cache folder, without touching the system's packages:
#
#   install-nvim.sh sid      # 0.12, printed as a path to run
#   install-nvim.sh trixie   # 0.10
#
# The whole dependency closure, libc included, is unpacked into a prefix of its own; a second run finds it and does
# nothing. TANDEM_EDITORS names the cache folder. The prefix cannot be moved, since the binary is told where its
# libraries are.
set -euo pipefail

suite=${1:?usage: install-nvim.sh sid|trixie}
cache=${TANDEM_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/tandem-editors}
prefix=$cache/nvim-$suite
nvim=$prefix/bin/nvim

mkdir -p "$prefix"
exec 9>"$cache/nvim-$suite.lock"
flock 9
if [ -x "$nvim" ] && "$nvim" --version >/dev/null 2>&1; then
    echo "$nvim"
    exit 0
fi
rm -rf "$prefix"

fail() { echo "install-nvim.sh: $*" >&2; exit 1; }

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
apt_get install -y --download-only neovim
for d in bin sbin lib lib64; do
    mkdir -p "$root/usr/$d"
    ln -sfn "usr/$d" "$root/$d"
done
for deb in "$apt"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$root" --keep-directory-symlink --no-same-owner
done

# Starting it as "ld.so nvim" would work headless only: the terminal interface runs v:progpath once more. So the binary
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
$patchelf --set-interpreter "$loader" --force-rpath --set-rpath "$libs" "$root/usr/bin/nvim"

cat >"$nvim" <<WRAPPER
#!/bin/sh
export VIMRUNTIME='$root/usr/share/nvim/runtime'
export LUA_PATH='$root/usr/share/lua/5.1/?.lua;$root/usr/share/lua/5.1/?/init.lua;;' LUA_CPATH='$libs/lua/5.1/?.so;;'
exec '$root/usr/bin/nvim' "\$@"
WRAPPER
chmod +x "$nvim"
rm -rf "$apt" "$prefix/patchelf"
"$nvim" --version >/dev/null || fail "the Neovim of $suite does not run"
echo "$nvim"
