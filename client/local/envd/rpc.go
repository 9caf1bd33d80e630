package envd

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"
)

// userKey is where a request's context holds its user.
type userKey struct{}

// userInterceptor finds the acting user of every RPC (e2b-protocol §7.1).
type userInterceptor struct{ spawner Spawner }

// WrapUnary implements connect.Interceptor.
func (i *userInterceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		ctx, err := i.withUser(ctx, req.Header())
		if err != nil {
			return nil, err
		}
		return next(ctx, req)
	}
}

// WrapStreamingClient implements connect.Interceptor; there is no client here.
func (i *userInterceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor.
func (i *userInterceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		ctx, err := i.withUser(ctx, conn.RequestHeader())
		if err != nil {
			return err
		}
		return next(ctx, conn)
	}
}

func (i *userInterceptor) withUser(ctx context.Context, h http.Header) (context.Context, error) {
	name := basicUser(h.Get("Authorization"))
	u, err := i.spawner.Lookup(name)
	if err != nil {
		return nil, connect.NewError(connect.CodeUnauthenticated, fmt.Errorf("invalid username: '%s'", name))
	}
	return context.WithValue(ctx, userKey{}, u), nil
}

// basicUser is the user of a Basic header; "" without one. The password is ignored.
func basicUser(header string) string {
	scheme, value, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return ""
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value))
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(string(raw), ":")
	return utf8Text(name)
}

// userOf is the acting user that the interceptor found.
func userOf(ctx context.Context) User {
	u, _ := ctx.Value(userKey{}).(User)
	return u
}

const (
	defaultKeepalive = 90 * time.Second
	maxKeepalive     = time.Hour
)

// keepaliveInterval reads the idle gap after which a stream shows that it
// lives: whole seconds, at least one (e2b-protocol §8).
func keepaliveInterval(h http.Header) time.Duration {
	seconds, err := strconv.ParseInt(strings.TrimSpace(h.Get("Keepalive-Ping-Interval")), 10, 64)
	if err != nil {
		return defaultKeepalive
	}
	seconds = min(max(seconds, 1), int64(maxKeepalive/time.Second))
	return time.Duration(seconds) * time.Second
}

// resolveRPC resolves a path argument of an RPC.
func (s *Server) resolveRPC(path string, u User) (string, error) {
	abs, err := resolvePath(path, s.cfg.Workdir, u)
	if err != nil {
		return "", connect.NewError(connect.CodeInvalidArgument, err)
	}
	return abs, nil
}

// rpcFileError maps a file error to the code that the protocol has for it.
func rpcFileError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return connect.NewError(connect.CodeNotFound, fmt.Errorf("file not found: %w", err))
	case errors.Is(err, errRefused):
		return connect.NewError(connect.CodePermissionDenied, err)
	case errors.Is(err, syscall.ELOOP):
		return connect.NewError(connect.CodeFailedPrecondition, err)
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.EINVAL):
		return connect.NewError(connect.CodeInvalidArgument, err)
	}
	return connect.NewError(connect.CodeInternal, err)
}
