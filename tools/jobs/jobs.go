// Package jobs runs the commands of a session that go on in the background, from their start or
// from when an answer is due: what they print is kept until somebody looks, and they end with the
// session at the latest.
package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tandem/sandbox"
)

const (
	// MaxRunning is how many jobs of a session run at once.
	MaxRunning = 8
	// maxEnded is how many jobs that have ended can still be looked at: the latest.
	maxEnded = 16
	// maxOutput is how many bytes are kept of what a job prints between two looks: half of them the
	// first, half the last.
	maxOutput = 512 << 10
)

// Why a job is not started or not found.
var (
	ErrTooMany = errors.New("too many jobs are running")
	ErrClosed  = errors.New("the session is closed")
	ErrUnknown = errors.New("there is no such job")
)

// Jobs are the background commands of one session. All methods may be called concurrently.
type Jobs struct {
	// Changed, which may be nil, is called when a job was started or has ended. It must not block.
	Changed func()

	ctx     context.Context // ends all of them
	end     context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	count  int // of all that were ever started
	list   []*job
}

type job struct {
	id, title string
	stop      context.CancelFunc
	ended     chan struct{}
	dir       string
	profile   sandbox.Profile
	outcome   sandbox.Outcome // once ended is closed
	said      []string        // once ended is closed

	mu       sync.Mutex
	process  sandbox.Process // once it was started
	notes    map[string]bool // that Fresh has let through
	front    *front          // while Run waits for its end
	out      *sandbox.Kept   // since the last look
	goesOn   bool            // was given by Running
	endKnown bool            // was given by Ended or by a look
}

// front is the output of a command that Run waits for.
type front struct {
	kept [2]*sandbox.Kept // of each stream
	seen func(s sandbox.Stream, chunk []byte)
}

// Job is a job as a person and a model are told of it.
type Job struct {
	ID, Title string
	// ExitCode is that of a job that has ended, see sandbox.Outcome.
	ExitCode int
	// Said is what was said at its end, see Start.
	Said []string
	// Dir and Profile are those of its command. Connections are what is known of its network while
	// it runs.
	Dir         string
	Profile     sandbox.Profile
	Connections sandbox.Connections
}

// Unreached is a sentence for a model about ports at which the job takes connections that nothing
// outside of the sandbox can make. It is none where there is no such port.
func (j Job) Unreached() []string {
	ports := j.Connections.Unreached()
	if len(ports) == 0 {
		return nil
	}
	var names []string
	for _, p := range ports {
		names = append(names, strconv.Itoa(p))
	}
	list := strings.Join(names, ", ")
	return []string{fmt.Sprintf("%s listens at port %s in a network of its own: no browser and no other command can reach it. To open it to this computer, "+
		"end %s and start it again with `ports`: [%s].", j.ID, list, j.ID, list)}
}

// Look is what a job has printed since the last look, and how it is now.
type Look struct {
	Job
	// Text is of both streams, in the order in which it came. Gap is what is missing from it.
	Text    string
	Gap     sandbox.Gap
	Running bool
	// Outcome is how the job has ended; its outputs are not set.
	Outcome sandbox.Outcome
}

// New makes the jobs of a session. They must be closed.
func New() *Jobs {
	j := &Jobs{}
	j.ctx, j.end = context.WithCancel(context.Background())
	return j
}

// Start starts a command with r, and gives the id of the job. The end of ctx ends the command only
// while it is being started. The output of c is the job's. last is called when the command has
// ended, before anybody is told. Errors are ErrTooMany, ErrClosed and those of r; then nothing
// runs.
func (j *Jobs) Start(ctx context.Context, r sandbox.Runner, title string, c sandbox.Command, last func() []string) (id string, err error) {
	b := newJob(title, c)
	life, stop := context.WithCancel(j.ctx)
	b.stop = stop
	if err := j.admit(b); err != nil {
		stop()
		return "", err
	}
	c.MaxOutput, c.Output = 1, b.print
	detach := context.AfterFunc(ctx, stop)
	p, err := r.Start(life, c)
	if !detach() && err == nil {
		p.Wait()
		err = context.Cause(ctx)
	}
	if err != nil {
		stop()
		j.forget(b)
		j.running.Done()
		return "", err
	}
	b.started(p)
	go func() {
		b.outcome = p.Wait()
		j.finish(b, last)
	}()
	j.changed()
	return b.id, nil
}

func newJob(title string, c sandbox.Command) *job {
	b := &job{title: title, ended: make(chan struct{}), out: sandbox.NewKept(maxOutput), profile: c.Profile, notes: map[string]bool{}}
	if c.Dir != nil {
		b.dir = c.Dir.Path()
	}
	return b
}

func (b *job) started(p sandbox.Process) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.process = p
}

// connections is what is known of the network of a job that runs.
func (b *job) connections() (c sandbox.Connections) {
	b.mu.Lock()
	p := b.process
	b.mu.Unlock()
	if n, ok := p.(sandbox.Networked); ok && !b.over() {
		c, _ = n.Connections()
	}
	return c
}

// Relays are those of a job that runs.
func (j *Jobs) Relays(id string) []sandbox.Relay {
	b := j.find(id)
	if b == nil {
		return nil
	}
	return b.connections().Relays
}

// Fresh leaves out the notes that it has given before of a job.
func (j *Jobs) Fresh(id string, notes []string) (fresh []string) {
	b := j.find(id)
	if b == nil {
		return notes
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range notes {
		if !b.notes[n] {
			b.notes[n] = true
			fresh = append(fresh, n)
		}
	}
	return fresh
}

// Run runs a command with r and waits for its end. If it is still running after wait, it becomes a
// job: Run gives the job's id and, in the outcome, the output so far. Where too many jobs are
// running, it is ended as timed out instead. The end of ctx ends the command only while Run waits
// for it. c.Timeout is that of the whole command, job included. last is as with Start, for a job
// alone. Errors are ErrClosed and those of r; then nothing runs.
func (j *Jobs) Run(ctx context.Context, r sandbox.Runner, title string, c sandbox.Command, wait time.Duration, last func() []string) (
	o sandbox.Outcome, id string, err error,
) {
	if err := j.join(); err != nil {
		return o, "", err
	}
	defer j.running.Done()
	b := newJob(title, c)
	b.front = &front{[2]*sandbox.Kept{sandbox.NewKept(c.MaxOutput), sandbox.NewKept(c.MaxOutput)}, c.Output}
	c.MaxOutput, c.Output = 1, b.print
	life, stop := context.WithCancel(j.ctx)
	b.stop = stop
	detach := context.AfterFunc(ctx, stop)
	answer := time.After(wait)
	p, err := r.Start(life, c)
	if err != nil {
		detach()
		stop()
		return o, "", err
	}
	b.started(p)
	over := make(chan struct{})
	go func() {
		b.outcome = p.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-answer:
		if detach() && j.admit(b) == nil {
			o = b.handOver(sandbox.Outcome{}, true)
			go func() {
				<-over
				j.finish(b, last)
			}()
			j.changed()
			return o, b.id, nil
		}
		timedOut := ctx.Err() == nil
		stop()
		<-over
		b.outcome.TimedOut, b.outcome.Cancelled = b.outcome.TimedOut || timedOut, b.outcome.Cancelled && !timedOut
	}
	detach()
	stop()
	if b.outcome.Cancelled && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		b.outcome.TimedOut, b.outcome.Cancelled = true, false
	}
	return b.handOver(b.outcome, false), "", nil
}

// handOver gives o with what was printed so far. If there is more, that is the job's, a character
// that has not come whole included.
func (b *job) handOver(o sandbox.Outcome, more bool) sandbox.Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, stream := range []struct {
		text *string
		gap  *sandbox.Gap
	}{{&o.Stdout, &o.StdoutGap}, {&o.Stderr, &o.StderrGap}} {
		text, gap := b.front.kept[i].Output()
		whole := len(text)
		if more {
			whole -= part(text)
		}
		b.out.Write([]byte(text[whole:]))
		*stream.text, *stream.gap = text[:whole], gap
	}
	b.front = nil
	return o
}

// finish ends a job whose command has ended.
func (j *Jobs) finish(b *job, last func() []string) {
	defer j.running.Done()
	b.stop()
	b.said = last()
	close(b.ended)
	j.changed()
}

// join keeps Close waiting until running.Done.
func (j *Jobs) join() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return ErrClosed
	}
	j.running.Add(1)
	return nil
}

func (j *Jobs) changed() {
	if j.Changed != nil {
		j.Changed()
	}
}

// admit gives a job its id and its place among those that run.
func (j *Jobs) admit(b *job) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	over := 0
	for _, o := range j.list {
		if o.over() {
			over++
		}
	}
	switch {
	case j.closed:
		return ErrClosed
	case len(j.list)-over >= MaxRunning:
		return ErrTooMany
	}
	j.list = slices.DeleteFunc(j.list, func(o *job) bool {
		if over <= maxEnded || !o.over() {
			return false
		}
		over--
		return true
	})
	j.count++
	b.id = fmt.Sprintf("job_%d", j.count)
	j.list = append(j.list, b)
	j.running.Add(1)
	return nil
}

func (j *Jobs) forget(b *job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list = slices.DeleteFunc(j.list, func(o *job) bool { return o == b })
}

// Any says that there is a job which runs or can be looked at: so it is from the first that was
// started on.
func (j *Jobs) Any() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.list) > 0
}

// Look gives what a job has printed since the last look, once it has ended, wait has passed or ctx
// has ended. What one look gives no other does. Errors are ErrUnknown and that of ctx.
func (j *Jobs) Look(ctx context.Context, id string, wait time.Duration) (Look, error) {
	b := j.find(id)
	if b == nil {
		return Look{}, ErrUnknown
	}
	if wait > 0 {
		select {
		case <-b.ended:
		case <-time.After(wait):
		case <-ctx.Done():
			return Look{}, context.Cause(ctx)
		}
	}
	c := b.connections()
	l := b.look()
	l.Connections = c
	return l, nil
}

// Kill ends a job: TERM, after its grace KILL. It returns when the job has ended, which may have
// been before, and is a Look then.
func (j *Jobs) Kill(ctx context.Context, id string) (Look, error) {
	b := j.find(id)
	if b == nil {
		return Look{}, ErrUnknown
	}
	b.stop()
	select {
	case <-b.ended:
		return b.look(), nil
	case <-ctx.Done():
		return Look{}, context.Cause(ctx)
	}
}

// Running are the jobs that run and that it has not given before, with what is known of their
// network.
func (j *Jobs) Running() []Job {
	return j.connected(j.which(func(b *job) bool {
		first := !b.goesOn && !b.over()
		b.goesOn = b.goesOn || first
		return first
	}))
}

// Ended are the jobs whose end neither it nor a look has given before.
func (j *Jobs) Ended() []Job {
	return j.which(func(b *job) bool {
		first := !b.endKnown && b.over()
		b.endKnown = b.endKnown || first
		return first
	})
}

func (j *Jobs) which(is func(*job) bool) (found []Job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range j.list {
		b.mu.Lock()
		if is(b) {
			found = append(found, b.about())
		}
		b.mu.Unlock()
	}
	return found
}

// Connected are the jobs that run, with what is known of their network.
func (j *Jobs) Connected() []Job { return j.connected(j.Alive()) }

func (j *Jobs) connected(list []Job) []Job {
	for i := range list {
		if b := j.find(list[i].ID); b != nil {
			list[i].Connections = b.connections()
		}
	}
	return list
}

// Alive are the jobs that run.
func (j *Jobs) Alive() []Job { return j.which(func(b *job) bool { return !b.over() }) }

// Close ends all jobs and waits for their end. No other is started.
func (j *Jobs) Close() {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	j.end()
	j.running.Wait()
}

func (j *Jobs) find(id string) *job {
	j.mu.Lock()
	defer j.mu.Unlock()
	i := slices.IndexFunc(j.list, func(b *job) bool { return b.id == id })
	if i < 0 {
		return nil
	}
	return j.list[i]
}

func (b *job) print(s sandbox.Stream, chunk []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.front == nil {
		b.out.Write(chunk)
		return
	}
	b.front.kept[s-sandbox.Stdout].Write(chunk)
	if b.front.seen != nil {
		b.front.seen(s, chunk)
	}
}

func (b *job) over() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

func (b *job) about() Job {
	about := Job{ID: b.id, Title: b.title, Dir: b.dir, Profile: b.profile}
	if b.over() {
		about.ExitCode, about.Said = b.outcome.ExitCode, b.said
	}
	return about
}

// look takes what was printed. A character that has not come whole is left to the next look.
func (b *job) look() Look {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := Look{Running: !b.over(), Job: b.about()}
	l.Text, l.Gap = b.out.Output()
	b.out = sandbox.NewKept(maxOutput)
	if l.Running {
		whole := len(l.Text) - part(l.Text)
		b.out.Write([]byte(l.Text[whole:]))
		l.Text = l.Text[:whole]
		return l
	}
	b.endKnown = true
	l.Outcome = b.outcome
	l.Outcome.Stdout, l.Outcome.StdoutGap, l.Outcome.Stderr, l.Outcome.StderrGap = "", sandbox.Gap{}, "", sandbox.Gap{}
	return l
}

// part is how many bytes at the end of s are the beginning of a character.
func part(s string) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(s)); n++ {
		if c := s[len(s)-n:]; utf8.RuneStart(c[0]) {
			if utf8.FullRuneInString(c) {
				return 0
			}
			return n
		}
	}
	return 0
}
