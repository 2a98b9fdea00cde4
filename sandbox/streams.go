package sandbox

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// streams are the pipes of a command: what it reads is written, and what it writes is read as it
// comes.
type streams struct {
	theirs [3]*os.File // until the command was started

	stdin, stdout *os.File    // our ends, of an interactive command
	readers       [2]*os.File // nil where the command's starter reads
	kept          [2]*Kept
	done          sync.WaitGroup
}

func capture(c Command) (_ *streams, err error) {
	if c.MaxOutput <= 0 {
		c.MaxOutput = defaultOutput
	}
	s := &streams{}
	defer func() {
		if err != nil {
			s.abort()
			err = fmt.Errorf("no pipe for the command: %w", err)
		}
	}()
	if c.Stdin == "" && !c.Interactive {
		s.theirs[0], err = os.Open(os.DevNull)
	} else {
		s.theirs[0], s.stdin, err = os.Pipe()
	}
	if err != nil {
		return nil, err
	}
	var one sync.Mutex
	for i := range s.readers {
		s.kept[i] = NewKept(c.MaxOutput)
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		s.theirs[1+i] = w
		if i == 0 && c.Interactive {
			s.stdout = r
			continue
		}
		s.readers[i] = r
		s.done.Go(func() {
			s.read(i, func(chunk []byte) {
				if s.kept[i].Write(chunk); c.Output != nil && len(chunk) > 0 {
					one.Lock()
					defer one.Unlock()
					c.Output(Stdout+Stream(i), chunk)
				}
			})
		})
	}
	return s, nil
}

// read takes what comes from one of the pipes, until it is closed or the deadline of finish is
// over.
func (s *streams) read(i int, take func(chunk []byte)) {
	buf := make([]byte, 32<<10)
	var err error
	for n := 0; err == nil; {
		n, err = s.readers[i].Read(buf)
		take(buf[:n])
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	// On a busy machine nobody may have read until now what the command has left in the pipe. A
	// read whose deadline lies ahead looks there before it waits.
	err = s.readers[i].SetReadDeadline(time.Now().Add(drain / 4))
	for n, left := 0, maxLate; err == nil && left > 0; left -= n {
		n, err = s.readers[i].Read(buf)
		take(buf[:n])
	}
}

// started lets go of the command's ends, and begins to write what it is to read.
func (s *streams) started(stdin string) {
	for _, f := range s.theirs {
		_ = f.Close() // also where there is none
	}
	if stdin != "" && s.stdin != nil {
		s.done.Go(func() {
			_, _ = s.stdin.WriteString(stdin) // what is not read is not missed
			_ = s.stdin.Close()
		})
	}
}

// abort closes everything where no command was started.
func (s *streams) abort() {
	s.started("")
	s.finish()
	_ = s.stdout.Close() // also where there is none
}

// finish reads what is left. Where a process that has left the group holds a pipe open, it is not
// waited for.
func (s *streams) finish() {
	_ = s.stdin.Close() // also where there is none
	for _, r := range s.readers {
		_ = r.SetReadDeadline(time.Now().Add(drain))
	}
	s.done.Wait()
	for _, r := range s.readers {
		_ = r.Close()
	}
}
