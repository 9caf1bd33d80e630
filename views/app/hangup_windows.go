package app

import "os"

// watchHangup does nothing: the system ends programs with their console.
func watchHangup(*os.File, func()) (stop func()) { return func() {} }
