package api

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"testing"

	"github.com/divvyhq/divvy/dispatcher"
)

// What the connection of a pull that waits costs in memory, with all that serves it; both of its ends are in this process,
// so that file limits allow a few thousand: go test ./api -run '^$' -bench WaitingPulls -benchtime 1x.
func BenchmarkWaitingPulls(b *testing.B) {
	const n = 4000
	memory := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	for b.Loop() {
		fake := &fakeDispatcher{pull: func(ctx context.Context, _ dispatcher.PullRequest) (dispatcher.PullReply, error) {
			<-ctx.Done()
			return dispatcher.PullReply{}, ctx.Err()
		}}
		s := newServer(Config{Dispatcher: quiet{fake}, Tasks: &fakeTasks{}, Site: &fakeSite{}})
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		server := NewServer(s.routes(), slog.New(slog.DiscardHandler))
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		before := memory()
		conns := make([]net.Conn, n)
		for i := range conns {
			if conns[i], err = net.Dial("tcp", l.Addr().String()); err != nil {
				b.Fatal(err)
			}
			body := fmt.Sprintf(`{"queue":"CERN","pilot":"pilot-%d","slot":{"cores":1},"wait_s":30,"request_id":"1"}`, i)
			_, err = fmt.Fprintf(conns[i], "POST /v1/pulls HTTP/1.1\r\nHost: divvy\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			if err != nil {
				b.Fatal(err)
			}
		}
		for s.load.pulls.Load() < n {
			runtime.Gosched()
		}
		b.ReportMetric(float64(memory()-before)/n, "B/pull")
		for _, c := range conns {
			_ = c.Close()
		}
		if err := server.Close(); err != nil {
			b.Error(err)
		}
		<-served
	}
}

// quiet is a dispatcher whose pulls leave no trace in the fake.
type quiet struct{ *fakeDispatcher }

func (q quiet) Pull(ctx context.Context, r dispatcher.PullRequest) (dispatcher.PullReply, error) {
	return q.pull(ctx, r)
}
