package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Config says where the daemon is. URL is needed.
type Config struct {
	URL        string // http://127.0.0.1:8470
	Token      string // sent as Authorization: Bearer; empty = none
	HTTPClient *http.Client
	TLS        *tls.Config   // of https URLs, where there is no HTTPClient; nil: the system's CAs, and no certificate of one's own
	UserAgent  string        // default divvy-client
	Timeout    time.Duration // of one call, a long poll's wait not counted; 0 = 70 s, above the daemon's own minute
	Patience   time.Duration // how long a call that may be repeated is; 0 = 10 s, negative = never repeated
	Stay       bool          // calls of pilots do not go to the daemon that decides, see doc.go, 4
}

// Client calls one daemon.
type Client struct {
	base     string
	token    string
	agent    string
	http     *http.Client
	timeout  time.Duration
	patience time.Duration
	stay     bool
	leader   leader
}

// New checks c and returns a client. It makes no call.
func New(c Config) (*Client, error) {
	u, err := url.Parse(c.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("server URL %q: expected http://host:port", c.URL)
	}
	cl := &Client{
		base: strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/"), token: c.Token, agent: c.UserAgent,
		http: c.HTTPClient, timeout: c.Timeout, patience: c.Patience, stay: c.Stay,
	}
	if cl.http == nil {
		cl.http = &http.Client{Transport: newTransport(c.TLS)}
	}
	if cl.agent == "" {
		cl.agent = "divvy-client"
	}
	if cl.timeout <= 0 {
		cl.timeout = 70 * time.Second
	}
	if cl.patience == 0 {
		cl.patience = 10 * time.Second
	}
	return cl, nil
}

// URL is where the daemon is.
func (c *Client) URL() string { return c.base }

// Close lets idle connections go.
func (c *Client) Close() {
	c.leader.end()
	c.http.CloseIdleConnections()
}

// newTransport keeps the connections of many pilots in one process: the default of two a host would dial anew for
// nearly every pull of a busy one.
func newTransport(secure *tls.Config) *http.Transport {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		MaxIdleConns:          0, // no bound
		MaxIdleConnsPerHost:   1024,
		IdleConnTimeout:       5 * time.Minute, // below the daemon's six
		TLSClientConfig:       secure,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // short answers, often on loopback
	}
}

// call is one request and where its answer goes.
type call struct {
	method, path string
	query        url.Values
	header       http.Header
	body         any           // sent as JSON, but for a []byte, which is sent as it is
	kind         string        // content type of a []byte
	out          any           // nil = the answer's body is not wanted; a *[]byte takes it as it is
	repeat       bool          // a repeat changes nothing
	hot          bool          // of a pilot: the daemon that decides is asked first
	wait         time.Duration // the daemon may take this much longer
}

// do makes the call, and repeats it where that is allowed, see doc.go, 2.
func (c *Client) do(ctx context.Context, k call) (*http.Response, error) {
	payload, kind, err := k.encode()
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(c.patience)
	for try := 0; ; try++ {
		resp, at, err := c.onceThere(ctx, k, payload, kind)
		if at != c.base && err != nil && c.leader.failed(at, err) {
			continue
		}
		if err == nil || ctx.Err() != nil || !IsUnavailable(err) || !(k.repeat || neverSent(err)) {
			return resp, err
		}
		pause := backoff(try, RetryAfter(err))
		if time.Now().Add(pause).After(deadline) {
			return resp, err
		}
		if !sleep(ctx, pause) {
			return resp, err
		}
	}
}

// onceThere makes the call one time, at the leader if it is one of a pilot and the leader is known.
func (c *Client) onceThere(ctx context.Context, k call, payload []byte, kind string) (resp *http.Response, at string, err error) {
	if !k.hot {
		resp, err = c.once(ctx, c.base, c.timeout, k, payload, kind)
		return resp, c.base, err
	}
	at, life := c.leader.or(c.base)
	within := c.timeout
	if at != c.base && k.repeat {
		within = min(within, leaderWithin)
	}
	own, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(life, cancel)()
	resp, err = c.once(own, at, within, k, payload, kind)
	if errors.Is(err, context.Canceled) {
		if err = ctx.Err(); err == nil {
			err = &Unreachable{URL: at, Err: errors.New("it does not answer others either")}
		}
	}
	cancel()
	return resp, at, err
}

func (k *call) encode() (payload []byte, kind string, err error) {
	switch b := k.body.(type) {
	case nil:
		return nil, "", nil
	case []byte:
		return b, k.kind, nil
	}
	payload, err = json.Marshal(k.body)
	if err != nil {
		return nil, "", fmt.Errorf("request of %s %s: %w", k.method, k.path, err)
	}
	return payload, "application/json", nil
}

// once makes the call one time, at a daemon, which answers within some time more than it waits, and decodes the answer into k.out.
func (c *Client) once(ctx context.Context, at string, within time.Duration, k call, payload []byte, kind string) (*http.Response, error) {
	bounded, cancel := context.WithTimeout(ctx, within+k.wait)
	defer cancel()
	target := at + k.path
	if len(k.query) > 0 {
		target += "?" + k.query.Encode()
	}
	req, err := http.NewRequestWithContext(bounded, k.method, target, bytes.NewReader(payload))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.method, target, err)
	}
	for name, values := range k.header {
		req.Header[name] = values
	}
	req.Header.Set("User-Agent", c.agent)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, unreachable(ctx, at, err)
	}
	defer func() {
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
		_ = resp.Body.Close()
	}()
	if url := resp.Header.Get(headerLeader); k.hot && !c.stay && url != "" {
		c.leader.meet(c.http, at, url)
	}
	if resp.StatusCode >= 300 {
		return resp, problemOf(resp)
	}
	if k.out == nil || resp.StatusCode == http.StatusNoContent {
		return resp, nil
	}
	if text, ok := k.out.(*[]byte); ok {
		if *text, err = io.ReadAll(resp.Body); err != nil {
			return resp, unreachable(ctx, at, fmt.Errorf("answer of %s %s: %w", k.method, k.path, err))
		}
		return resp, nil
	}
	if err := json.NewDecoder(resp.Body).Decode(k.out); err != nil {
		return resp, unreachable(ctx, at, fmt.Errorf("answer of %s %s: %w", k.method, k.path, err))
	}
	return resp, nil
}

// unreachable is the context's error when the caller gave up, else an Unreachable.
func unreachable(ctx context.Context, at string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the URL is said already
	}
	return &Unreachable{URL: at, Err: err}
}
