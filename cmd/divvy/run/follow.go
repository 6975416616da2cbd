package run

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/cmd/divvy/work"
)

// Exit codes of a command that a signal ended.
const (
	exitInterrupt = 130
	exitQuit      = 131
	exitTerminate = 143
)

// Pauses of a follower.
const (
	lookFirst  = 100 * time.Millisecond // between two looks, and longer and longer
	lookMost   = time.Second
	listEase   = 10               // listing jobs takes at most this part of the time
	quietFor   = 2 * time.Second  // after so long without a running job the reason is asked for,
	reasonEach = 10 * time.Second // and then every so often
	twice      = time.Second      // within which a second Ctrl-C kills
)

// follower follows one task.
type follower struct {
	*way
	cl      *client.Client
	task    wire.Task
	out     *printer
	outputs *outputs

	away    bool      // no daemon answered the last question
	idle    time.Time // since when no job of the task runs
	reason  string    // that was said last
	asked   time.Time // when it was
	pressed time.Time // the last Ctrl-C
}

func newFollower(c *cli.CLI, cl *client.Client, t wire.Task, h *way) *follower {
	f := &follower{way: h, cl: cl, task: t, idle: time.Now(), out: newPrinter(c, h.quiet)}
	f.outputs = &outputs{cl: cl, out: f.out, many: t.Pieces > 1 || h.Array != "", number: h.number, seen: map[int64]bool{}, slots: make(chan struct{}, mostFollowed)}
	return f
}

// follow ends when the task has ended, or a signal has killed it.
func (f *follower) follow(ctx context.Context, signals <-chan os.Signal) error {
	f.out.say("task %d: %s in share %s", f.task.ID, show.Plural(f.task.Pieces, "job"), cmp.Or(f.task.Share, "-"))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pause := lookFirst
	for {
		if err := f.look(ctx); err != nil {
			return err
		}
		if f.task.EndedAt != nil {
			f.outputs.wait(ctx, f.task)
			f.out.clear()
			return f.ended(ctx)
		}
		select {
		case s := <-signals:
			if code, killed, err := f.signalled(ctx, s); killed || err != nil {
				f.out.clear()
				return cmp.Or(err, error(fail.Code(code)))
			}
		case <-time.After(pause):
			pause = min(pause*3/2, lookMost)
		}
	}
}

// look asks how far the task is. A daemon that is away is asked again.
func (f *follower) look(ctx context.Context) error {
	t, err := f.cl.Tasks().Get(ctx, f.task.ID)
	switch {
	case client.IsUnavailable(err):
		if !f.away {
			f.out.say("the daemon is away; it is asked again: %v", err)
		}
		f.away = true
		return nil
	case err != nil:
		return err
	}
	f.away, f.task = false, t
	f.outputs.see(ctx, t)
	f.out.progress(work.TaskLine(t, time.Now()))
	if t.Jobs.Leased > 0 || t.EndedAt != nil {
		f.idle = time.Time{}
		return nil
	}
	if f.idle.IsZero() {
		f.idle = time.Now()
	}
	f.why(ctx)
	return nil
}

// why says what the task waits for, when nothing of it runs.
func (f *follower) why(ctx context.Context) {
	now := time.Now()
	if now.Sub(f.idle) < quietFor || now.Sub(f.asked) < reasonEach {
		return
	}
	f.asked = now
	e, err := f.cl.Tasks().Explain(ctx, f.task.ID)
	if err == nil && e.Leased == 0 && e.Summary != f.reason {
		f.reason = e.Summary
		f.out.say("task %d waits: %s", f.task.ID, e.Summary)
	}
}

// signalled answers a signal: Ctrl-C says how far the task is, a second one kills it, as SIGTERM does.
func (f *follower) signalled(ctx context.Context, s os.Signal) (code int, killed bool, err error) {
	switch {
	case s == syscall.SIGTERM:
		code = exitTerminate
	case s == syscall.SIGQUIT && !f.local:
		f.out.always("task %d goes on. Follow it with: divvy watch task %d", f.task.ID, f.task.ID)
		return exitQuit, true, nil
	case s == syscall.SIGINT && time.Since(f.pressed) > twice:
		f.pressed = time.Now()
		f.out.always("%s", work.TaskLine(f.task, time.Now()))
		f.out.always("Ctrl-C again within a second kills it; %s", show.Pick(f.local, "the private server ends with this command", "Ctrl-\\ leaves it alone"))
		return 0, false, nil
	default:
		code = exitInterrupt
	}
	if !f.local { // there it ends with the server
		if _, err := f.cl.Tasks().Kill(ctx, f.task.ID); err != nil {
			return code, false, fmt.Errorf("kill task %d: %w", f.task.ID, err)
		}
	}
	f.out.always("task %d is killed", f.task.ID)
	return code, true, nil
}

// mostFailures bounds the failed jobs that are named.
const mostFailures = 10

// ended says which jobs failed, and returns the exit code of the first of them.
func (f *follower) ended(ctx context.Context) error {
	t := f.task
	if t.State == "done" {
		return nil
	}
	failed, err := f.failures(ctx)
	if err != nil {
		return err
	}
	if len(failed) == 0 {
		f.out.always("task %d is %s%s", t.ID, t.State, because(t.Reason))
		return fail.Code(fail.Failed)
	}
	code := fail.Failed
	for i, row := range failed[:min(len(failed), mostFailures)] {
		j, err := f.cl.Jobs().Get(ctx, row.ID)
		if err != nil {
			return err
		}
		exit, why := endOf(j)
		if i == 0 {
			code = exit
		}
		f.out.always("%s %s%s", f.outputs.name(j), j.State, because(why))
	}
	if n := len(failed) - mostFailures; n > 0 {
		f.out.always("and %d more: divvy job list --task %d --state failed", n, t.ID)
	}
	return fail.Code(code)
}

// failures are the jobs that did not finish, that which ended first first.
func (f *follower) failures(ctx context.Context) (list []wire.JobRow, err error) {
	for _, state := range []string{"failed", "cancelled"} {
		for j, err := range f.cl.Jobs().All(ctx, client.JobFilter{Task: f.task.ID, State: state}) {
			if err != nil {
				return nil, err
			}
			list = append(list, j)
		}
	}
	end := func(j wire.JobRow) int64 {
		if j.EndedAt == nil {
			return 1 << 62
		}
		return j.EndedAt.UnixNano()
	}
	slices.SortStableFunc(list, func(a, b wire.JobRow) int { return cmp.Or(cmp.Compare(end(a), end(b)), cmp.Compare(a.ID, b.ID)) })
	return list, nil
}

// endOf is the exit code of the last attempt, and why it ended so.
func endOf(j wire.JobRow) (code int, why string) {
	code, why = fail.Failed, j.Reason
	if n := len(j.Attempts); n > 0 {
		last := j.Attempts[n-1]
		why = cmp.Or(last.Message, why)
		if last.ExitCode != nil && *last.ExitCode != 0 {
			code = *last.ExitCode
		}
	}
	return code, why
}

func because(why string) string {
	if why = strings.TrimSpace(why); why == "" {
		return ""
	}
	return ": " + why
}
