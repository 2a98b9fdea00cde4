package sandbox

import "path/filepath"

// Canonical resolves the symbolic links of an absolute path as far as it exists. If they cannot be resolved, it is the
// clean path. It judges no permission.
func Canonical(path string) string {
	clean := filepath.Clean(path)
	if real, err := realpath(clean); err == nil {
		return real
	}
	return clean
}
