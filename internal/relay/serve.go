package relay

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Path is where a daemon accepts connections of other daemons.
const Path = "/v1/relay"

// Handler serves one request: path and body are those of Call. The handler may keep the body.
type Handler func(ctx context.Context, path string, body []byte) Reply

// Server accepts connections of other daemons; it is an http.Handler for Path.
type Server struct {
	Secret string
	// SecretOf returns the secret of the open daemon with this id, as this daemon's database has it now; "" if there
	// is none.
	SecretOf func(ctx context.Context, id int64) (string, error)
	Handle   Handler
	Done     <-chan struct{} // closed: connections end, new ones are refused
}

// known reports whether this daemon's database knows the caller; if not, it answers the request.
func (s *Server) known(w http.ResponseWriter, r *http.Request) bool {
	id, _ := strconv.ParseInt(r.Header.Get(callerHeader), 10, 64)
	secret, err := s.SecretOf(r.Context(), id)
	if err != nil {
		http.Error(w, "this daemon cannot read its database", http.StatusServiceUnavailable)
		return false
	}
	proof := Caller{ID: id, Secret: secret}.proof(s.Secret)
	if secret == "" || !hmac.Equal([]byte(r.Header.Get(proofHeader)), []byte(proof)) {
		http.Error(w, "this daemon works on another database", http.StatusConflict)
		return false
	}
	return true
}

// ServeHTTP serves one connection until it ends.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch {
	case s.Secret == "" || subtle.ConstantTimeCompare([]byte(token), []byte(s.Secret)) != 1:
		http.Error(w, "this is for other daemons of this site", http.StatusForbidden)
		return
	case r.Header.Get("Upgrade") != Protocol:
		w.Header().Set("Upgrade", Protocol)
		http.Error(w, "this daemon speaks "+Protocol, http.StatusUpgradeRequired)
		return
	}
	select {
	case <-s.Done:
		http.Error(w, "this daemon is about to leave", http.StatusServiceUnavailable)
		return
	default:
	}
	if !s.known(w, r) {
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "the connection cannot be taken over: "+err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", Protocol); err != nil {
		_ = conn.Close()
		return
	}
	r2 := bufio.NewReaderSize(buffered.Reader, 64<<10)
	s.serve(conn, r2)
}

// serve reads requests until the connection ends or Done is closed. Then it cancels their contexts and waits for them.
func (s *Server) serve(conn net.Conn, r *bufio.Reader) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := make(chan struct{})
	out := newOutbox(conn)
	var work sync.WaitGroup
	work.Go(func() { _ = out.run(stop); _ = conn.Close() })
	work.Go(func() {
		select {
		case <-s.Done:
			_ = conn.Close()
		case <-stop:
		}
	})
	s.read(ctx, newInbox(conn, r), out, &work)
	cancel()
	close(stop)
	_ = conn.Close()
	work.Wait()
}

// serving holds the requests of a connection that are under way.
type serving struct {
	mu    sync.Mutex
	drops map[uint64]context.CancelFunc
}

func (s *Server) read(ctx context.Context, in *inbox, out *outbox, work *sync.WaitGroup) {
	under := serving{drops: map[uint64]context.CancelFunc{}}
	for {
		k, id, rest, err := in.next()
		if err != nil {
			return
		}
		switch k {
		case ping:
			_ = out.frame(pong, 0, nil)
		case drop:
			under.drop(id)
		case ask:
			path, err := rest.text()
			if err != nil {
				return
			}
			body, err := rest.text()
			if err != nil {
				return
			}
			inner, cancel := context.WithCancel(ctx)
			under.add(id, cancel)
			to, what := string(path), append([]byte(nil), body...)
			work.Go(func() {
				defer under.drop(id)
				r := s.Handle(inner, to, what)
				_ = out.frame(answer, id, []uint32{uint32(r.Status)}, r.Body)
			})
		}
	}
}

func (s *serving) add(id uint64, cancel context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drops[id] = cancel
}

func (s *serving) drop(id uint64) {
	s.mu.Lock()
	cancel := s.drops[id]
	delete(s.drops, id)
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
