//go:build !linux

package registry

import (
	"context"

	"abxdash/client"
)

// Leftovers cannot look on this system.
func Leftovers(context.Context, []string, client.ID, string) (found []string, checked bool, err error) {
	return nil, false, nil
}
