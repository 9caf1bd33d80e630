//go:build !linux

package toolserver

import "net/http"

type listener struct {
	Port     int    `json:"port"`
	Protocol string `json:"protocol"`
	Address  string `json:"address"`
	PID      int    `json:"pid"`
}

func listeners() ([]listener, error) {
	return nil, &problem{http.StatusServiceUnavailable, "ports can be listed on Linux only", "RuntimeError"}
}
