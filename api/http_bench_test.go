package api

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/door"
)

// What the three routes of pilots cost, in two ways. The Handler benchmarks run the whole chain of handlers in
// place: ns and allocations are the API's own. The HTTP benchmarks run it behind the daemon's server on keep-alive
// connections, beside an empty chi handler on the same server with the same client: cpu-µs/op is of the whole
// process, client included, so that the difference between two of them is what a route costs over an empty one.

const (
	benchPull   = `{"queue":"queue-07","pilot":"p17","node":"node2","devices":null,"slot":{"cores":1,"memory_mb":0,"disk_mb":0,"walltime_s":0,"labels":null},"max":1,"wait_s":5,"request_id":""}`
	benchSlots  = 16 // items of a pilot's renew and finish
	benchNPulls = 64 // connections
)

func benchRenew() string {
	var b strings.Builder
	for i := range benchSlots {
		fmt.Fprintf(&b, `,{"lease":"AAAAAAAB%03d.q2x7","state":"running","usage":{"cpu_s":12.5,"memory_mb":1834}}`, i)
	}
	return `{"pilot":"p17","leases":[` + b.String()[1:] + `]}`
}

func benchFinish() string {
	var b strings.Builder
	for i := range benchSlots {
		fmt.Fprintf(&b, `,{"lease":"AAAAAAAB%03d.q2x7","outcome":"finished","exit_code":0,"message":"","usage":{"cpu_s":12.5,"memory_mb":1834},"outputs":null,"log_tail":"done\n"}`, i)
	}
	return `{"pilot":"p17","results":[` + b.String()[1:] + `]}`
}

// busy answers at once, with answers of a real size.
type busy struct {
	fakeDispatcher
	leases   []dispatcher.Lease
	kept     []string
	verdicts []dispatcher.Verdict
}

func (d *busy) PullOrPark(ctx context.Context, req dispatcher.PullRequest, _ func() func(func() (dispatcher.PullReply, error))) (dispatcher.PullReply, bool, error) {
	reply, err := d.Pull(ctx, req)
	return reply, false, err
}

func newBusy() *busy {
	d := &busy{}
	for i := range benchSlots {
		lease := fmt.Sprintf("AAAAAAAB%03d.q2x7", i)
		d.leases = append(d.leases, dispatcher.Lease{
			Lease: lease, Job: 1234567 + int64(i), Attempt: 1, Task: 4711, Share: "Production/MC/Run3", Command: []string{"/bin/echo", "--input", "f000123.root"},
			Env: map[string]string{"DIVVY_INDEX": "123"}, Cores: 1, MemoryMB: 2000, ExpiresIn: 90,
		})
		d.kept = append(d.kept, lease)
		d.verdicts = append(d.verdicts, dispatcher.Verdict{Lease: lease, Verdict: dispatcher.Recorded, JobState: "finished"})
	}
	return d
}

func (d *busy) Pull(_ context.Context, r dispatcher.PullRequest) (dispatcher.PullReply, error) {
	return dispatcher.PullReply{RenewAfter: 60, Leases: d.leases[:max(1, r.Max)]}, nil
}

func (d *busy) Renew(context.Context, dispatcher.RenewRequest) (dispatcher.RenewReply, error) {
	return dispatcher.RenewReply{RenewAfter: 60, Kept: d.kept}, nil
}

func (d *busy) Finish(context.Context, dispatcher.FinishRequest) (dispatcher.FinishReply, error) {
	return dispatcher.FinishReply{Verdicts: d.verdicts}, nil
}

// busyHandler is the chain as the daemon has it: a registry, a log at info.
func busyHandler() http.Handler {
	return New(Config{
		Dispatcher: newBusy(), Work: Work{Tasks: &fakeTasks{}, Submissions: &fakeTasks{}, Steering: &fakeTasks{}}, Site: &fakeSite{}, Registry: prometheus.NewRegistry(),
		Log: slog.New(slog.NewJSONHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelInfo})),
	})
}

// emptyHandler is the floor: cmd/divvy-bench/suite's S2 has the same.
func emptyHandler() http.Handler {
	mux := chi.NewMux()
	empty := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = []string{"application/json"}
		_, _ = io.WriteString(w, `{"leases":[],"renew_after_s":60}`)
	}
	for _, path := range []string{"/v1/pulls", "/v1/leases/renew", "/v1/leases/finish"} {
		mux.Post(path, empty)
	}
	return mux
}

// sink is a ResponseWriter without a connection.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header { return s.header }

func (s *sink) WriteHeader(status int) { s.status = status }

func (s *sink) Write(b []byte) (int, error) { return len(b), nil }

// upload is a body that can be sent again.
type upload struct{ bytes.Reader }

func (*upload) Close() error { return nil }

func benchHandler(b *testing.B, h http.Handler, path, text string) {
	in := &upload{}
	r, err := http.NewRequestWithContext(door.WithLane(b.Context(), nil), http.MethodPost, "http://127.0.0.1:8470"+path, in)
	if err != nil {
		b.Fatal(err)
	}
	r.RequestURI, r.ContentLength = path, int64(len(text))
	r.Header.Set("Content-Type", "application/json")
	w := &sink{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		in.Reset([]byte(text))
		clear(w.header)
		h.ServeHTTP(w, r)
		if w.status != 0 && w.status != http.StatusOK {
			b.Fatal(w.status)
		}
	}
}

func BenchmarkEmptyHandler(b *testing.B) { benchHandler(b, emptyHandler(), "/v1/pulls", benchPull) }

func BenchmarkPullHandler(b *testing.B) { benchHandler(b, busyHandler(), "/v1/pulls", benchPull) }

func BenchmarkPull16Handler(b *testing.B) {
	benchHandler(b, busyHandler(), "/v1/pulls", strings.Replace(benchPull, `"max":1`, `"max":16`, 1))
}

func BenchmarkRenewHandler(b *testing.B) {
	benchHandler(b, busyHandler(), "/v1/leases/renew", benchRenew())
}

func BenchmarkFinishHandler(b *testing.B) {
	benchHandler(b, busyHandler(), "/v1/leases/finish", benchFinish())
}

// benchHTTP asks on keep-alive connections.
func benchHTTP(b *testing.B, h http.Handler, path, text string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := NewServer(h, nil)
	served := make(chan struct{})
	go func() { defer close(served); _ = srv.Serve(l) }()
	defer func() { srv.Close(); <-served }()
	request := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, l.Addr(), len(text), text)
	var conns []net.Conn
	for range benchNPulls {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ReportAllocs()
	before := cpuTime()
	b.ResetTimer()
	for _, c := range conns {
		all.Go(func() {
			in := bufio.NewReaderSize(c, 16<<10)
			for left.Add(-1) >= 0 {
				if err := ask(c, in, request); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

// ask is one exchange; its answer must be a 200 with its length.
func ask(c net.Conn, in *bufio.Reader, request []byte) error {
	if _, err := c.Write(request); err != nil {
		return err
	}
	length := -1
	for n := 0; ; n++ {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if n == 0 && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			return fmt.Errorf("answered %s", line)
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(v)))
		}
		if len(line) <= 2 {
			_, err = in.Discard(length)
			return err
		}
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkEmptyHTTP(b *testing.B) { benchHTTP(b, emptyHandler(), "/v1/pulls", benchPull) }

func BenchmarkPullHTTP(b *testing.B) { benchHTTP(b, busyHandler(), "/v1/pulls", benchPull) }

func BenchmarkEmptyRenewHTTP(b *testing.B) {
	benchHTTP(b, emptyHandler(), "/v1/leases/renew", benchRenew())
}

// batched answers all pulls that have come while the one before was answered, as the dispatcher does: pulls wait for
// each other, and net/http watches their connections meanwhile.
type batched struct {
	busy
	come chan chan struct{}
}

func (d *batched) Pull(ctx context.Context, r dispatcher.PullRequest) (dispatcher.PullReply, error) {
	ready := make(chan struct{})
	d.come <- ready
	<-ready
	return d.busy.Pull(ctx, r)
}

// run ends with come.
func (d *batched) run() {
	var batch []chan struct{}
	for first := range d.come {
		batch = append(batch[:0], first)
		time.Sleep(time.Millisecond)
		for more := true; more; {
			select {
			case next := <-d.come:
				batch = append(batch, next)
			default:
				more = false
			}
		}
		for _, ready := range batch {
			close(ready)
		}
	}
}

func BenchmarkBatchedPullHTTP(b *testing.B) {
	d := &batched{busy: *newBusy(), come: make(chan chan struct{}, benchNPulls)}
	go d.run()
	defer close(d.come)
	benchHTTP(b, New(Config{Dispatcher: d, Work: Work{Tasks: &fakeTasks{}, Submissions: &fakeTasks{}, Steering: &fakeTasks{}}, Site: &fakeSite{}}), "/v1/pulls", benchPull)
}

func BenchmarkRenewHTTP(b *testing.B) {
	benchHTTP(b, busyHandler(), "/v1/leases/renew", benchRenew())
}

func BenchmarkFinishHTTP(b *testing.B) {
	benchHTTP(b, busyHandler(), "/v1/leases/finish", benchFinish())
}
