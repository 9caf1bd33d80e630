package cli

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"abxdash/client"
	"abxdash/ui/record"
	"abxdash/views/present"
)

func (c *cli) recordCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "record", Short: "Play and list recordings of shells",
		Long: `record plays and lists recordings of shells (asciicast v2). In a shell of the
dashboard the leader and r makes one, and "attach --record FILE" another.`,
	}
	rate := 1.0
	play := &cobra.Command{
		Use: "play FILE", Short: "Play a recording on this terminal",
		Long: `play shows a recording. Keys: space pauses, + and - change the speed, left and
right jump, / n N search, q leaves.`,
		Args: argCount(1, 1, "play needs a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if math.IsNaN(rate) || rate < 0.125 || rate > 64 {
				return client.Usagef("play recording", "--speed is from 0.125 to 64")
			}
			return c.dashboard(cmd.Context(), func(ctx context.Context, f Flags) error { return c.Play(ctx, f, args[0], rate) })
		},
	}
	play.Flags().Float64Var(&rate, "speed", rate, "how fast to play: 2 is twice as fast")
	ls := &cobra.Command{
		Use: "ls", Short: "List the recordings of the dashboard", Args: argCount(0, 0, "record ls takes no arguments"),
		RunE: func(*cobra.Command, []string) error { return c.recordings() },
	}
	cmd.AddCommand(play, ls)
	return cmd
}

// recordingRow is a recording as `record ls --json` prints it.
type recordingRow struct {
	Path    string    `json:"path"`
	Size    int64     `json:"size"`
	EndedAt time.Time `json:"ended_at"`
}

func (c *cli) recordings() error {
	found, err := record.List(c.Recordings)
	if err != nil {
		return err
	}
	rows := make([]recordingRow, 0, len(found))
	for _, f := range found {
		rows = append(rows, recordingRow{Path: f.Path, Size: f.Size, EndedAt: f.At.UTC()})
	}
	if c.flags.JSON {
		return c.printJSON(rows)
	}
	for _, r := range rows {
		if _, err := fmt.Fprintf(c.Out, "%s\t%s\t%s\n", r.EndedAt.Local().Format(time.DateTime), present.Size(r.Size), present.Clean(r.Path)); err != nil {
			return err
		}
	}
	return nil
}
