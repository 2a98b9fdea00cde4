package sandbox

import "testing"

// TestFaultV13Unreachable: it is known of a command that it tried to reach a host, and of none that only used its own network.
func TestFaultV13Unreachable(t *testing.T) {
	s := newSuite(t, LevelFull)
	for _, c := range []struct {
		line string
		want bool
	}{
		{"true", false},
		{"exec 3<>/dev/tcp/192.0.2.1/80", true},
		{"exec 3<>/dev/tcp/127.0.0.1/9", false},
		{"exec 3<>/dev/udp/192.0.2.1/53", true},
		{"exec 3<>/dev/udp/127.0.0.1/53; echo x >&3; echo x >&3", true}, // a resolver of the host
		{"exec 3<>/dev/tcp/2001:db8::1/80", true},
		{"echo x", false},
	} {
		if o := s.does(t, Loopback, c.line); o.Unreachable != c.want {
			t.Errorf("%s: %+v", c.line, o)
		}
	}
}
