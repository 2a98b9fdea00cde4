package sandbox

import (
	"errors"
	"syscall"
	"testing"
)

// TestFindingS13SpecialIsNotOpened: a pipe, or a device, is refused without being opened, since that alone may do something.
func TestFindingS13SpecialIsNotOpened(t *testing.T) {
	p, dir := jail(t, map[string]string{"app/f": "f"})
	must(t, syscall.Mkfifo(dir+"/app/fifo", 0o600))
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK)
	must(t, err)
	defer syscall.Close(fd)
	for _, name := range []string{"fifo", "f"} {
		_, err := syscall.InotifyAddWatch(fd, dir+"/app/"+name, syscall.IN_OPEN)
		must(t, err)
	}
	opened := func(name string) (bool, error) {
		place, err := p.Readable(name)
		must(t, err)
		f, _, err := place.Open()
		if err == nil {
			f.Close()
		}
		n, _ := syscall.Read(fd, make([]byte, 4096))
		return n > 0, err
	}
	if was, err := opened("f"); !was || err != nil {
		t.Errorf("a file: opened %v, %v", was, err)
	}
	if was, err := opened("fifo"); was || !errors.Is(err, ErrNotRegular) {
		t.Errorf("a pipe: opened %v, %v", was, err)
	}
}
