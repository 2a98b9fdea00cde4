#!/bin/sh
# Installs the editors into the cache folder (TANDEM_EDITORS) and runs the tests that drive them. Arguments go to
# "go test". Without CI in the environment an editor that cannot be installed is skipped.
set -eu
cd "$(dirname "$0")"
for suite in sid trixie; do
    if ! ./install-nvim.sh "$suite"; then
        [ -z "${CI:-}" ] || exit 1
        echo "run.sh: no Neovim of $suite; its tests are skipped" >&2
    fi
done
exec go test -count=1 -timeout 20m "$@" .
