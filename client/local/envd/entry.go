package envd

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"abxdash/client/envdpb/filesystem"

	"google.golang.org/protobuf/types/known/timestamppb"
)

// describer makes EntryInfo messages. It remembers the names of owners, which
// cost a file read each; use one per request.
type describer struct {
	users, groups map[uint32]string
}

// newDescriber knows that the owner of the home is the sandbox's user, whatever
// id that is to the agent: the agent may look from outside of the user
// namespace in which the user has the id that the sandbox shows.
func (s *Server) newDescriber() *describer {
	d := &describer{users: map[uint32]string{}, groups: map[uint32]string{}}
	u, err := s.cfg.Spawner.Lookup("")
	if err != nil {
		return d
	}
	home, err := os.Stat(u.Home)
	if err != nil {
		return d
	}
	if uid, gid := ownerOf(home); int(uid) != u.UID {
		d.users[uid], d.groups[gid] = u.Name, u.Name
	}
	return d
}

// entry describes the entry name of an open directory as e2b-protocol §10.1
// has it: type and mode are the target's, all else the entry's own. shown is
// the path that the caller sees.
func (d *describer) entry(dir *handle, name, shown string) (*filesystem.EntryInfo, error) {
	fi, err := os.Lstat(dir.child(name))
	if err != nil {
		return nil, shownAs(err, shown)
	}
	uid, gid := ownerOf(fi)
	e := &filesystem.EntryInfo{
		Name:         utf8Text(filepath.Base(shown)),
		Path:         utf8Text(shown),
		Size:         fi.Size(),
		Permissions:  fi.Mode().String(),
		Owner:        d.owner(uid),
		Group:        d.group(gid),
		ModifiedTime: timestamppb.New(fi.ModTime()),
	}
	if fi.Mode()&os.ModeSymlink == 0 {
		e.Type, e.Mode = fileType(fi), uint32(fi.Mode().Perm())
		if fi.Mode().IsRegular() || fi.IsDir() {
			e.Metadata = readMetadata(dir.child(name))
		}
		return e, nil
	}
	// A link that leads nowhere, or where the agent does not go, stands for itself.
	e.SymlinkTarget = new(utf8Text(shown))
	target, err := openHandleAt(dir, name, 0)
	if err != nil {
		return e, nil
	}
	defer target.close()
	if tfi, err := target.stat(); err == nil {
		e.Type, e.Mode = fileType(tfi), uint32(tfi.Mode().Perm())
		e.SymlinkTarget = new(utf8Text(target.real))
	}
	return e, nil
}

// utf8Text replaces bytes that a protobuf string cannot hold, so that one odd
// name does not hide a whole directory. Such an entry is shown but cannot be
// addressed.
func utf8Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func fileType(fi os.FileInfo) filesystem.FileType {
	switch {
	case fi.IsDir():
		return filesystem.FileType_FILE_TYPE_DIRECTORY
	case fi.Mode().IsRegular():
		return filesystem.FileType_FILE_TYPE_FILE
	}
	return filesystem.FileType_FILE_TYPE_UNSPECIFIED
}

func (d *describer) owner(uid uint32) string {
	if name, ok := d.users[uid]; ok {
		return name
	}
	name := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	d.users[uid] = name
	return name
}

func (d *describer) group(gid uint32) string {
	if name, ok := d.groups[gid]; ok {
		return name
	}
	name := strconv.FormatUint(uint64(gid), 10)
	if g, err := user.LookupGroupId(name); err == nil {
		name = g.Name
	}
	d.groups[gid] = name
	return name
}
