package hub

import (
	"net/http"
	"time"
)

// Times of a stream.
const (
	Heartbeat   = 15 * time.Second // something is sent so often, that proxies keep the connection and ends are seen
	writeWithin = 10 * time.Second // a reader takes what it is sent within it, or is sent away
)

// Serve sends a page the changes of a view, until it leaves or may not have them any more: that is asked, of memory, before each is sent.
// Views with the same key are the same. ErrTooMany, before anything is sent.
func (h *Hub) Serve(w http.ResponseWriter, r *http.Request, key string, may func(*http.Request) bool, build Build) error {
	reader, first, err := h.subscribe(key, r.Header.Get("Last-Event-ID"), build)
	if err != nil {
		return err
	}
	defer h.leave(reader)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // of a proxy that would collect events
	rc := http.NewResponseController(w)
	send := func(text []byte) bool {
		until := time.Now().Add(Heartbeat + writeWithin)
		_ = rc.SetReadDeadline(until) // net/http watches for the end of the client with a read
		_ = rc.SetWriteDeadline(time.Now().Add(writeWithin))
		if _, err := w.Write(text); err != nil { //nolint:gosec // JSON of a stream of events, which is no page
			return false
		}
		return rc.Flush() == nil
	}
	if !send(append([]byte("retry: 2000\n\n"), first...)) {
		return nil
	}
	beat := time.NewTicker(Heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-r.Context().Done():
			return nil
		case text, ok := <-reader.events:
			if !ok || !may(r) || !send(text) {
				return nil
			}
		case <-beat.C:
			if !may(r) || !send([]byte(": still here\n\n")) {
				return nil
			}
		}
	}
}
