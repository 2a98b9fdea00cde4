package state

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Size is a number of bytes.
type Size int64

// units of a size, the largest first.
func units() []struct {
	name  string
	bytes int64
} {
	return []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
}

// UnmarshalText reads 512MiB, 10KiB or a number of bytes.
func (s *Size) UnmarshalText(text []byte) error {
	for _, u := range units() {
		number, ok := strings.CutSuffix(string(text), u.name)
		if !ok && u.bytes > 1 {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n < 0 || n > (1<<62)/u.bytes {
			break
		}
		*s = Size(n * u.bytes)
		return nil
	}
	return fmt.Errorf("%q is no size; write 512MiB", text)
}

func (s Size) String() string {
	for _, u := range units() {
		if int64(s) >= u.bytes && u.bytes > 1 {
			return fmt.Sprintf("%.1f %s", float64(s)/float64(u.bytes), u.name)
		}
	}
	return fmt.Sprintf("%d B", int64(s))
}

// Age is a time that may be given in days.
type Age time.Duration

// UnmarshalText reads 90d or what time.ParseDuration knows.
func (a *Age) UnmarshalText(text []byte) error {
	const day = 24 * time.Hour
	if number, ok := strings.CutSuffix(string(text), "d"); ok {
		if n, err := strconv.ParseUint(number, 10, 16); err == nil {
			*a = Age(time.Duration(n) * day)
			return nil
		}
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no time; write 90d or 36h", text)
	}
	*a = Age(d)
	return nil
}
