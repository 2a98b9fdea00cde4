//go:build !unix

package logs

const noFollow = 0
