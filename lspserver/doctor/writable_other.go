//go:build !unix

package doctor

import "os"

// writable finds a folder without the mark that it is only to be read; the system's lists of rights
// may say otherwise.
func writable(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && info.Mode().Perm()&0o200 == 0 {
		err = os.ErrPermission
	}
	return err
}
