#!/bin/sh
# Installs the editors into the cache folder (TANDEM_EDITORS) and runs the tests that drive them. Arguments go to
# "go test"; with "nvim" or "vscode" as the first one only that editor's tests run. Without CI in the environment an
# editor that cannot be installed is skipped.
set -eu
cd "$(dirname "$0")"

skip() {
    echo "run.sh: $1" >&2
    [ -z "${CI:-}" ] || exit 1
}

nvim() {
    for suite in sid trixie; do
        ./install-nvim.sh "$suite" || skip "no Neovim of $suite; its tests are skipped"
    done
    go test -count=1 -timeout 20m "$@" .
}

vscode() {
    if ! command -v npm >/dev/null; then
        skip "no npm; the tests of VS Code are skipped"
        return 0
    fi
    if ! (cd ../vscode && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error); then
        skip "the packages of editors/vscode cannot be installed; the tests of VS Code are skipped"
        return 0
    fi
    (cd ../vscode && npm run --silent check && npm test --silent)
    for version in 4.139.1 4.104.0; do
        ./install-code-server.sh "$version" || skip "no code-server $version; its tests are skipped"
    done
    bin=$(mktemp -d)
    trap 'rm -rf "$bin"' EXIT
    (cd ../.. && go build -o "$bin/tandem" ./cmd/tandem)
    export TANDEM_BINARY="$bin/tandem"
    node vscode/host.mjs
    node --test vscode/windows.test.mjs vscode/journeys/
}

case ${1:-} in
nvim | vscode)
    only=$1
    shift
    "$only" "$@"
    ;;
*)
    nvim "$@"
    vscode
    ;;
esac
