//go:build !unix

package local

import (
	"context"
	"errors"
	"log/slog"
)

func (p *Provider) spawn(context.Context) error { return errors.ErrUnsupported }

func spawnMain()   {}
func serverMain()  {}
func janitorMain() {}

type janitor struct{}

func startJanitor(string, *slog.Logger) (*janitor, error) { return nil, errors.ErrUnsupported }

func (*janitor) close() {}

func killServer(int) error { return errors.ErrUnsupported }
