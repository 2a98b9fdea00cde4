//go:build !linux

package main

import (
	"errors"
	"time"
)

func (p *process) allCPU() (time.Duration, error) { return 0, errors.ErrUnsupported }

func (p *process) memory() (resident, shared float64, err error) { return 0, 0, errors.ErrUnsupported }
