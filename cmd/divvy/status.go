package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
)

func statusCommand(c *cli) *cobra.Command {
	return &cobra.Command{Use: "status", Short: "Show how the daemon and its site stand", Args: takes(),
		RunE: c.withClient(func(ctx context.Context, cl *client.Client, _ []string) error {
			s, err := cl.Status(ctx)
			if err != nil {
				return err
			}
			return c.print(s, func(w io.Writer) { writeStatus(w, cl.URL(), s, time.Now()) })
		})}
}

func writeStatus(w io.Writer, url string, s client.Status, now time.Time) {
	g := newFacts(w)
	g.row("daemon", url)
	ready := colourState("online", g.colour)
	if !s.Ready {
		ready = colourState("offline", g.colour) + ": " + s.Reason
	}
	g.row("state", ready)
	g.row("build", s.Build)
	g.row("up", age(now, s.StartedAt))
	version := fmt.Sprint(s.Site)
	if s.Site == 0 {
		version = "none yet: divvy apply -f site.yml"
	}
	g.row("site version", version)
	for _, p := range s.Pools {
		g.row("pool "+p.Pool, fmt.Sprintf("%s of %s units held", units(p.Held), capacity(p.Capacity)))
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
	g.row("queues", line)
	g.row("jobs", fmt.Sprintf("%d leased, %d ready", s.HeldJobs, s.ReadyJobs))
	g.row("pulls that wait", s.Waiting)
	g.flush()
}
