package isolate

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A container inherits no descriptors. Its init connects once to a socket in a
// folder that it is shown, gets them there, and the socket is gone before any
// other program runs. What goes over it is their names, parted by spaces.
const (
	partConfig   = "config"
	partStatus   = "status"
	partAlive    = "alive" // held by init, so that its end is seen
	partControl  = "control"
	partLog      = "log"
	partListener = "listener"
	partEgress   = "egress"
)

// parts is what init gets and what is kept of it here.
type parts struct {
	names []string
	files []*os.File
	mine  []*os.File // those of files that are closed after the start

	life, status, alive *os.File
	control             *net.UnixConn
	egress              *egress
}

func (p *parts) add(name string, f *os.File, ours bool) {
	p.names, p.files = append(p.names, name), append(p.files, f)
	if ours {
		p.mine = append(p.mine, f)
	}
}

// newParts makes what init is to have. With an error the caller undoes the rest.
func newParts(cfg Config) (*parts, error) {
	p := &parts{}
	r, w, err := os.Pipe()
	if err != nil {
		return p, err
	}
	p.life = w
	p.add(partConfig, r, true)
	for name, at := range map[string]**os.File{partStatus: &p.status, partAlive: &p.alive} {
		if *at, w, err = os.Pipe(); err != nil {
			return p, err
		}
		p.add(name, w, true)
	}
	var theirs *os.File
	if p.control, theirs, err = socketPair(partControl); err != nil {
		return p, err
	}
	p.add(partControl, theirs, true)
	if cfg.LogFile != nil {
		p.add(partLog, cfg.LogFile, false)
	}
	if cfg.Listener != nil {
		p.add(partListener, cfg.Listener, false)
	}
	if p.egress, err = prepareEgress(cfg); err != nil || p.egress == nil {
		return p, err
	}
	end, err := p.egress.open()
	if err == nil {
		p.add(partEgress, end, true)
	}
	return p, err
}

// release closes what only init needs.
func (p *parts) release() {
	closeFiles(p.mine)
	p.mine = nil
}

// undo takes back what was made for a sandbox that does not start.
func (p *parts) undo() {
	p.egress.close()
	if p.control != nil {
		_ = p.control.Close()
	}
	for _, f := range []*os.File{p.life, p.status, p.alive} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// send hands them over. From then on only init holds its ends.
func (p *parts) send(conn *net.UnixConn) error {
	fds := make([]int, 0, len(p.files))
	for _, f := range p.files {
		fds = append(fds, int(f.Fd()))
	}
	if _, _, err := conn.WriteMsgUnix([]byte(strings.Join(p.names, " ")), unix.UnixRights(fds...), nil); err != nil {
		return fmt.Errorf("hand over to the container: %w", err)
	}
	p.release()
	return nil
}

// handPatience bounds the wait of a container's init for its descriptors.
const handPatience = time.Minute

// receiveParts is the other end: descriptors by name.
func receiveParts(socket string) (map[string]int, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(handPatience)); err != nil {
		return nil, err
	}
	text, oob := make([]byte, 1024), make([]byte, unix.CmsgSpace(4*16))
	n, oobn, _, _, err := conn.ReadMsgUnix(text, oob) // the runtime asks for close-on-exec
	if err != nil {
		return nil, err
	}
	msgs, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || len(msgs) != 1 {
		return nil, errors.Join(errors.New("no descriptors came"), err)
	}
	fds, err := unix.ParseUnixRights(&msgs[0])
	names := strings.Fields(string(text[:n]))
	if err != nil || len(fds) != len(names) {
		return nil, errors.Join(errors.New("other descriptors came than were named"), err)
	}
	got := map[string]int{}
	for i, fd := range fds {
		got[names[i]] = fd
	}
	return got, nil
}
