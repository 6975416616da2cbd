package work

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

// Status is 'divvy status'.
func Status(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "status", Short: "Show how the daemon and its site stand", Args: cli.Takes(),
		RunE: c.WithClient(func(ctx context.Context, cl *client.Client, _ []string) error {
			s, err := cl.Daemon().Status(ctx)
			if err != nil {
				return err
			}
			return c.Print(s, func(w io.Writer) { writeStatus(w, cl.URL(), s, time.Now()) })
		})}
}

func writeStatus(w io.Writer, url string, s wire.Status, now time.Time) {
	g := show.NewFacts(w)
	g.Row("daemon", url)
	ready := show.ColourState("online", g.Colour)
	if !s.Ready {
		ready = show.ColourState("offline", g.Colour) + ": " + s.Reason
	}
	g.Row("state", ready)
	g.Row("build", s.Build)
	g.Row("up", show.Age(now, s.StartedAt))
	version := fmt.Sprint(s.Site)
	if s.Site == 0 {
		version = "none yet: divvy apply -f site.yml"
	}
	g.Row("site version", version)
	for _, p := range s.Pools {
		g.Row("pool "+p.Pool, fmt.Sprintf("%s of %s units held", show.Units(p.Held), show.Capacity(p.Capacity)))
	}
	q := s.Queues
	line := fmt.Sprintf("%d online", q.Online)
	for _, other := range []struct {
		n    int
		word string
	}{{q.Drain, "drain"}, {q.Offline, "offline"}, {q.Test, "test"}} {
		if other.n > 0 {
			line += fmt.Sprintf(", %d %s", other.n, other.word)
		}
	}
	g.Row("queues", line)
	g.Row("jobs", fmt.Sprintf("%d leased, %d ready", s.HeldJobs, s.ReadyJobs))
	g.Row("pulls that wait", s.Waiting)
	g.Flush()
}
