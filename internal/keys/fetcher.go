package keys

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// fetcher gets what issuers publish. It asks for each address once in askAtMost at most, since anybody can send tokens that
// seem to need a new key, and where an issuer does not answer it gives the answer of before.
type fetcher struct {
	log *slog.Logger // nil: nothing is said
	mu  sync.Mutex
	of  map[string]*answerKept
}

// answerKept is what an address answered last.
type answerKept struct {
	mu     sync.Mutex // held while it is asked
	asked  time.Time
	header http.Header
	body   []byte // nil: it has not answered yet
	failed bool   // the last time
}

// maxAnswer bounds what an issuer may publish.
const maxAnswer = 1 << 20

var errNoAnswer = errors.New("it does not answer")

// RoundTrip serves GETs.
func (f *fetcher) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	kept := f.of[r.URL.String()]
	if kept == nil {
		kept = &answerKept{}
		f.of[r.URL.String()] = kept
	}
	f.mu.Unlock()
	kept.mu.Lock()
	defer kept.mu.Unlock()
	if kept.asked.IsZero() || time.Since(kept.asked) >= askAtMost {
		kept.asked = time.Now()
		if err := kept.ask(r); err != nil && f.log != nil {
			f.log.Warn("an issuer of tokens does not answer", "url", r.URL.String(), "error", err)
		}
	}
	if kept.body == nil {
		return nil, errNoAnswer
	}
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: kept.header.Clone(), ContentLength: int64(len(kept.body)), Body: io.NopCloser(bytes.NewReader(kept.body))}, nil
}

func (k *answerKept) ask(r *http.Request) error {
	k.failed = true
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch {
	case err != nil:
		return err
	case resp.StatusCode != http.StatusOK:
		return errors.New(resp.Status)
	}
	k.failed, k.header, k.body = false, resp.Header, body
	return nil
}

// failing says whether something could not be had the last time.
func (f *fetcher) failing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.of {
		k.mu.Lock()
		failed := k.failed
		k.mu.Unlock()
		if failed {
			return true
		}
	}
	return false
}

// askAgain has every address asked again.
func (f *fetcher) askAgain() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range f.of {
		k.mu.Lock()
		k.asked = k.asked.Add(-askAtMost)
		k.mu.Unlock()
	}
}
