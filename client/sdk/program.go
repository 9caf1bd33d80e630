package sdk

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"

	"abxdash/client"
)

// Program is a local script or static binary that runs once, in a sandbox of its
// own. It is what the `@sandbox` decorator of the Python client is there for.
type Program struct {
	// Path is the local file. A script needs a `#!` line, or Interpreter.
	Path string
	// Interpreter comes before the file's name, e.g. "python3".
	Interpreter []string
	Args        []string
	// Spec describes the sandbox, which is killed in any case.
	Spec client.CreateSpec
	// Run says how it runs; its Timeout of 0 is no limit but the lifetime.
	Run RunOptions
	// Results are files or directories in the sandbox that are fetched when the
	// program has ended, however it ended; relative to the home.
	Results []string
	// ResultsDir is the local directory that they go to; "" is the current one.
	ResultsDir string
	// Transfer says how files move.
	Transfer TransferOptions
	// Keep leaves the sandbox to its lifetime once the program has ended and its
	// results were fetched. One that was called off, or never began, is killed all
	// the same.
	Keep bool
	// Created is told about the sandbox before the program is sent; may be nil.
	Created func(client.Sandbox)
}

// ProgramResult is what a program did.
type ProgramResult struct {
	Result
	// Reports are about each of the Results, in order.
	Reports []Report
	// Sandbox is where it ran. It is gone unless Kept is set.
	Sandbox client.Sandbox
	Kept    bool
}

// programDir is where a program lies in its sandbox, below the home.
const programDir = ".abxdash-program"

// RunProgram makes a sandbox, sends the program, runs it, fetches its results and
// kills the sandbox. A program that fails is no error (see [Result.Err]); a
// result that is missing is, after all others have been fetched.
func RunProgram(ctx context.Context, p client.Provider, prog Program, opts ...Option) (result ProgramResult, err error) {
	const op = "run program"
	fi, err := os.Stat(prog.Path)
	if err != nil {
		return ProgramResult{}, fileError(op, err)
	}
	if !fi.Mode().IsRegular() {
		return ProgramResult{}, client.Usagef(op, "%s is no file", client.OneLine(prog.Path, 80))
	}
	if prog.Run.Timeout == 0 {
		prog.Run.Timeout = -1
	}
	if prog.ResultsDir == "" {
		prog.ResultsDir = "."
	}
	sb, err := Create(ctx, p, prog.Spec, opts...)
	if err != nil {
		return ProgramResult{}, err
	}
	out := ProgramResult{Sandbox: sb.Info()}
	defer func() {
		if out.Kept {
			_ = sb.Close()
			return
		}
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), killPatience)
		defer cancel()
		err = errors.Join(err, sb.Kill(own))
	}()
	if prog.Created != nil {
		prog.Created(out.Sandbox)
	}
	if out.Result, err = runIn(ctx, sb, prog); err != nil && !out.Exit.TimedOut {
		return out, err
	}
	err = errors.Join(err, fetch(ctx, sb, prog, &out))
	out.Kept = prog.Keep && ctx.Err() == nil
	return out, err
}

// runIn sends the program and runs it.
func runIn(ctx context.Context, sb *Sandbox, prog Program) (Result, error) {
	file := path.Join(programDir, filepath.Base(prog.Path))
	if _, err := sb.Files().Upload(ctx, prog.Path, file, prog.Transfer); err != nil {
		return Result{}, err
	}
	argv := append(append([]string{}, prog.Interpreter...), "./"+file)
	if len(prog.Interpreter) == 0 {
		made, err := sb.RunArgs(ctx, []string{"chmod", "0755", "./" + file}, RunOptions{})
		if err == nil {
			err = made.Err()
		}
		if err != nil {
			return Result{}, err
		}
	}
	return sb.RunArgs(ctx, append(argv, prog.Args...), prog.Run)
}

// fetch gets the results; one that is missing does not hide the others.
func fetch(ctx context.Context, sb *Sandbox, prog Program, out *ProgramResult) error {
	if len(prog.Results) > 0 {
		if err := os.MkdirAll(prog.ResultsDir, 0o755); err != nil {
			return fileError("fetch results", err)
		}
	}
	var errs []error
	for _, remote := range prog.Results {
		report, err := sb.Files().Download(ctx, remote, prog.ResultsDir, prog.Transfer)
		out.Reports = append(out.Reports, report)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
