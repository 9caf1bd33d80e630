package server

import (
	"log/slog"
	"net"
	"os"
)

// OwnPeers wraps a unix listener so that only processes of the user who runs
// the server are served; others are cut off.
func OwnPeers(ln *net.UnixListener, log *slog.Logger) net.Listener {
	return &ownPeers{UnixListener: ln, uid: os.Geteuid(), log: log}
}

type ownPeers struct {
	*net.UnixListener
	uid int
	log *slog.Logger
}

func (l *ownPeers) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		uid, err := PeerUID(c)
		if err == nil && uid == l.uid {
			return c, nil
		}
		l.log.Warn("refused a connection of another user", "uid", uid, "err", err)
		_ = c.Close()
	}
}
