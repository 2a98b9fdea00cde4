//go:build !unix

package tracked

const nonblock = 0
