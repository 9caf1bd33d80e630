// Package sdk is Agent Sandbox as objects: make a sandbox, run commands and code
// in it, move files, reach its ports, kill it. It works over every
// [client.Provider]; docs/client.md sets each call of the Python client beside
// the one here.
//
//	p, err := express.Default()
//	...
//	err = sdk.With(ctx, p, client.CreateSpec{Template: "python-hello", Lifetime: 5 * time.Minute},
//		func(ctx context.Context, sb *sdk.Sandbox) error {
//			out, err := sb.Run(ctx, "python3 --version", sdk.RunOptions{Timeout: 30 * time.Second})
//			...
//		})
//
// # Three timeouts
//
// How long a sandbox lives is CreateSpec.Lifetime. How long one call to the
// provider may take is CreateSpec.RequestTimeout for the create, and the
// provider's own setting otherwise. How long a command may run is
// RunOptions.Timeout. They have nothing to do with each other; a context that
// ends gives up waiting and never kills anything by itself.
//
// # Errors
//
// Every error is a *client.Error with a stable code, and matches one of the
// sentinels of package client where one fits. A command that ran and failed is
// no error: see [Result.Err].
package sdk
