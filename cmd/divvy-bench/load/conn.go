package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// conn is one keep-alive connection that asks the same thing again and again. It is written by hand so that load
// costs little beside what is measured; net/http's client takes as long as a claim.
type conn struct {
	net     net.Conn
	in      *bufio.Reader
	request []byte
	id      []byte // the part of request that changes with every exchange; nil: none
	follow  bool   // to the daemon that decides, where an answer says that it is another, as pilots go
	leader  string // its host:port; empty: where net is
	n       uint64
	body    []byte
}

// IDPlace stands in a body for the number of the exchange.
const IDPlace = "0000000000000000"

// dial opens a connection for one request.
func dial(address, path, body string) (*conn, error) {
	to, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return nil, err
	}
	w := &conn{net: to, in: bufio.NewReaderSize(to, 8<<10)}
	w.request = requestOf(path, address, []byte(body))
	if i := bytes.Index(w.request, []byte(IDPlace)); i >= 0 {
		w.id = w.request[i : i+len(IDPlace)]
	}
	return w, nil
}

func requestOf(path, address string, body []byte) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, address, len(body), body)
}

// exchange sends the request and reads the answer. The body is good until the next one.
func (w *conn) exchange() (status int, body []byte, err error) {
	if w.id != nil {
		w.n++
		copy(w.id, fmt.Sprintf("%0*x", len(IDPlace), w.n))
	}
	if w.follow && w.leader != "" {
		if err := w.redial(); err != nil {
			return 0, nil, err
		}
	}
	if _, err := w.net.Write(w.request); err != nil {
		return 0, nil, err
	}
	line, err := w.in.ReadSlice('\n')
	if err != nil {
		return 0, nil, err
	}
	if status, err = statusOf(line); err != nil {
		return 0, nil, err
	}
	length := -1
	for {
		line, err := w.in.ReadSlice('\n')
		if err != nil {
			return 0, nil, err
		}
		if len(line) <= 2 {
			break
		}
		if length, err = lengthIn(line, length); err != nil {
			return 0, nil, err
		}
		if at, ok := bytes.CutPrefix(line, []byte("Divvy-Leader: http://")); ok {
			w.leader = string(bytes.TrimSpace(at))
		}
	}
	switch {
	case status == 204:
		length = 0
	case length < 0:
		return 0, nil, errors.New("answer without Content-Length")
	}
	if cap(w.body) < length {
		w.body = make([]byte, length)
	}
	w.body = w.body[:length]
	_, err = io.ReadFull(w.in, w.body)
	return status, w.body, err
}

func (w *conn) redial() error {
	to, err := net.DialTimeout("tcp", w.leader, 10*time.Second)
	if err != nil {
		return err
	}
	w.net.Close()
	w.net, w.leader = to, ""
	w.in.Reset(to)
	return nil
}

// statusOf reads HTTP/1.1 200 OK.
func statusOf(line []byte) (int, error) {
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return 0, fmt.Errorf("not an HTTP answer: %q", line)
	}
	return strconv.Atoi(string(line[9:12]))
}

// lengthIn is the Content-Length of a header line, or what was known before.
func lengthIn(line []byte, before int) (int, error) {
	const name = "content-length:"
	if len(line) <= len(name) || !strings.EqualFold(string(line[:len(name)]), name) {
		return before, nil
	}
	return strconv.Atoi(string(bytes.TrimSpace(line[len(name):])))
}

// leaseIn finds the one lease of a pull's answer, by the two fields that it begins with.
func leaseIn(body []byte) (job int64, lease []byte, ok bool) {
	_, rest, ok := bytes.Cut(body, []byte(`"lease":"`))
	if !ok {
		return 0, nil, false
	}
	lease, rest, _ = bytes.Cut(rest, []byte(`","job":`))
	for _, c := range rest {
		if c < '0' || c > '9' {
			break
		}
		job = 10*job + int64(c-'0')
	}
	return job, lease, job > 0 && len(lease) > 0
}

// shedPause is how long a pull waits that the daemon has put off.
const shedPause = time.Second

// shed says whether a pull was put off, as renewals and ends go first on a machine that stands still for a moment. It
// comes again, as those of pilots do; what it misses is missing in the rate.
func shed(status int, body []byte) bool {
	return status == 503 && bytes.Contains(body, []byte(`"code":"overloaded"`))
}
