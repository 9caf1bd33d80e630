// Package envdpb holds the Connect services of the in-sandbox agent: our own
// .proto files (from e2b-protocol §9 and §10) and the Go code made from them,
// committed side by side. `go generate ./client/envdpb` remakes it; only the Go
// module cache is needed.
package envdpb

//go:generate go -C ../../.ci/tools run ./protogen ../../client/envdpb process/process.proto filesystem/filesystem.proto
