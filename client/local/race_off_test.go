//go:build !race

package local

const raceBuild = false
