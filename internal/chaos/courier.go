package chaos

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Courier is an HTTP handler that forwards requests. While it is unreliable it delays each POST by up to Late. It
// sends one in TwiceOneIn again, up to Late after the first, and returns whichever answer comes first. It drops the
// answer to one in ForgetOneIn; the request still arrives. So requests overtake each other, and a request may arrive
// long after its caller gave up.
type Courier struct {
	To          string // http://host:port
	Late        time.Duration
	TwiceOneIn  int // at least 1
	ForgetOneIn int // at least 1

	Unreliable atomic.Bool
	Twice      atomic.Int64 // requests sent twice
	Forgotten  atomic.Int64 // answers dropped

	mu    sync.Mutex
	rng   *rand.Rand
	under sync.WaitGroup
	http  http.Client
}

// NewCourier returns a courier that is reliable until Unreliable is set.
func NewCourier(to string, seed uint64) *Courier {
	return &Courier{To: to, Late: 300 * time.Millisecond, TwiceOneIn: 2, ForgetOneIn: 10, rng: rand.New(rand.NewPCG(seed, 11)),
		http: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}}}
}

// Close waits for the requests under way.
func (c *Courier) Close() {
	c.under.Wait()
	c.http.CloseIdleConnections()
}

// fate is what happens to one request.
type fate struct {
	first, second time.Duration
	twice, forget bool
}

func (c *Courier) draw(r *http.Request) (f fate) {
	if !c.Unreliable.Load() || r.Method != http.MethodPost {
		return f
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f.first = time.Duration(c.rng.Int64N(int64(c.Late)))
	f.second = f.first + time.Duration(c.rng.Int64N(int64(c.Late)))
	f.twice, f.forget = c.rng.IntN(c.TwiceOneIn) == 0, c.rng.IntN(c.ForgetOneIn) == 0
	return f
}

type answered struct {
	resp *http.Response
	body []byte
	err  error
}

// ServeHTTP forwards a request.
func (c *Courier) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	f := c.draw(r)
	// A caller that gives up cannot stop a request that is on its way.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 30*time.Second)
	answers := make(chan answered, 2)
	said := 1
	if f.twice {
		said = 2
		c.Twice.Add(1)
	}
	var sent sync.WaitGroup
	for i := range said {
		wait := []time.Duration{f.first, f.second}[i]
		c.under.Add(1)
		sent.Go(func() {
			defer c.under.Done()
			if wait == 0 || sleep(ctx, wait) {
				answers <- c.say(ctx, r, body)
			} else {
				answers <- answered{err: ctx.Err()}
			}
		})
	}
	go func() { sent.Wait(); cancel() }()
	if f.forget {
		c.Forgotten.Add(1)
		panic(http.ErrAbortHandler)
	}
	select {
	case a := <-answers:
		if a.err != nil {
			panic(http.ErrAbortHandler)
		}
		for k, v := range a.resp.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(a.resp.StatusCode)
		_, _ = w.Write(a.body)
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

func (c *Courier) say(ctx context.Context, r *http.Request, body []byte) answered {
	req, err := http.NewRequestWithContext(ctx, r.Method, c.To+r.URL.RequestURI(), bytes.NewReader(body))
	if err != nil {
		return answered{err: err}
	}
	req.Header = r.Header.Clone()
	resp, err := c.http.Do(req)
	if err != nil {
		return answered{err: err}
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return answered{resp, got, err}
}
