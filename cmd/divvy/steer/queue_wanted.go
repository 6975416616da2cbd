package steer

import (
	"fmt"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

func writeWanted(w cli.Paper, q wire.QueueWanted) {
	fmt.Fprintf(w, "%s\n\n", q.Reason)
	terms := show.New(w, ">pilots", "what")
	for _, t := range q.Terms {
		terms.Row(fmt.Sprintf("%+.3f", t.Pilots), t.What)
	}
	terms.Row(fmt.Sprintf("%d", q.Wanted), fmt.Sprintf("wanted; %d are alive", q.Alive))
	terms.Flush()
	if len(q.For) > 0 {
		fmt.Fprintln(w)
		shares := show.New(w, "share", ">ready and to come")
		for _, s := range q.For {
			shares.Row(s.Share, s.Jobs)
		}
		shares.Flush()
	}
}
