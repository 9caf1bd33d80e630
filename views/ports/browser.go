package ports

import (
	"context"
	"errors"
	"net/url"
	"os/exec"
	"runtime"
)

// Browser returns how this machine shows an address, nil if it has no way.
func Browser() func(address string) error {
	var name string
	var args []string
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler"}
	default:
		name = "xdg-open"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return nil
	}
	return func(address string) error {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return errors.New("only web addresses are opened")
		}
		// The browser outlives the dashboard: no context ends it.
		cmd := exec.CommandContext(context.Background(), path, append(args, u.String())...)
		if err := cmd.Start(); err != nil {
			return err
		}
		go func() { _ = cmd.Wait() }() // it reports for itself; only its remains are collected here
		return nil
	}
}
