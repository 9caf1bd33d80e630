package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/build"
	"github.com/moby/moby/api/types/registry"
	moby "github.com/moby/moby/client"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"abxdash/client"
)

// pingPatience bounds the question whether an engine is there.
const pingPatience = 10 * time.Second

// Config says where the engine is.
type Config struct {
	// Host is an address such as unix:///run/docker.sock; "" is DOCKER_HOST,
	// else the usual socket.
	Host string
	// Classic forces the classic builder instead of the engine's default.
	Classic   bool
	UserAgent string
}

// Engine is a Docker engine. It is safe for concurrent use.
type Engine struct {
	cfg Config
	api *moby.Client
}

// New makes an engine. It makes no call.
func New(cfg Config) (*Engine, error) {
	opts := []moby.Opt{moby.FromEnv}
	if cfg.Host != "" {
		opts = append(opts, moby.WithHost(cfg.Host))
	}
	if cfg.UserAgent != "" {
		opts = append(opts, moby.WithUserAgent(cfg.UserAgent))
	}
	api, err := moby.New(opts...)
	if err != nil {
		return nil, &client.Error{Op: "find the Docker engine", Code: client.CodeDockerBuild, Message: client.OneLine(err.Error(), 200), Hint: "check DOCKER_HOST"}
	}
	return &Engine{cfg: cfg, api: api}, nil
}

// Close gives up idle connections.
func (e *Engine) Close() error { return e.api.Close() }

// Ping asks whether the engine is there (TPL-11).
func (e *Engine) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingPatience)
	defer cancel()
	_, err := e.ping(ctx)
	return err
}

func (e *Engine) ping(ctx context.Context) (moby.PingResult, error) {
	res, err := e.api.Ping(ctx, moby.PingOptions{NegotiateAPIVersion: true})
	if err == nil {
		return res, nil
	}
	return res, &client.Error{
		Op: "reach the Docker engine", Code: client.CodeDockerBuild, Kind: client.ErrUnavailable, Err: err,
		Message: "no Docker engine answers at " + client.OneLine(e.api.DaemonHost(), 120),
		Hint:    "install or start Docker, or set DOCKER_HOST; lint and check work without it",
	}
}

// Build is one image to build.
type Build struct {
	// Context is a tar of the build context.
	Context io.Reader
	// Dockerfile is its name inside the context; "" is Dockerfile.
	Dockerfile string
	// Tags are the names of the image.
	Tags []string
	// Platform is such as linux/amd64; "" is that.
	Platform string
	Labels   map[string]string
	NoCache  bool
	// Network is that of RUN steps: "" is the engine's default, "none", "host".
	Network string
}

// Build builds an image and returns its id. Ending ctx ends the build in the
// engine. say is told of every step and line, in order, from this goroutine.
// A build that failed is E7020 and names the step.
func (e *Engine) Build(ctx context.Context, b Build, say func(Event)) (string, error) {
	const op = "build the image"
	ping, err := e.ping(ctx)
	if err != nil {
		return "", err
	}
	version := build.BuilderV1
	if ping.BuilderVersion == build.BuilderBuildKit && !e.cfg.Classic {
		version = build.BuilderBuildKit
	}
	osName, arch, ok := strings.Cut(b.Platform, "/")
	if b.Platform == "" || !ok {
		osName, arch = "linux", "amd64"
	}
	res, err := e.api.ImageBuild(ctx, b.Context, moby.ImageBuildOptions{
		Tags: b.Tags, Dockerfile: b.Dockerfile, Remove: true, ForceRemove: true, NoCache: b.NoCache, Labels: b.Labels,
		NetworkMode: b.Network, Platforms: []ocispec.Platform{{OS: osName, Architecture: arch}}, Version: version,
	})
	if err != nil {
		return "", failed(ctx, op, client.CodeDockerBuild, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = res.Body.Close() }) // a cancelled build ends with its connection
	defer stop()
	defer res.Body.Close()
	out, err := decode(res.Body, say)
	switch {
	case ctx.Err() != nil:
		return "", cancelled(ctx, op, client.CodeDockerBuild)
	case err != nil:
		return "", buildFailed(op, out, err)
	case out.image == "":
		return "", &client.Error{Op: op, Code: client.CodeDockerBuild, Message: "the engine's answer ended without an image"}
	}
	return out.image, nil
}

// buildFailed names the step at which a build failed.
func buildFailed(op string, out outcome, err error) error {
	e := &client.Error{Op: op, Code: client.CodeDockerBuild, Message: client.OneLine(err.Error(), 300)}
	var said *streamError
	if !errors.As(err, &said) {
		e.Message = "the engine's answer broke off: " + e.Message
		return e
	}
	if out.step != "" {
		e.Message = client.OneLine(out.step, 120) + ": " + e.Message
	}
	if strings.Contains(e.Message, "no source files were specified") || strings.Contains(e.Message, "not found in build context") {
		e.Hint = "is the file there, and not excluded by .dockerignore?"
	}
	if strings.Contains(out.step, "FROM ") {
		e.Hint = "the engine could not fetch the base image: check its name and the engine's network"
	}
	if unauthorized(e.Message) {
		e.Code, e.Hint = client.CodeRegistryLogin, "the base image needs a login: docker login on the engine's machine"
	}
	return e
}

// Login is a registry login. It prints without its password.
type Login struct {
	Username, Password string
}

// String shows no password.
func (l Login) String() string { return "login of " + client.OneLine(l.Username, 60) }

// GoString is String, for %#v.
func (l Login) GoString() string { return l.String() }

// Tag gives an image another name.
func (e *Engine) Tag(ctx context.Context, image, ref string) error {
	if _, err := e.api.ImageTag(ctx, moby.ImageTagOptions{Source: image, Target: ref}); err != nil {
		return failed(ctx, "tag the image", client.CodeDockerPush, err)
	}
	return nil
}

// Push pushes an image by name and returns its digest. A registry that refuses
// the login is E7022, everything else E7021 (TPL-10).
func (e *Engine) Push(ctx context.Context, ref string, login Login, say func(Event)) (string, error) {
	const op = "push the image"
	host, _, _ := strings.Cut(ref, "/")
	auth, err := authconfig.Encode(registry.AuthConfig{Username: login.Username, Password: login.Password, ServerAddress: host})
	if err != nil {
		return "", &client.Error{Op: op, Code: client.CodeRegistryLogin, Message: "the login cannot be encoded"}
	}
	res, err := e.api.ImagePush(ctx, ref, moby.ImagePushOptions{RegistryAuth: auth})
	if err != nil {
		return "", pushFailed(op, host, login, failed(ctx, op, client.CodeDockerPush, err))
	}
	stop := context.AfterFunc(ctx, func() { _ = res.Close() })
	defer stop()
	defer res.Close()
	out, err := decode(res, say)
	switch {
	case ctx.Err() != nil:
		return "", cancelled(ctx, op, client.CodeDockerPush)
	case err != nil:
		return "", pushFailed(op, host, login, err)
	case out.digest == "":
		return "", &client.Error{Op: op, Code: client.CodeDockerPush, Message: "the engine's answer ended without a digest"}
	}
	return out.digest, nil
}

func pushFailed(op, host string, login Login, err error) error {
	e := &client.Error{Op: op, Code: client.CodeDockerPush}
	var ce *client.Error
	if errors.As(err, &ce) {
		e.Message, e.Err, e.Hint = ce.Message, ce.Err, ce.Hint
	} else {
		e.Message = err.Error()
	}
	e.Message = client.OneLine(client.Mask(e.Message, login.Password), 300)
	if unauthorized(e.Message) {
		e.Code, e.Kind = client.CodeRegistryLogin, client.ErrUnauthorized
		e.Message = "the registry " + client.OneLine(host, 120) + " refused the login: " + e.Message
		e.Hint = "check the registry's user name and password, and that it may push there"
	}
	return e
}

// unauthorized tells a refused login by the words of registries and engines.
func unauthorized(text string) bool {
	text = strings.ToLower(text)
	for _, word := range []string{"unauthorized", "authentication required", "no basic auth", "denied", "401", "403 forbidden", "incorrect username or password"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// Remove deletes an image by id or name; one that is gone is fine.
func (e *Engine) Remove(ctx context.Context, image string) error {
	_, err := e.api.ImageRemove(ctx, image, moby.ImageRemoveOptions{PruneChildren: true})
	if err != nil && !errdefs.IsNotFound(err) {
		return failed(ctx, "remove the image", client.CodeDockerBuild, err)
	}
	return nil
}

func cancelled(ctx context.Context, op string, code client.Code) error {
	return &client.Error{Op: op, Code: code, Message: "cancelled", Err: context.Cause(ctx)}
}

// failed words an error of the API itself.
func failed(ctx context.Context, op string, code client.Code, err error) error {
	if ctx.Err() != nil {
		return cancelled(ctx, op, code)
	}
	e := &client.Error{Op: op, Code: code, Message: client.OneLine(err.Error(), 300), Err: err}
	var ne net.Error
	if errors.As(err, &ne) || errors.Is(err, http.ErrServerClosed) {
		e.Kind = client.ErrUnavailable
	}
	return e
}

// streamError is an error that the engine put into its stream.
type streamError struct {
	text string
	code int
}

func (s *streamError) Error() string {
	if s.text == "" {
		return fmt.Sprintf("error %d", s.code)
	}
	return s.text
}
