package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"abxdash/client"
)

// printJSON prints one document.
func (c *cli) printJSON(v any) error {
	enc := json.NewEncoder(c.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// printTable prints rows in columns of equal width; cells must be clean.
func printTable(w io.Writer, right []bool, rows [][]string) error {
	width := make([]int, len(right))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], ansi.StringWidth(cell))
		}
	}
	out := bufio.NewWriter(w)
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", width[i]-ansi.StringWidth(cell))
			if right[i] {
				cell = pad + cell
			} else {
				cell += pad
			}
			line.WriteString(cell)
		}
		fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
	}
	return out.Flush()
}

// ask puts a question on the terminal and returns the answer. Without a
// terminal it is a usage error that names --yes.
func (c *cli) ask(ctx context.Context, op, question string) (string, error) {
	if !c.IsTerminal(c.In) || !c.IsTerminal(c.Err) {
		e := client.Usagef(op, "there is no terminal to ask on")
		e.Hint = "give --yes if you are sure"
		return "", e
	}
	fmt.Fprint(c.Err, question)
	type reply struct {
		text string
		err  error
	}
	ch := make(chan reply, 1)
	go func() {
		text, err := readLine(c.In)
		ch <- reply{text, err}
	}()
	select {
	case r := <-ch:
		if r.err != nil {
			fmt.Fprintln(c.Err)
		}
		return strings.TrimSpace(r.text), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readLine reads up to a line end, one byte at a time so that nothing behind it is taken.
func readLine(r io.Reader) (string, error) {
	var line []byte
	one := make([]byte, 1)
	for {
		n, err := r.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return string(line), nil
		case n == 1:
			line = append(line, one[0])
		case err != nil:
			return string(line), err
		}
	}
}

// confirm asks yes or no; --yes is yes.
func (c *cli) confirm(ctx context.Context, op, question string) error {
	if c.flags.Yes {
		return nil
	}
	answer, err := c.ask(ctx, op, question+" [y/N] ")
	if err != nil {
		return err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return nil
	}
	return c.notDone()
}

// notDone ends a command that was not confirmed.
func (c *cli) notDone() error {
	c.say("nothing was done")
	return &exitError{code: ExitError}
}

// pairs reads KEY=VALUE arguments of a flag.
func pairs(flag string, list []string) (map[string]string, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make(map[string]string, len(list))
	for _, kv := range list {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" || strings.ContainsRune(kv, 0) {
			return nil, client.Usagef("read the flags", "--%s wants KEY=VALUE", flag)
		}
		out[k] = v
	}
	return out, nil
}
