package client

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/api"
)

// Shapes of a daemon's log levels.
type (
	LogLevels    = api.LogLevels
	SetLogLevels = api.SetLogLevels
)

// LogLevels is which lines the daemon that answers logs.
func (c *Client) LogLevels(ctx context.Context) (LogLevels, error) {
	return get[LogLevels](ctx, c, call{method: http.MethodGet, path: "/v1/log", repeat: true})
}

// SetLogLevels changes that, at that daemon only.
func (c *Client) SetLogLevels(ctx context.Context, to SetLogLevels) (LogLevels, error) {
	return get[LogLevels](ctx, c, call{method: http.MethodPut, path: "/v1/log", body: to, repeat: true})
}

// Figures are the metrics of the daemon that answers, by name, all series of a name added up.
func (c *Client) Figures(ctx context.Context) (map[string]float64, error) {
	text, err := get[[]byte](ctx, c, call{method: http.MethodGet, path: "/metrics", repeat: true})
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
