#!/usr/bin/env bash
# Runs every finding and says which of them have changed.
set -uo pipefail
cd "$(dirname "$0")"
changed=0
for script in *.sh; do
	[ "$script" = all.sh ] && continue
	printf '== %s\n' "${script%.sh}"
	./"$script"
	code=$?
	case $code in
	0) ;;
	1) printf 'CHANGED: %s\n' "$script"; changed=1 ;;
	*) printf 'not tried: %s (exit code %d)\n' "$script" "$code" ;;
	esac
done
exit "$changed"
