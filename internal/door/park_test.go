package door

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
)

// A parked request is answered by whoever resumes it, before its handler returns or long after, and so are those behind it.
func TestPark(t *testing.T) {
	later := make(chan func(), 1)
	h := open(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		resume := w.(Parker).Park()
		answer := func() { resume(func() { fmt.Fprintf(w, "%s", body) }) }
		if string(body) == "early" {
			answer()
		} else {
			later <- answer
		}
	})
	g := h.guest(t).send(request("early") + request("late") + request("early"))
	g.expect("early")
	(<-later)()
	g.expect("late", "early")
	g.send(request("late"))
	go (<-later)()
	g.expect("late")
}

// Whoever is first: the handler that returns or the answer.
func TestParkRaces(t *testing.T) {
	h := open(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		resume := w.(Parker).Park()
		go resume(func() { _, _ = w.Write(body) })
	})
	var all sync.WaitGroup
	for range 16 {
		g := h.guest(t)
		all.Go(func() {
			for i := range 200 {
				g.send(request(fmt.Sprint(i)))
				g.expect(fmt.Sprint(i))
			}
		})
	}
	all.Wait()
}

// Its context is cancelled when its client goes; a panic of the handler or of what finishes it ends the connection, and
// Shutdown waits for it.
func TestParkEnds(t *testing.T) {
	inside, gone := make(chan struct{}), make(chan struct{})
	h := open(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		resume := w.(Parker).Park()
		switch string(body) {
		case "panic":
			panic(http.ErrAbortHandler)
		case "panic later":
			go resume(func() { panic(http.ErrAbortHandler) })
		default:
			done := r.Context().Done()
			go func() {
				inside <- struct{}{}
				<-done
				resume(func() { close(gone) })
			}()
		}
	})
	h.guest(t).send(request("panic")).ended()
	h.guest(t).send(request("panic later")).ended()
	g := h.guest(t).send(request("waits"))
	<-inside
	over := make(chan error, 1)
	go func() { over <- h.Shutdown(t.Context()) }()
	select {
	case err := <-over:
		t.Fatal("does not wait for the parked request", err)
	default:
	}
	g.Close()
	<-gone
	if err := <-over; err != nil {
		t.Error(err)
	}
}
