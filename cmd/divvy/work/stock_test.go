package work

import (
	"bytes"
	"testing"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/internal/golden"
)

func TestWriteStock(t *testing.T) {
	five := []string{"CERN", "RAL", "BNL", "TRIUMF", "KIT"}
	all := []wire.ShareStock{
		{Share: "Production/MC", Sets: []wire.QueueSet{{Queues: five, Ready: 1200, ToCome: 90000, Startable: 600, StartsPerMinute: 12.5}, {Queues: []string{}, Ready: 3, Startable: -1}}},
		{Share: "Test", Gaps: []wire.StockGap{{Reason: "share: the queue denies Test", Queues: []string{"CERN"}}, {Reason: "no jobs", Queues: five[1:]}}},
	}
	kinds := []wire.KindQueues{{Share: "Test", Jobs: 3, ToCome: 7, Needs: wire.Requirements{Cores: 8, MemoryMB: 16000, Locality: "preferred", Locations: []string{"EOS"}},
		Queues: []wire.QueueFit{{Queue: "CERN", State: wire.QueueOnline, Runs: true, Pilots: 4}, {Queue: "RAL", State: wire.QueueOnline, Runs: true, Remote: true},
			{Queue: "BNL", State: wire.QueueDrain, Reason: "queue is draining"}}}}
	var b bytes.Buffer
	writeStock(cli.Paper{Writer: &b}, all)
	golden.Equal(t, "../testdata/golden/stock.txt", b.String())
	b.Reset()
	writeKinds(&b, kinds)
	golden.Equal(t, "../testdata/golden/task-queues.txt", b.String())
}
