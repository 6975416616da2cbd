package work

import (
	"bytes"
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/golden"
	"github.com/divvyhq/divvy/shares"
)

func TestWriteStock(t *testing.T) {
	five := []string{"CERN", "RAL", "BNL", "TRIUMF", "KIT"}
	all := []dispatcher.ShareStock{
		{Share: "Production/MC", Sets: []dispatcher.QueueSet{{Queues: five, Ready: 1200, ToCome: 90000, Startable: 600, StartsPerMinute: 12.5}, {Queues: []string{}, Ready: 3, Startable: -1}}},
		{Share: "Test", Gaps: []dispatcher.StockGap{{Reason: "share: the queue denies Test", Queues: []string{"CERN"}}, {Reason: "no jobs", Queues: five[1:]}}},
	}
	kinds := []dispatcher.KindQueues{{Share: "Test", Jobs: 3, ToCome: 7, Needs: job.Requirements{Cores: 8, MemoryMB: 16000, Locality: "preferred", Locations: []string{"EOS"}},
		Queues: []dispatcher.QueueFit{{Queue: "CERN", State: shares.Online, Runs: true, Pilots: 4}, {Queue: "RAL", State: shares.Online, Runs: true, Remote: true},
			{Queue: "BNL", State: shares.Drain, Reason: "queue is draining"}}}}
	var b bytes.Buffer
	writeStock(cli.Paper{Writer: &b}, all)
	golden.Equal(t, "../testdata/golden/stock.txt", b.String())
	b.Reset()
	writeKinds(&b, kinds)
	golden.Equal(t, "../testdata/golden/task-queues.txt", b.String())
}
