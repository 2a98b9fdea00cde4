package sandbox

import "path/filepath"

// Resolved is an existing path with its symbolic links resolved. It judges no permission.
func Resolved(path string) (string, error) { return filepath.EvalSymlinks(path) }

// Canonical resolves the symbolic links of an absolute path as far as it exists. If they cannot be
// resolved, it is the clean path. It judges no permission.
func Canonical(path string) string {
	clean := filepath.Clean(path)
	if real, err := realpath(clean); err == nil {
		return real
	}
	return clean
}
