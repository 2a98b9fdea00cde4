package sandbox

import "path/filepath"

// Canonical follows the symbolic links of an absolute path, as far as it exists, so that a file has one name. A path
// whose links lead nowhere is given back as it is; it confines nothing.
func Canonical(path string) string {
	clean := filepath.Clean(path)
	if real, err := realpath(clean); err == nil {
		return real
	}
	return clean
}
