//go:build !unix

package present

import "os"

// signalZero has nothing to ask here: finding the process was the answer.
func signalZero(*os.Process) bool { return true }
