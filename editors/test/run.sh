#!/bin/sh
# Installs the editors into the cache folder (TANDEM_EDITORS) and runs the tests that drive them. With "nvim", "plain"
# (editors without a plug-in), "acp" or "vscode" as the first argument only those tests run; what follows goes to "go test", or
# is the files below vscode/ to run. Without CI in the environment an editor that cannot be installed is skipped.
#
# "servers" tries the language servers that Tandem starts without an editor.
#
#   TANDEM_EDITORS_ALL=1   every journey in every version, not only in the newest
set -eu
cd "$(dirname "$0")"

skip() {
    echo "run.sh: $1" >&2
    [ -z "${CI:-}" ] || exit 1
}

servers() {
    cache=${TANDEM_EDITORS:-${XDG_CACHE_HOME:-$HOME/.cache}/tandem-editors}
    [ -x "$cache/gopls/bin/gopls" ] || GOBIN=$cache/gopls/bin GOFLAGS= go install golang.org/x/tools/gopls@v0.23.0 ||
        skip "gopls cannot be installed; what needs it is skipped"
    if [ ! -e "$cache/servers/installed" ]; then
        mkdir -p "$cache/servers"
        npm install --prefix "$cache/servers" --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error \
            typescript@5.9.3 typescript-language-server@5.3.0 pyright@1.1.414 &&
            touch "$cache/servers/installed" || skip "servers of npm cannot be installed; what needs them is skipped"
    fi
    if [ ! -e "$cache/typescript7/installed" ]; then
        mkdir -p "$cache/typescript7"
        npm install --prefix "$cache/typescript7" --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error \
            typescript@latest && touch "$cache/typescript7/installed" || skip "TypeScript 7 cannot be installed; what needs it is skipped"
    fi
    if [ ! -e "$cache/mcp/installed" ]; then
        mkdir -p "$cache/mcp"
        npm install --prefix "$cache/mcp" --ignore-scripts --no-audit --no-fund --no-package-lock --loglevel=error \
            @modelcontextprotocol/server@2.4.0 @modelcontextprotocol/sdk@1.32.2 zod@4 && touch "$cache/mcp/installed" ||
            skip "the SDK of MCP servers cannot be installed; what needs it is skipped"
    fi
    [ "${1:-}" = installed ] || go test -count=1 -v -run FaultW11 ../../tools/mcp
    [ "${1:-}" = installed ] || go test -count=1 -v -run LanguageServers "$@" ../../cmd/tandem
}

nvim() {
    for suite in sid trixie; do
        ./install-debian.sh nvim "$suite" || skip "no Neovim of $suite; its tests are skipped"
    done
    servers installed
    go test -count=1 -timeout 20m -skip 'PlainEditors|SteadyKeys' "$@" .
}

plain() {
    for editor in "nvim sid" "nvim trixie" "helix sid" "emacs trixie"; do
        # shellcheck disable=SC2086 # an editor and its suite
        ./install-debian.sh $editor || skip "no ${editor% *} of ${editor#* }; its tests are skipped"
    done
    go test -count=1 -timeout 8m -v -run 'PlainEditors|SteadyKeys' "$@" .
}

# An editor made of the SDK of the Agent Client Protocol.
acp() {
    if ! command -v npm >/dev/null || ! (cd acp && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error); then
        skip "the packages of acp cannot be installed; its tests are skipped"
        return 0
    fi
    built=$(mktemp -d)
    (cd ../.. && go build -o "$built/tandem" ./cmd/tandem)
    (cd acp && TANDEM_BINARY="$built/tandem" node --test --test-reporter=spec "$@" acp.test.mjs) || {
        rm -rf "$built"
        return 1
    }
    rm -rf "$built"
}

chromium() {
    for path in "${CHROMIUM:-}" /usr/lib/chromium/chromium /usr/lib/chromium-browser/chromium-browser; do
        [ ! -x "$path" ] || return 0
    done
    if [ -z "${CI:-}" ]; then
        skip "there is no Chromium (the package chromium); what needs it is skipped"
        return 0
    fi
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
}

# Runs files below vscode/, so many at once, and writes down which failed.
journeys() {
    at_once=$1
    shift
    (cd vscode && node --test --test-concurrency="$at_once" --test-reporter=spec --test-reporter-destination=stdout \
        --test-reporter=./failed.mjs --test-reporter-destination="$tmp/failed" "$@")
}

# drive runs files of tests that drive VS Code, so many at a time.
drive() {
    journeys "$@" || {
        # A browser without a graphics card on a busy machine is late now and then.
        failed=$(tr '\n' ' ' <"$tmp/failed")
        if [ -z "$failed" ]; then
            echo "run.sh: what drives VS Code was cut off" >&2
            return 1
        fi
        echo "run.sh: what drives VS Code FAILED; tried once more, one file at a time: $failed" >&2
        # shellcheck disable=SC2086 # each name is a word
        journeys 1 $failed
        echo "run.sh: it passed the second time" >&2
    }
}

vscode() {
    if ! command -v npm >/dev/null; then
        skip "no npm; the tests of VS Code are skipped"
        return 0
    fi
    tmp=$(mktemp -d)
    trap 'rm -rf "$tmp"' EXIT
    begun=$(date +%s)
    # Everything that is fetched is fetched at once.
    installs=
    for version in 4.139.1 4.104.0; do
        ./install-code-server.sh "$version" >"$tmp/$version.log" 2>&1 &
        installs="$installs $version:$!"
    done
    chromium
    if ! (cd ../vscode && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error); then
        skip "the packages of editors/vscode cannot be installed; the tests of VS Code are skipped"
        return 0
    fi
    export TMPDIR="$tmp"
    (cd ../.. && go build -o "$tmp/tandem" ./cmd/tandem)
    (cd ../vscode && npm run --silent check && npm test --silent)
    (cd ../vscode && npm run --silent package -- -o "$tmp/tandem.vsix") >"$tmp/package.log" 2>&1 || {
        cat "$tmp/package.log" >&2
        return 1
    }
    for install in $installs; do
        if ! wait "${install#*:}"; then
            cat "$tmp/${install%:*}.log" >&2
            skip "no code-server ${install%:*}; its tests are skipped"
        fi
    done
    echo "run.sh: ready after $(($(date +%s) - begun)) s"
    export TANDEM_BINARY="$tmp/tandem" TANDEM_VSIX="$tmp/tandem.vsix"
    if [ $# -gt 0 ]; then
        drive 2 "$@"
    else
        drive 2 host.test.mjs journeys/day.test.mjs journeys/windows.test.mjs journeys/sessions.test.mjs journeys/answers.test.mjs \
            journeys/mentions.test.mjs journeys/smoke.test.mjs journeys/page.test.mjs
        drive 1 journeys/keys.test.mjs # alone, since the editor has to answer each edit in time while somebody types
    fi
    if [ -n "${TANDEM_EDITORS_ALL:-}" ]; then
        (cd vscode && VSCODE_VERSION=4.104.0 node --test --test-concurrency=2 --test-reporter=spec \
            journeys/day.test.mjs journeys/windows.test.mjs journeys/keys.test.mjs journeys/sessions.test.mjs \
            journeys/answers.test.mjs journeys/mentions.test.mjs)
    fi
    echo "run.sh: VS Code took $(($(date +%s) - begun)) s"
}

case ${1:-} in
nvim | plain | acp | vscode | servers)
    only=$1
    shift
    "$only" "$@"
    ;;
*)
    servers
    nvim "$@"
    plain "$@"
    acp
    vscode
    ;;
esac
