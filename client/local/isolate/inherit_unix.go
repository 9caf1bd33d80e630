//go:build linux || darwin

package isolate

import (
	"net"
	"os"

	"abxdash/client"
)

// inheritance is what init gets at its start and what is kept of it here.
type inheritance struct {
	files []*os.File // by descriptor; init's ends
	mine  []*os.File // those of files that are closed after the start

	control *net.UnixConn
	egress  *egress // nil without a proxy
	group   *group  // nil where there is none
}

// add gives init a file and says by which number.
func (in *inheritance) add(f *os.File) int {
	in.files = append(in.files, f)
	return len(in.files) - 1
}

// release closes what only init needs.
func (in *inheritance) release() {
	closeFiles(in.mine)
	in.group.release()
}

// undo takes back what was made for a sandbox that did not start.
func (in *inheritance) undo() error {
	in.egress.close()
	if in.control != nil {
		_ = in.control.Close()
	}
	return in.group.remove()
}

// inherit makes what init is to have. With an error the caller undoes the rest.
func (l *Launcher) inherit(cfg Config, conf *initConfig, confR, status *os.File) (*inheritance, error) {
	in := &inheritance{}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return in, err
	}
	in.mine = append(in.mine, null)
	log := cfg.LogFile
	if log == nil {
		log = null
	}
	in.files = []*os.File{null, log, log, confR, status}
	if cfg.Listener != nil {
		conf.FDs.Listener = in.add(cfg.Listener)
	}
	theirs, err := in.openControl()
	if err != nil {
		return in, err
	}
	conf.FDs.Control = in.add(theirs)
	if in.egress, err = prepareEgress(cfg); err != nil {
		return in, err
	}
	if in.egress != nil {
		end, err := in.egress.open()
		if err != nil {
			return in, err
		}
		in.mine = append(in.mine, end)
		conf.FDs.Egress = in.add(end)
	}
	if conf.Probe {
		return in, nil
	}
	owner, err := sandboxOwner(cfg)
	if err != nil {
		return in, err
	}
	in.group = l.parents.makeGroup(conf.Limits, owner, cfg.Level == client.IsolationNamespace)
	if in.group.canFreeze() {
		conf.FDs.Group = in.add(in.group.userDir)
	}
	if in.group != nil {
		for _, f := range in.group.tasks {
			conf.FDs.Tasks = append(conf.FDs.Tasks, in.add(f))
		}
	}
	return in, nil
}

func (in *inheritance) openControl() (theirs *os.File, err error) {
	in.control, theirs, err = socketPair("control")
	if err == nil {
		in.mine = append(in.mine, theirs)
	}
	return theirs, err
}
