package keeper

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"tandem/sandbox/confine"
)

// The messages on the socket. Each is one byte for its kind, four for the length of its body, and
// the body.
const (
	// to the keeper
	msgStart     = 's' // a Spec, with its files
	msgTerminate = 't' // TERM to the process group of the command
	msgKill      = 'k' // end everything now
	msgAccess    = 'a' // whether the command may write now; the answer has the same kind and an error number
	msgDial      = 'd' // a number and a port; the answer has the same kind, the number, an error number, and the connection
	msgNetwork   = 'n' // the answer has the same kind, and a Network
	// from the keeper
	msgStarted = 'p' // the process id
	msgFailed  = 'f' // the error number, and what failed
	msgUnfit   = 'u' // which layer failed; the keeper ends
	msgEnded   = 'e' // an End
)

// maxBody is more than a command can be: the kernel takes 6 MiB of arguments and environment at the
// most.
const maxBody = 16 << 20

// Spec is what a keeper starts.
type Spec struct {
	// Argv begins with the absolute path of the program. Env is the whole environment.
	Argv, Env []string
	// Dir is an open handle of the folder to start in, Path its path. In namespaces a handle of the
	// host leads out of what the mounts show: the path is entered, and must be that of the same
	// folder.
	Dir  *os.File
	Path string
	// Stdin, Stdout and Stderr are the streams of the command.
	Stdin, Stdout, Stderr *os.File
	// Privileged keeps the capabilities of this process; without it the command has none.
	Privileged bool
	// Leave lets processes live that the command leaves behind. The keeper is of no more use then.
	Leave bool
	// Bounds are what the command is confined to, nil for nothing, which a keeper in namespaces
	// does not do.
	Bounds *Bounds
}

// End is how a command ended.
type End struct {
	Status syscall.WaitStatus
	// Background is how many processes outlived the command and were killed; Left how many of them
	// could not be.
	Background, Left int
	// Refused are the sockets that the command did not get, and the hosts that it could not reach.
	Refused confine.Sockets
}

// Network is what a keeper knows of the network of its running command.
type Network struct {
	Refused confine.Sockets
	// Listening are the ports at which the command takes TCP connections, in a network of its own,
	// in their order.
	Listening []int
}

// bits are sockets as a number.
func bits(s confine.Sockets) (n int) {
	if s.Network {
		n = 1
	}
	if s.Unix {
		n += 2
	}
	return n
}

func socketsOf(bits int) confine.Sockets {
	return confine.Sockets{Network: bits&1 > 0, Unix: bits&2 > 0}
}

func (s *Spec) encode() ([]byte, error) {
	fields := []string{strconv.FormatBool(s.Privileged), strconv.FormatBool(s.Leave), s.Path, s.Bounds.encode(), strconv.Itoa(len(s.Argv))}
	body := join(slices.Concat(fields, s.Argv, s.Env))
	if len(body) > maxBody {
		return nil, syscall.E2BIG
	}
	return body, nil
}

var errMessage = errors.New("a message to a keeper that makes no sense")

func decodeSpec(body []byte, files []*os.File) (*Spec, error) {
	const fixed = 5
	fields, err := split(body)
	if err != nil || len(fields) <= fixed || len(files) != 4 {
		return nil, errMessage
	}
	n, err := strconv.Atoi(fields[fixed-1])
	argv := fields[fixed:]
	if err != nil || n < 1 || n > len(argv) {
		return nil, errMessage
	}
	b, err := decodeBounds(fields[3])
	return &Spec{
		Privileged: fields[0] == "true", Leave: fields[1] == "true", Path: fields[2], Bounds: b, Argv: argv[:n], Env: argv[n:],
		Dir: files[0], Stdin: files[1], Stdout: files[2], Stderr: files[3],
	}, err
}

// join makes one text of several, each after its length.
func join(fields []string) (body []byte) {
	for _, f := range fields {
		body = append(binary.AppendUvarint(body, uint64(len(f))), f...)
	}
	return body
}

// split gives what was joined.
func split(body []byte) (fields []string, err error) {
	for len(body) > 0 {
		n, head := binary.Uvarint(body)
		if head <= 0 || n > uint64(len(body)-head) {
			return nil, errMessage
		}
		fields = append(fields, string(body[head:head+int(n)]))
		body = body[head+int(n):]
	}
	return fields, nil
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
