//go:build unix

package sdk_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"abxdash/client"
	"abxdash/client/agentserver"
	"abxdash/client/engine"
	"abxdash/client/express"
	"abxdash/client/express/expresstest"
	"abxdash/client/sdk"
)

// fakeExpress stands for `express.Default()` here: a provider of a server that
// the example starts itself.
func fakeExpress() (*express.Provider, func()) {
	s, end := expresstest.Open(expresstest.Switches{Generation: 2})
	hc, err := engine.NewHTTPClient(engine.Net{DialContext: s.Dial})
	if err != nil {
		log.Fatal(err)
	}
	p, err := express.New(express.Config{
		APIKey: expresstest.Key, APIURL: "http://api." + expresstest.Domain, AllowHTTP: true, HTTPClient: hc, Generation: 2,
	})
	if err != nil {
		log.Fatal(err)
	}
	return p, func() {
		p.Close()
		end()
	}
}

// The example of the Agent Sandbox skill: create, a shell command, a named
// command, kill.
func Example() {
	p, end := fakeExpress() // p, err := express.Default()
	defer end()
	spec := client.CreateSpec{Template: "python-hello", Lifetime: 300 * time.Second}
	err := sdk.With(context.Background(), p, spec, func(ctx context.Context, sb *sdk.Sandbox) error {
		result, err := sb.Run(ctx, "echo Python 3.12", sdk.RunOptions{Timeout: 30 * time.Second})
		if err != nil {
			return err
		}
		fmt.Print(result.Stdout)
		hello, err := sb.RunNamed(ctx, "hello", map[string]any{"name": "Ada"})
		if err != nil {
			return err
		}
		fmt.Println(hello)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// Python 3.12
	// Hello, Ada!
}

// A command's output as it comes, its input, and its exit.
func ExampleSandbox_Start() {
	p, end := fakeExpress()
	defer end()
	err := sdk.With(context.Background(), p, client.CreateSpec{}, func(ctx context.Context, sb *sdk.Sandbox) error {
		cmd, err := sb.Start(ctx, `sh -c 'while read line; do echo "<$line>"; done; exit 3'`, sdk.RunOptions{Stdin: strings.NewReader("a\nb\n")})
		if err != nil {
			return err
		}
		defer func() { _ = cmd.Close() }()
		if _, err := io.Copy(os.Stdout, cmd); err != nil {
			return err
		}
		fmt.Println(cmd.Exit())
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// <a>
	// <b>
	// exit 3
}

// A failed command is no error of the call.
func ExampleResult_Err() {
	p, end := fakeExpress()
	defer end()
	err := sdk.With(context.Background(), p, client.CreateSpec{}, func(ctx context.Context, sb *sdk.Sandbox) error {
		result, err := sb.Run(ctx, "false", sdk.RunOptions{})
		fmt.Println(err)
		fmt.Println(result.Err(), client.CodeOf(result.Err()))
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// <nil>
	// run command: exit 1 E3002
}

// Code in the interpreter of the sandbox.
func ExampleSandbox_RunCode() {
	p, end := fakeExpress()
	defer end()
	err := sdk.With(context.Background(), p, client.CreateSpec{Template: "code-interpreter-v1"}, func(ctx context.Context, sb *sdk.Sandbox) error {
		x, err := sb.RunCode(ctx, `print("x"); 1+1`, sdk.CodeOptions{})
		fmt.Printf("%q %q\n", x.Stdout, x.Text())
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// "x\n" "2"
}

// A folder goes up and comes back.
func ExampleFiles_Upload() {
	p, end := fakeExpress()
	defer end()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	err = sdk.With(context.Background(), p, client.CreateSpec{}, func(ctx context.Context, sb *sdk.Sandbox) error {
		up, err := sb.Files().Upload(ctx, dir, "project", sdk.TransferOptions{})
		if err != nil {
			return err
		}
		text, err := sb.Files().Read(ctx, "project/a.txt")
		fmt.Print(up.Files, " file, ", text)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1 file, hello
}

// A local script runs in a sandbox of its own.
func ExampleRunProgram() {
	p, end := fakeExpress()
	defer end()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	script := filepath.Join(dir, "job.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho working for $1\necho 42 > answer\n"), 0o600); err != nil {
		log.Fatal(err)
	}
	r, err := sdk.RunProgram(context.Background(), p, sdk.Program{
		Path: script, Args: []string{"Ada"}, Results: []string{"answer"}, ResultsDir: dir,
	})
	if err != nil {
		log.Fatal(err)
	}
	answer, err := os.ReadFile(filepath.Join(dir, "answer"))
	fmt.Print(r.Stdout, string(answer))
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// working for Ada
	// 42
}

// An agent session on port 9000, its events as they come.
func ExampleSandbox_Server() {
	p, end := fakeExpress()
	defer end()
	err := sdk.With(context.Background(), p, client.CreateSpec{}, func(ctx context.Context, sb *sdk.Sandbox) error {
		server, err := sb.Server()
		if err != nil {
			return err
		}
		session, err := server.CreateSession(ctx, agentserver.AgentSpec{Model: "m"})
		if err != nil {
			return err
		}
		for event, err := range server.Send(ctx, session.ID, "hi") {
			if err != nil {
				return err
			}
			fmt.Print(event.Delta)
		}
		fmt.Println()
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// You said hi
}

// All sandboxes of an owner, page by page.
func ExampleSandboxes() {
	p, end := fakeExpress()
	defer end()
	ctx := context.Background()
	for range 3 {
		if _, err := sdk.Create(ctx, p, client.CreateSpec{Metadata: map[string]string{"owner": "ada"}}); err != nil {
			log.Fatal(err)
		}
	}
	n := 0
	for sb, err := range sdk.Sandboxes(ctx, p, client.Query{Metadata: map[string]string{"owner": "ada"}, Limit: 1}) {
		if err != nil {
			log.Fatal(err)
		}
		if err := sdk.KillByID(ctx, p, sb.ID); err != nil {
			log.Fatal(err)
		}
		n++
	}
	fmt.Println(n, "killed")
	// Output:
	// 3 killed
}
