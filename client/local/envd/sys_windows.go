package envd

import (
	"errors"
	"os"
)

func ownerOf(os.FileInfo) (uid, gid uint32) { return 0, 0 }

func resizeTTY(*os.File, Winsize) error { return errors.ErrUnsupported }

func killGroup(int) {}
