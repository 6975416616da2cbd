package client

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/api"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// Shapes of the site.
type (
	Standing    = dispatcher.Standing
	Queue       = dispatcher.QueueStanding
	QueueState  = shares.QueueState
	SiteVersion = api.SiteVersion
	SiteHead    = site.Head
	SiteChanges = site.Changes
	Applied     = site.Applied
	Later       = site.Later
	LaterFile   = site.LaterFile
	TagTest     = generator.TagTest
	Retagging   = generator.Retagging
	Status      = api.Status
)

// ApplyOptions go with an apply or a rollback.
type ApplyOptions struct {
	File   string // name of the file, for the places in problems; not of a rollback
	DryRun bool
	Moves  map[string]string // live work of a share that goes: its path → a leaf of the new tree
	Note   string
	By     string
}

// Shares is the tree as it stands.
func (c *Client) Shares(ctx context.Context) (Standing, error) {
	return get[Standing](ctx, c, call{method: http.MethodGet, path: "/v1/shares", repeat: true})
}

// Queues are all queues as they stand, in the order of the site file.
func (c *Client) Queues(ctx context.Context) ([]Queue, error) {
	p, err := get[Page[Queue]](ctx, c, call{method: http.MethodGet, path: "/v1/queues", repeat: true})
	return p.Items, err
}

// Queue shows one queue.
func (c *Client) Queue(ctx context.Context, name string) (Queue, error) {
	return get[Queue](ctx, c, call{method: http.MethodGet, path: queuePath(name), repeat: true})
}

// SetQueueState drains a queue, or takes it online, offline or into test.
func (c *Client) SetQueueState(ctx context.Context, name string, state QueueState) (Queue, error) {
	return get[Queue](ctx, c, call{method: http.MethodPost, path: queuePath(name) + "/" + url.PathEscape(string(state)), repeat: true})
}

func queuePath(name string) string { return "/v1/queues/" + url.PathEscape(name) }

// Site is the file in force.
func (c *Client) Site(ctx context.Context) (SiteVersion, error) {
	return get[SiteVersion](ctx, c, call{method: http.MethodGet, path: "/v1/site", repeat: true})
}

// Apply makes a file the one in force. Repeating it is harmless: the file that is in force makes no new version.
func (c *Client) Apply(ctx context.Context, file []byte, o ApplyOptions) (Applied, error) {
	q := o.query()
	q.set("file", o.File)
	return get[Applied](ctx, c, call{
		method: http.MethodPut, path: "/v1/site", query: url.Values(q), body: file, kind: "text/yaml", repeat: true,
	})
}

func (o ApplyOptions) query() query {
	q := query{}
	q.set("note", o.Note)
	q.set("by", o.By)
	q.flag("dry_run", o.DryRun)
	for from, to := range o.Moves {
		q["move"] = append(q["move"], from+"="+to)
	}
	slices.Sort(q["move"])
	return q
}

// SiteVersions lists one page of versions, newest first.
func (c *Client) SiteVersions(ctx context.Context, limit int, after string) (Page[SiteHead], error) {
	q := query{}
	q.page(limit, after)
	return get[Page[SiteHead]](ctx, c, call{method: http.MethodGet, path: "/v1/site/versions", query: url.Values(q), repeat: true})
}

// SiteAt is an old version.
func (c *Client) SiteAt(ctx context.Context, version int64) (SiteVersion, error) {
	return get[SiteVersion](ctx, c, call{method: http.MethodGet, path: "/v1/site/versions/" + strconv.FormatInt(version, 10), repeat: true})
}

// DiffSite is what changed between two versions; 0 is the one in force.
func (c *Client) DiffSite(ctx context.Context, from, to int64) (SiteChanges, error) {
	q := url.Values{"from": {strconv.FormatInt(from, 10)}, "to": {strconv.FormatInt(to, 10)}}
	return get[SiteChanges](ctx, c, call{method: http.MethodGet, path: "/v1/site/diff", query: q, repeat: true})
}

// Rollback applies an old version again, as a new one.
func (c *Client) Rollback(ctx context.Context, version int64, o ApplyOptions) (Applied, error) {
	q := o.query()
	q.number("version", version)
	return get[Applied](ctx, c, call{method: http.MethodPost, path: "/v1/site/rollback", query: url.Values(q)})
}

// WhatIf rehearses a file against the live demand, with the plans that are in force at a time (zero: now). Nothing
// changes. Of the options only File and Moves count.
func (c *Client) WhatIf(ctx context.Context, file []byte, at time.Time, o ApplyOptions) (Applied, error) {
	q := ApplyOptions{Moves: o.Moves}.query()
	q.set("file", o.File)
	q.time("at", at)
	return get[Applied](ctx, c, call{
		method: http.MethodPost, path: "/v1/shares/what-if", query: url.Values(q), body: file, kind: "text/yaml", repeat: true,
	})
}

// ApplyLater stores a file that takes effect at a time to come. It is not repeated by itself: that would store it twice.
func (c *Client) ApplyLater(ctx context.Context, file []byte, at time.Time, o ApplyOptions) (Later, error) {
	q := o.query()
	q.set("file", o.File)
	q.time("at", at)
	return get[Later](ctx, c, call{method: http.MethodPost, path: "/v1/site/later", query: url.Values(q), body: file, kind: "text/yaml"})
}

// Later lists the files that wait for their time and those that failed of late, or all there ever were.
func (c *Client) Later(ctx context.Context, all bool) (Page[Later], error) {
	q := query{}
	q.flag("all", all)
	return get[Page[Later]](ctx, c, call{method: http.MethodGet, path: "/v1/site/later", query: url.Values(q), repeat: true})
}

// LaterFile shows one of them with its file.
func (c *Client) LaterFile(ctx context.Context, id int64) (LaterFile, error) {
	return get[LaterFile](ctx, c, call{method: http.MethodGet, path: laterPath(id), repeat: true})
}

// CancelLater takes one back that waits.
func (c *Client) CancelLater(ctx context.Context, id int64, by string) (Later, error) {
	q := query{}
	q.set("by", by)
	return get[Later](ctx, c, call{method: http.MethodDelete, path: laterPath(id), query: url.Values(q), repeat: true})
}

func laterPath(id int64) string { return "/v1/site/later/" + strconv.FormatInt(id, 10) }

// Retag rehearses the tagging rules of a site file on the tasks that were submitted since. Nothing is written.
func (c *Client) Retag(ctx context.Context, file []byte, name string, since time.Duration) (Retagging, error) {
	q := query{}
	q.set("file", name)
	q.set("since", since.String())
	return get[Retagging](ctx, c, call{
		method: http.MethodPost, path: "/v1/tags/what-if", query: url.Values(q), body: file, kind: "text/yaml", repeat: true,
	})
}

// TestTags says how a task would be tagged, rule by rule. Nothing is stored.
func (c *Client) TestTags(ctx context.Context, spec TaskSpec) (TagTest, error) {
	return get[TagTest](ctx, c, call{method: http.MethodPost, path: "/v1/tags/test", body: spec, repeat: true})
}

// Status is how the site stands, seen from the daemon that answers.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return get[Status](ctx, c, call{method: http.MethodGet, path: "/v1/status", repeat: true})
}

// Live is nil when the daemon's process answers, whatever its database does. It is asked once.
func (c *Client) Live(ctx context.Context) error {
	_, err := c.once(ctx, c.base, c.timeout, call{method: http.MethodGet, path: "/healthz"}, nil, "")
	return err
}

// Ready is nil when the daemon can serve. It is asked once.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.once(ctx, c.base, c.timeout, call{method: http.MethodGet, path: "/readyz"}, nil, "")
	return err
}
