package work

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/internal/loops"
)

// Exit codes of 'divvy watch task', by the state in which the task ended; 0 is done.
var watchExits = map[string]int{"done": fail.OK, "finished": 3, "failed": 4, "aborted": 5}

// ExitTimeout is the exit code when --timeout is over before the task.
const ExitTimeout = 6

// Watch is the command 'divvy watch'.
func Watch(c *cli.CLI) *cobra.Command {
	group := &cobra.Command{Use: "watch", Short: "Follow a task until it is over", Example: "  divvy watch task 7"}
	var every, timeout time.Duration
	var run string
	cmd := &cobra.Command{
		Use:   "task TASK",
		Short: "Follow a task until it is over; the exit code says how",
		Long: `Follow a task until it is over. On a terminal there is one line that changes, else a line whenever something has changed.

Exit codes: 0 done: all pieces finished; 3 finished: some failed; 4 failed; 5 aborted; 6 --timeout was over before the task; 1 and 2
as of every command. A daemon that is away is asked again until it is back.

--exec runs a command of the shell whenever the state is another, the first included: with DIVVY_EVENT (task.running, task.failed …), DIVVY_TASK
and DIVVY_STATE in its environment, and the task as JSON on its standard input. It is waited for; how it ends changes nothing.`,
		Example: "  divvy watch task 7\n  divvy watch task 7 --timeout 2h && echo all done\n  divvy watch task 7 --exec 'notify-send \"$DIVVY_EVENT\"'",
		Args:    cli.Takes("TASK, the id of a task"),
	}
	cmd.Flags().DurationVar(&every, "every", time.Second, "how often to look, 100ms or more")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after so long, with exit code 6; 0 = never")
	cmd.Flags().StringVar(&run, "exec", "", "command to run whenever the state is another, such as 'notify-send \"$DIVVY_EVENT\"'")
	cmd.RunE = c.WithClient(func(ctx context.Context, cl *client.Client, args []string) error {
		id, err := cli.ParseID("task", args[0])
		switch {
		case err != nil:
			return err
		case every < 100*time.Millisecond:
			return fail.Usagef("--every %s: expected 100ms or more, such as 1s", every)
		case timeout < 0:
			return fail.Usagef("--timeout %s: expected a time such as 2h, or 0", timeout)
		}
		if timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, timeout, errTimeout)
			defer cancel()
		}
		return watchTask(ctx, c, cl, id, every, run)
	})
	group.AddCommand(cmd)
	return group
}

var errTimeout = errors.New("--timeout is over")

func watchTask(ctx context.Context, c *cli.CLI, cl *client.Client, id int64, every time.Duration, run string) error {
	width, live := show.Terminal(c.Out)
	live = live && !c.Structured()
	last, away, state := "", false, ""
	for {
		t, err := cl.Tasks().Get(ctx, id)
		switch {
		case ctx.Err() != nil:
			return watchCut(ctx, c, id, live)
		case client.IsUnavailable(err) && last != "":
			if !away {
				fmt.Fprintf(c.Err, "divvy: the daemon is away; it is asked again: %v\n", err)
			}
			away = true
		case err != nil:
			return err
		default:
			away = false
			if line := TaskLine(t, time.Now()); line != last && !c.Structured() {
				WriteLine(c.Out, line, width, live)
				last = line
			}
			last = show.Pick(last == "", "seen", last)
			if run != "" && t.State != state {
				watchRun(ctx, c, t, run)
			}
			state = t.State
			if t.EndedAt != nil {
				return watchEnd(c, t, live)
			}
		}
		if !loops.Pause(ctx, every) {
			return watchCut(ctx, c, id, live)
		}
	}
}

// watchRun runs a command for the state of a task. What it says goes to standard error.
func watchRun(ctx context.Context, c *cli.CLI, t wire.Task, command string) {
	body, err := json.Marshal(t)
	if err == nil {
		cmd := exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // G204: the user says which
		cmd.Env = append(os.Environ(), "DIVVY_EVENT=task."+t.State, "DIVVY_STATE="+t.State, fmt.Sprintf("DIVVY_TASK=%d", t.ID))
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(body), c.Err, c.Err
		err = cmd.Run()
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(c.Err, "divvy: --exec for task.%s: %v\n", t.State, err)
	}
}

// watchEnd prints the whole task for programs, and returns the exit code of its state.
func watchEnd(c *cli.CLI, t wire.Task, live bool) error {
	if live {
		fmt.Fprintln(c.Out)
	}
	if err := c.Print(t, func(io.Writer) {}); err != nil {
		return err
	}
	if code, known := watchExits[t.State]; !known || code != fail.OK {
		return fail.Code(show.Pick(known, code, fail.Failed))
	}
	return nil
}

// watchCut ends a watch before its task has ended.
func watchCut(ctx context.Context, c *cli.CLI, id int64, live bool) error {
	if live {
		fmt.Fprintln(c.Out)
	}
	if errors.Is(context.Cause(ctx), errTimeout) {
		fmt.Fprintf(c.Err, "divvy: --timeout is over before task %d\n", id)
		return fail.Code(ExitTimeout)
	}
	return ctx.Err()
}

// WriteLine overwrites the previous line on a terminal; elsewhere it adds a line.
func WriteLine(w io.Writer, line string, width int, live bool) {
	if !live {
		fmt.Fprintln(w, line)
		return
	}
	if r := []rune(line); len(r) > width-1 {
		line = string(r[:max(width-2, 0)]) + "…"
	}
	fmt.Fprint(w, "\r\x1b[K"+line)
}

// TaskLine says in one line how far a task is.
func TaskLine(t wire.Task, now time.Time) string {
	j := t.Jobs
	over := j.Finished + j.Failed + j.Cancelled
	line := fmt.Sprintf("task %d %s", t.ID, t.State)
	if j.Total > 0 {
		line += fmt.Sprintf(" [%s] %d of %d jobs over", strings.ReplaceAll(show.Bar(float64(over), 0, float64(j.Total), 20), " ", "·"), over, j.Total)
	}
	for _, part := range []struct {
		n    int64
		word string
	}{{j.Leased, "leased"}, {j.Ready, "ready"}, {j.Waiting, "waiting"}, {j.Failed, "failed"}, {j.Cancelled, "cancelled"}} {
		if part.n > 0 {
			line += fmt.Sprintf(", %d %s", part.n, part.word)
		}
	}
	if t.EndedAt == nil && t.Deadline != nil && t.Deadline.ETA != nil {
		line += ", over in " + show.Seconds(max(int64(t.Deadline.ETA.Sub(now).Seconds()), 0))
	}
	if t.Reason != "" {
		line += ": " + t.Reason
	}
	return line
}
