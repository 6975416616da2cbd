package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/api/wire"
)

// Daemon shows how the daemon that answers does.
type Daemon struct{ c *Client }

// Daemon are the calls about the daemon itself.
func (c *Client) Daemon() Daemon { return Daemon{c} }

// Status is how the site stands, seen from the daemon that answers.
func (d Daemon) Status(ctx context.Context) (wire.Status, error) {
	return get[wire.Status](ctx, d.c, "/v1/status", nil)
}

// Login says at which issuer of tokens people log in, for this daemon.
func (d Daemon) Login(ctx context.Context) (wire.Login, error) {
	return get[wire.Login](ctx, d.c, "/v1/login", nil)
}

// Whoami says for whom the daemon takes this client.
func (d Daemon) Whoami(ctx context.Context) (wire.Whoami, error) {
	return get[wire.Whoami](ctx, d.c, "/v1/whoami", nil)
}

// Live returns nil if the daemon's process answers, whatever its database does. It is not retried.
func (d Daemon) Live(ctx context.Context) error { return d.ask(ctx, "/healthz") }

// Ready returns nil if the daemon can serve. It is not retried.
func (d Daemon) Ready(ctx context.Context) error { return d.ask(ctx, "/readyz") }

func (d Daemon) ask(ctx context.Context, path string) error {
	_, err := d.c.once(ctx, d.c.base, d.c.timeout, call{method: http.MethodGet, path: path}, nil, "")
	return err
}

// LogLevels is which lines the daemon that answers logs.
func (d Daemon) LogLevels(ctx context.Context) (wire.LogLevels, error) {
	return get[wire.LogLevels](ctx, d.c, "/v1/log", nil)
}

// SetLogLevels changes that, at that daemon only.
func (d Daemon) SetLogLevels(ctx context.Context, to wire.SetLogLevels) (wire.LogLevels, error) {
	return send[wire.LogLevels](ctx, d.c, call{method: http.MethodPut, path: "/v1/log", body: to, repeat: true})
}

// Figures are the metrics of the daemon that answers, by name, all series of a name added up.
func (d Daemon) Figures(ctx context.Context) (map[string]float64, error) {
	text, err := get[[]byte](ctx, d.c, "/metrics", nil)
	if err != nil {
		return nil, err
	}
	sums := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		name, _, _ := strings.Cut(line[:at], "{")
		if v, err := strconv.ParseFloat(line[at+1:], 64); err == nil {
			sums[name] += v
		}
	}
	return sums, nil
}

// Reports answers questions of people who account for what was used.
type Reports struct{ c *Client }

// Reports are the calls about reports.
func (c *Client) Reports() Reports { return Reports{c} }

// List lists the reports that have a name.
func (r Reports) List(ctx context.Context) ([]wire.Report, error) {
	return items[wire.Report](ctx, r.c, "/v1/reports", nil)
}

// Get answers one, for the time since so long ago, as 7d; empty: a day. It is broken down by one of its By; empty: it is not.
func (r Reports) Get(ctx context.Context, name, by, since string) (wire.Table, error) {
	return get[wire.Table](ctx, r.c, "/v1/reports/"+url.PathEscape(name), params("by", by, "since", since))
}
