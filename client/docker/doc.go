// Package docker builds and pushes images with a Docker engine, over its API.
// It needs no docker program. Errors of a build or a push come inside a stream
// that was answered with 200; a stream that ends without a result is an error
// too.
package docker
