package door

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// writer is the http.ResponseWriter of one request after the other.
type writer struct {
	conn   *conn
	header http.Header
	status int
	text   *text // nil: nothing was written
}

// text is the room for one answer.
type text struct{ head, body []byte }

var texts = sync.Pool{New: func() any { return new(text) }}

// Header is http.ResponseWriter's.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader is http.ResponseWriter's; the first status counts.
func (w *writer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write keeps a part of the body until the handler has returned.
func (w *writer) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.status == http.StatusNoContent {
		return 0, http.ErrBodyNotAllowed
	}
	if w.text == nil {
		w.text = texts.Get().(*text)
	}
	w.text.body = append(w.text.body, b...)
	return len(b), nil
}

// send writes the answer. last is whether the connection ends after it, which the handler may have asked for too.
func (w *writer) send(nc net.Conn, last *bool) bool {
	w.WriteHeader(http.StatusOK)
	if w.text == nil {
		w.text = texts.Get().(*text)
	}
	for _, v := range w.header["Connection"] {
		*last = *last || v == "close"
	}
	t := w.text
	out := append(t.head, "HTTP/1.1 "...)
	out = strconv.AppendInt(out, int64(w.status), 10)
	out = append(append(append(out, ' '), http.StatusText(w.status)...), "\r\nDate: "...)
	out = append(append(out, date()...), "\r\n"...)
	for name, values := range w.header {
		if name == "Content-Length" || name == "Connection" || name == "Date" {
			continue // written here
		}
		for _, v := range values {
			out = append(append(append(append(out, name...), ": "...), oneLine(v)...), "\r\n"...)
		}
	}
	if w.status != http.StatusNoContent {
		out = append(strconv.AppendInt(append(out, "Content-Length: "...), int64(len(t.body)), 10), "\r\n"...)
	}
	if *last {
		out = append(out, "Connection: close\r\n"...)
	}
	t.head = append(append(out, "\r\n"...), t.body...)
	_, err := nc.Write(t.head)
	return err == nil
}

// reset makes the writer ready for the next request.
func (w *writer) reset() {
	if t := w.text; t != nil && cap(t.head) <= keepRoom {
		t.head, t.body = t.head[:0], t.body[:0]
		texts.Put(t)
	}
	clear(w.header)
	w.status, w.text = 0, nil
}

// oneLine keeps a value from ending its line.
func oneLine(v string) string {
	if !strings.ContainsAny(v, "\r\n") {
		return v
	}
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(v)
}

// dated is the Date of one second.
type dated struct {
	second int64
	text   string
}

var today atomic.Pointer[dated]

// date is now as the Date header has it.
func date() string {
	now := time.Now()
	if d := today.Load(); d != nil && d.second == now.Unix() {
		return d.text
	}
	d := &dated{now.Unix(), now.UTC().Format(http.TimeFormat)}
	today.Store(d)
	return d.text
}
