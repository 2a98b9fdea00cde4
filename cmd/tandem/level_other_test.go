//go:build !linux

package main

import "errors"

const underFilter = "TANDEM_TEST_FILTERED"

func filtered(string, []string) error { return errors.ErrUnsupported }
