//go:build race

package lsptest

const raced = true
