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

// Config says where the daemon is. URL is required.
type Config struct {
	URL   string // http://127.0.0.1:8470
	Token string // sent as Authorization: Bearer; empty = none
	// Tokens returns the token of each call, "" for none, in place of Token: one that is renewed. Its error ends the call.
	Tokens     func(context.Context) (string, error)
	HTTPClient *http.Client
	TLS        *tls.Config   // for https URLs without HTTPClient; nil = the system's CAs, no client certificate
	UserAgent  string        // default divvy-client
	Timeout    time.Duration // of one call, without the wait of a long poll; 0 = 70 s, above the daemon's own minute
	Patience   time.Duration // how long a call that may be repeated is retried; 0 = 10 s, negative = never
	Stay       bool          // calls of pilots do not go to the leader, see doc.go, 4
}

// Client calls one daemon.
type Client struct {
	base     string
	token    func(context.Context) (string, error)
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
		base: strings.TrimRight(u.Scheme+"://"+u.Host+u.Path, "/"), token: c.Tokens, agent: c.UserAgent,
		http: c.HTTPClient, timeout: c.Timeout, patience: c.Patience, stay: c.Stay,
	}
	if cl.token == nil {
		cl.token = func(context.Context) (string, error) { return c.Token, nil }
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

// URL returns the daemon's URL.
func (c *Client) URL() string { return c.base }

// Close closes idle connections.
func (c *Client) Close() {
	c.leader.end()
	c.http.CloseIdleConnections()
}

// newTransport keeps the connections of many pilots in one process. With the default of two per host, a busy process
// would open one for nearly every pull.
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
	body         any           // sent as JSON; a []byte is sent as it is
	kind         string        // content type of a []byte
	out          any           // nil = ignore the body of the answer; a *[]byte gets the body as it is
	repeat       bool          // a repeated call changes nothing
	hot          bool          // of a pilot: the leader is asked first
	wait         time.Duration // how much longer the daemon may take
}

// do makes the call and retries it where that is allowed, see doc.go, 2.
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

// onceThere makes the call one time. It asks the leader if the call is a pilot's and the leader is known.
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
	if errors.Is(err, context.Canceled) { // by leaving the leader, after which the caller's time may have ended as well
		if err = ctx.Err(); err == nil {
			err = &Unreachable{URL: at, Err: errors.New("it does not answer other calls either")}
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

// once makes the call one time, to the daemon at this URL, and decodes the answer into k.out. The answer must arrive
// within this time plus the call's own wait.
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
	token, err := c.token(bounded)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
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

// unreachable returns the context's error if the caller gave up, else an Unreachable.
func unreachable(ctx context.Context, at string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // Unreachable has the URL
	}
	return &Unreachable{URL: at, Err: err}
}
