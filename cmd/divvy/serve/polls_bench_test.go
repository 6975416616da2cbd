package serve

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"
)

// BenchmarkLongPolls tells what pulls that wait take of the daemon's memory: run it with -benchtime 100000x. They come by pipes within this
// process, so that no more files are open than usual; what the kernel keeps of a connection is not in it, what both ends of a pipe are is.
func BenchmarkLongPolls(b *testing.B) {
	cfg := servetest.Config(b, nil)
	d := New(cfg, slog.New(slog.DiscardHandler))
	if err := d.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := d.Stop(b.Context()); err != nil {
			b.Error(err)
		}
	}()
	in := pipes{conns: make(chan net.Conn), over: make(chan struct{})}
	go func() { _ = d.http.Serve(in) }() // it ends with the daemon
	before := resident(b)
	var ends []net.Conn
	defer func() {
		for _, c := range ends {
			_ = c.Close() // the pilot hangs up
		}
	}()
	for i := range b.N {
		near, far := net.Pipe()
		in.conns <- far
		body := fmt.Sprintf(`{"queue":"LOCAL","pilot":"pilot-%d","node":"node-%d","slot":{"cores":1,"memory_mb":1000},"wait_s":300}`, i, i/64)
		if _, err := fmt.Fprintf(near, "POST /v1/pulls HTTP/1.1\r\nHost: divvy\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
			b.Fatal(err)
		}
		ends = append(ends, near)
	}
	servetest.Eventually(b, time.Minute, func() (bool, string) {
		said := gathered(b, d, "divvy_queue_waiting_pulls")
		return said == float64(b.N), fmt.Sprintf("%v of %d pulls wait", said, b.N)
	})
	most := resident(b)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(most)/1e6, "MB")
	b.ReportMetric(float64(most-before)/float64(b.N), "B/poll")
	b.ReportMetric(float64(m.HeapInuse+m.StackInuse)/1e6, "MB-used")
}

// pipes is a listener within the process.
type pipes struct {
	conns chan net.Conn
	over  chan struct{}
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.over:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error   { close(p.over); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// resident is the memory of this process, in bytes.
func resident(b *testing.B) (n int64) {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("no /proc here: ", err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	if _, err := fmt.Fscan(strings.NewReader(rest), &n); err != nil {
		b.Fatal(err)
	}
	return n << 10
}

// gathered is the sum of a metric.
func gathered(b *testing.B, d *Daemon, name string) (sum float64) {
	b.Helper()
	all, err := d.watch.registry.Gather()
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetGauge().GetValue()
			}
		}
	}
	return sum
}
