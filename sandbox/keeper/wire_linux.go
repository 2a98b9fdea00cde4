package keeper

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// The messages on the socket. Each is one byte for its kind, four for the length of its body, and the body.
const (
	// to the keeper
	msgConfine   = 'c' // the Bounds of the commands that follow
	msgStart     = 's' // a Spec, with its files
	msgTerminate = 't' // TERM to the process group of the command
	msgKill      = 'k' // end everything now
	// from the keeper
	msgStarted = 'p' // the process id
	msgFailed  = 'f' // the error number, and what failed
	msgUnfit   = 'u' // whether something has changed, and which layer failed; the keeper ends
	msgEnded   = 'e' // an End
)

// maxBody is more than a command can be: the kernel takes 6 MiB of arguments and environment at the most.
const maxBody = 16 << 20

// Spec is what a keeper starts. The strings hold no NUL byte.
type Spec struct {
	// Argv begins with the absolute path of the program. Env is the whole environment.
	Argv, Env []string
	// Dir is an open handle of the folder to start in, Path its path. In namespaces a handle of the host leads out of what
	// the mounts show: the path is entered, and must be that of the same folder.
	Dir  *os.File
	Path string
	// Stdin, Stdout and Stderr are the streams of the command.
	Stdin, Stdout, Stderr *os.File
	// Privileged keeps the capabilities of this process; without it the command has none.
	Privileged bool
	// Leave lets processes live that the command leaves behind. The keeper is of no more use then.
	Leave bool
	// Bounds are what the command is confined to, nil for nothing. A keeper that has once confined one does nothing else, and all
	// its commands have the same Namespaces and Network.
	Bounds *Bounds
}

// End is how a command ended.
type End struct {
	Status syscall.WaitStatus
	// Background is how many processes outlived the command and were killed; Left how many of them could not be.
	Background, Left int
}

func (s *Spec) encode() ([]byte, error) {
	fields := []string{strconv.FormatBool(s.Privileged), strconv.FormatBool(s.Leave), s.Path, strconv.Itoa(len(s.Argv))}
	fields = slices.Concat(fields, s.Argv, s.Env)
	if slices.ContainsFunc(fields, func(f string) bool { return strings.IndexByte(f, 0) >= 0 }) {
		return nil, syscall.EINVAL
	}
	body := []byte(strings.Join(fields, "\x00"))
	if len(body) > maxBody {
		return nil, syscall.E2BIG
	}
	return body, nil
}

var errMessage = errors.New("a message to a keeper that makes no sense")

func decodeSpec(body []byte, files []*os.File) (*Spec, error) {
	fields := strings.Split(string(body), "\x00")
	if len(fields) < 5 || len(files) != 4 {
		return nil, errMessage
	}
	n, err := strconv.Atoi(fields[3])
	if err != nil || n < 1 || n > len(fields)-4 {
		return nil, errMessage
	}
	return &Spec{
		Privileged: fields[0] == "true", Leave: fields[1] == "true", Path: fields[2], Argv: fields[4 : 4+n], Env: fields[4+n:],
		Dir: files[0], Stdin: files[1], Stdout: files[2], Stderr: files[3],
	}, nil
}

func numbers(n ...int) []byte {
	var b []byte
	for _, i := range n {
		b = binary.BigEndian.AppendUint32(b, uint32(int32(i)))
	}
	return b
}

func parseNumbers(body []byte, n int) ([]int, error) {
	if len(body) != 4*n {
		return nil, errMessage
	}
	out := make([]int, n)
	for i := range out {
		out[i] = int(int32(binary.BigEndian.Uint32(body[4*i:])))
	}
	return out, nil
}

// send writes a message; files go with its first byte.
func send(to *os.File, kind byte, body []byte, files ...*os.File) error {
	msg := append(binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body))), body...)
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	raw, err := to.SyscallConn()
	if err != nil {
		return err
	}
	for len(msg) > 0 && err == nil {
		var n int
		var failed error
		err = raw.Write(func(fd uintptr) bool {
			n, failed = unix.SendmsgN(int(fd), msg, rights, nil, unix.MSG_NOSIGNAL)
			return !errors.Is(failed, unix.EAGAIN)
		})
		if err = errors.Join(err, failed); errors.Is(err, unix.EINTR) {
			err = nil
			continue
		}
		msg, rights = msg[max(n, 0):], nil
	}
	return err
}

// receive reads a message and the files that came with it. The end of the socket is io.EOF.
func receive(from *os.File) (kind byte, body []byte, files []*os.File, err error) {
	raw, err := from.SyscallConn()
	if err != nil {
		return 0, nil, nil, err
	}
	fill := func(buf []byte) error {
		for len(buf) > 0 {
			var n, oobn int
			var failed error
			oob := make([]byte, unix.CmsgSpace(4*4))
			err := raw.Read(func(fd uintptr) bool {
				n, oobn, _, _, failed = unix.Recvmsg(int(fd), buf, oob, unix.MSG_CMSG_CLOEXEC)
				return !errors.Is(failed, unix.EAGAIN)
			})
			switch err = errors.Join(err, failed); {
			case errors.Is(err, unix.EINTR):
				continue
			case err != nil:
				return err
			case n == 0:
				return io.EOF
			}
			buf = buf[n:]
			control, err := unix.ParseSocketControlMessage(oob[:oobn])
			if err != nil {
				return err
			}
			for _, c := range control {
				fds, err := unix.ParseUnixRights(&c)
				if err != nil {
					return err
				}
				for _, fd := range fds {
					files = append(files, os.NewFile(uintptr(fd), "received"))
				}
			}
		}
		return nil
	}
	var head [5]byte
	if err := fill(head[:]); err != nil {
		return 0, nil, files, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxBody {
		return 0, nil, files, errMessage
	}
	body = make([]byte, n)
	return head[0], body, files, fill(body)
}
