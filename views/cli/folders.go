package cli

import (
	"errors"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"abxdash/client"
)

// folderList collects what --mount and --copy name.
type folderList struct{ list []client.HostFolder }

// folderFlags adds the two flags.
func folderFlags(f *pflag.FlagSet, l *folderList) {
	f.Var(&folderFlag{l, false}, "mount", "show a folder of this machine inside: DIR[:TARGET][:ro]; local only, may be repeated")
	f.Var(&folderFlag{l, true}, "copy", "copy a folder of this machine inside: DIR[:TARGET]; local only, may be repeated")
}

// folderFlag is one of the flags.
type folderFlag struct {
	l    *folderList
	copy bool
}

func (f *folderFlag) String() string { return "" }

// Type is what the help calls the value.
func (f *folderFlag) Type() string { return "DIR" }

// Set reads DIR[:TARGET][:ro]. TARGET is an absolute path inside.
func (f *folderFlag) Set(text string) error {
	out := client.HostFolder{Copy: f.copy}
	dir, last, more := cutLast(text)
	if more && last == "ro" {
		if f.copy {
			return errors.New("a copy cannot be read-only")
		}
		out.ReadOnly = true
		text = dir
		dir, last, more = cutLast(text)
	}
	if more && path.IsAbs(last) {
		text, out.Target = dir, path.Clean(last)
	}
	if text == "" {
		return errors.New("it names no folder")
	}
	host, err := filepath.Abs(text)
	if err != nil {
		return err
	}
	out.Host = host
	f.l.list = append(f.l.list, out)
	return nil
}

// cutLast cuts at the last colon.
func cutLast(text string) (before, after string, found bool) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}
