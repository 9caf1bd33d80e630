//go:build !linux

package envd

import (
	"errors"
	"os"
	"syscall"
)

// File metadata needs extended attributes, which are read on Linux only.
func readMetadata(string) map[string]string { return nil }

func writeMetadata(*os.File, map[string]string) (map[string]string, error) { return nil, nil }

func growPipe(*os.File, int) {}

// pending is -1: not known.
func pending(*os.File) int { return -1 }

func killSession(pid int) { killGroup(pid) }

func diskFull(err error) bool { return errors.Is(err, syscall.ENOSPC) }
