//go:build !race

package lsptest

const raced = false
