//go:build !linux

package main

import (
	"errors"
	"time"
)

func (p *process) cpu() (time.Duration, error) { return 0, errors.ErrUnsupported }
