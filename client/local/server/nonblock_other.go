//go:build !unix

package server

const nonBlocking = 0
