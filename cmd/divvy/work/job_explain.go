package work

import (
	"context"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

func jobExplainCommand(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "explain JOB", Aliases: []string{"why"}, Short: "Explain why a job waits, or why it was given its slot",
		Args: cli.Takes("JOB, the id of a job; 'divvy job list' has them"), Example: "  divvy job explain 12",
		Long: `Explain why a job waits, or why it was given its slot.

Of a job that waits: how its share stands at every level, the first gate that it does not pass at each
queue, how many jobs of its share come before it, and when it is likely to start. Queues that could
never run it are counted only; -o wide lists them. Of a job that runs or has ended: the decision that started it.`,
		RunE: cli.ByID(c, "job", explainJob, writeExplanation)}
}

func explainJob(ctx context.Context, cl *client.Client, id int64) (wire.Explanation, error) {
	e, err := cl.Jobs().Explain(ctx, id)
	if client.IsCode(err, "no_job") {
		err = fail.Hintf(err, "'divvy job list' has those that there are.")
	}
	return e, err
}

func writeExplanation(w cli.Paper, e wire.Explanation) {
	fmt.Fprintf(w, "%s\n\n", e.Summary)
	g := show.NewFacts(w)
	g.Row("job", fmt.Sprint(e.Job))
	g.Row("task", e.Task)
	g.Row("share", e.Share)
	g.Row("state", g.State(e.State))
	if e.Waits != nil {
		g.Row("waits for", e.Waits.Reason)
	}
	writeTurn(w, g, e)
}

// writeTurn writes when its turn comes, below facts that have begun, and what is in the way.
func writeTurn(w cli.Paper, g *show.Grid, e wire.Explanation) {
	if p := e.Position; p != nil {
		g.Row("position", fmt.Sprintf("%s%d %s of its share come before it, of %d", show.Pick(p.More, "more than ", ""), p.Before, show.Pick(e.Job == 0, "jobs", "ready jobs"), max(p.Ready, p.Before+1)))
	}
	if e.ETA != nil {
		g.Row("eta", eta(*e.ETA))
		g.Row("", e.ETA.How)
	}
	g.Flush()
	for _, p := range e.Pools {
		writePath(w, p)
	}
	if len(e.Claims) > 0 {
		writeClaimsOf(w, e.Claims, e.At)
	}
	if len(e.Queues) > 0 {
		writeGates(w, e.Queues)
	}
	if e.Decision != nil && e.Decision.Attempt > 0 {
		writeDecision(w, *e.Decision)
	}
}

func eta(t wire.ETA) string {
	if !t.Known {
		return "unknown"
	}
	return show.Pick(t.AtLeast, "more than ", "") + inSeconds(t.Seconds)
}

// inSeconds prints a time in whole seconds, the last one begun: as the sum beside it, and as shares show.
func inSeconds(s float64) string {
	return time.Duration(math.Ceil(s) * float64(time.Second)).String()
}

func writePath(w io.Writer, p wire.PathStanding) {
	fmt.Fprintf(w, "\npool %s  capacity %s  held %s  shared out %s\n", p.Pool, show.Capacity(p.Capacity), show.Units(p.Held), show.Units(p.Round))
	g := show.New(w, "level", ">weight", ">product", ">target", ">held", ">deficit", ">ready", ">rank")
	for _, l := range p.Levels {
		g.Row(l.Share, show.Units(l.Weight), strconv.FormatFloat(l.Product, 'f', 4, 64), show.Units(l.Target), show.Units(l.Held), show.Units(l.Deficit), l.Ready,
			fmt.Sprintf("%d of %d", l.Rank, l.Of))
	}
	g.Flush()
	if p.AtTarget != nil && *p.AtTarget > 0 {
		fmt.Fprintf(w, "at its target in about %s, if nothing is reclaimed\n", inSeconds(*p.AtTarget))
	}
}

// writeClaimsOf lists the claims of a job.
func writeClaimsOf(w io.Writer, claims []wire.ClaimStanding, now time.Time) {
	fmt.Fprintln(w)
	g := show.New(w, ">claim", "key", "state", "queue", "node", ">sharers", ">bound", "takes")
	for _, claim := range claims {
		g.Row(claim.ID, claim.Key, g.State(claim.State), show.OrDash(claim.Queue), show.OrDash(claim.Node), sharers(claim), show.Since(now, claim.BoundAt), takesOf(claim))
	}
	g.Flush()
}

// writeGates lists the queues that the job may come to run at, or, with wide, all.
func writeGates(w cli.Paper, queues []wire.QueueGate) {
	fmt.Fprintln(w)
	g := show.New(w, "queue", "gate", ">pilots", "reason")
	left := 0
	for _, q := range queues {
		if q.Gate == "structural" && !w.Wide && len(queues) > 10 {
			left++
			continue
		}
		g.Row(q.Queue, q.Gate, q.Pilots, q.Reason)
	}
	g.Flush()
	if left > 0 {
		fmt.Fprintf(w, "%d more queues cannot run it: -o wide lists them\n", left)
	}
}

func writeDecision(w io.Writer, d wire.Decision) {
	fmt.Fprintln(w)
	g := show.NewFacts(w)
	g.Row("attempt", fmt.Sprint(d.Attempt))
	g.Row("slot", fmt.Sprintf("queue %s, pilot %s, node %s", d.Queue, d.Pilot, show.OrDash(d.Node)))
	g.Row("ready", d.ReadyAt.UTC().Format(time.DateTime))
	g.Row("claimed", fmt.Sprintf("%s, after %s", d.ClaimedAt.UTC().Format(time.DateTime), time.Duration(d.WaitedS*float64(time.Second)).Round(time.Millisecond)))
	g.Row("site version", d.Version)
	if d.Record == nil {
		g.Row("decision", d.Note)
		g.Flush()
		return
	}
	r := d.Record
	g.Row("runner-up", show.Pick(r.RunnerUp == "", "no other share had a job for the slot", r.RunnerUp))
	g.Row("candidates", fmt.Sprintf("%d shares; skipped: %d without a job that fits, %d kept back by a limit", r.Candidates, r.Unfit, r.Barred))
	if len(r.Skipped) > 0 {
		g.Row("skipped first", skippedShares(r.Skipped))
	}
	g.Row("shared out", show.Units(r.Round))
	g.Row("log", fmt.Sprintf("daemon %d, batch %d", r.Daemon, r.Seq))
	g.Flush()
	fmt.Fprintln(w)
	t := show.New(w, "level", ">deficit", "runner-up", ">deficit")
	for _, l := range d.Levels {
		second := show.OrDash(l.RunnerUp)
		if l.RunnerUp == l.Share {
			second = "the same"
		}
		t.Row(l.Share, deficit(l.Deficit), second, deficit(l.RunnerUpDeficit))
	}
	t.Flush()
}

// skippedShares prints who stood before the winner.
func skippedShares(list []wire.Skipped) string {
	var all []string
	for _, s := range list {
		all = append(all, s.Share+" ("+s.Reason+")")
	}
	return strings.Join(all, ", ")
}

// deficit prints a deficit, where there is one.
func deficit(f *float64) string {
	if f == nil {
		return "-"
	}
	return strconv.FormatFloat(*f, 'f', 2, 64)
}
