package client

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// Site shows site files, rehearses them and makes them the one in force.
type Site struct{ c *Client }

// Site are the calls about the site file and its versions.
func (c *Client) Site() Site { return Site{c} }

const (
	sitePath     = "/v1/site"
	versionsPath = sitePath + "/versions"
	laterPath    = sitePath + "/later"
)

// ApplyOptions go with an apply or a rollback.
type ApplyOptions struct {
	File   string // name of the file, for the places in problems; not of a rollback
	DryRun bool
	Moves  map[string]string // live work of a share that goes: its path → a leaf of the new tree
	Note   string
	By     string
}

func (o ApplyOptions) query() url.Values {
	q := params("note", o.Note, "by", o.By, "dry_run", flag(o.DryRun), "file", o.File)
	for from, to := range o.Moves {
		q.Add("move", from+"="+to)
	}
	slices.Sort(q["move"])
	return q
}

// yaml is a call that sends a site file.
func yaml(method, path string, q url.Values, file []byte) call {
	return call{method: method, path: path, query: q, body: file, kind: "text/yaml", repeat: true}
}

// Current is the file in force.
func (s Site) Current(ctx context.Context) (wire.SiteVersion, error) {
	return get[wire.SiteVersion](ctx, s.c, sitePath, nil)
}

// Apply makes a file the one in force. Repeating it is harmless: the file that is in force makes no new version.
func (s Site) Apply(ctx context.Context, file []byte, o ApplyOptions) (wire.Applied, error) {
	return send[wire.Applied](ctx, s.c, yaml(http.MethodPut, sitePath, o.query(), file))
}

// Versions lists one page of versions, newest first.
func (s Site) Versions(ctx context.Context, limit int, after string) (wire.Page[wire.SiteHead], error) {
	return get[wire.Page[wire.SiteHead]](ctx, s.c, versionsPath, params("limit", number(limit), "after", after))
}

// At is an old version.
func (s Site) At(ctx context.Context, version int64) (wire.SiteVersion, error) {
	return get[wire.SiteVersion](ctx, s.c, under(versionsPath, version, ""), nil)
}

// Diff is what changed between two versions; 0 is the one in force.
func (s Site) Diff(ctx context.Context, from, to int64) (wire.SiteChanges, error) {
	return get[wire.SiteChanges](ctx, s.c, sitePath+"/diff", params("from", strconv.FormatInt(from, 10), "to", strconv.FormatInt(to, 10)))
}

// Rollback applies an old version again, as a new one. It is not repeated.
func (s Site) Rollback(ctx context.Context, version int64, o ApplyOptions) (wire.Applied, error) {
	o.File = ""
	q := o.query()
	q.Set("version", strconv.FormatInt(version, 10))
	return send[wire.Applied](ctx, s.c, call{method: http.MethodPost, path: sitePath + "/rollback", query: q})
}

// WhatIf rehearses a file against the live demand, with the plans that are in force at a time (zero: now). Nothing
// changes. Of the options only File and Moves count.
func (s Site) WhatIf(ctx context.Context, file []byte, at time.Time, o ApplyOptions) (wire.Applied, error) {
	q := ApplyOptions{File: o.File, Moves: o.Moves}.query()
	if !at.IsZero() {
		q.Set("at", moment(at))
	}
	return send[wire.Applied](ctx, s.c, yaml(http.MethodPost, "/v1/shares/what-if", q, file))
}

// ApplyLater stores a file that takes effect at a time to come. It is not repeated: that would store it twice.
func (s Site) ApplyLater(ctx context.Context, file []byte, at time.Time, o ApplyOptions) (wire.Later, error) {
	q := o.query()
	q.Set("at", moment(at))
	k := yaml(http.MethodPost, laterPath, q, file)
	k.repeat = false
	return send[wire.Later](ctx, s.c, k)
}

// Later lists the files that wait for their time and those that failed recently, or all.
func (s Site) Later(ctx context.Context, all bool) (wire.Page[wire.Later], error) {
	return get[wire.Page[wire.Later]](ctx, s.c, laterPath, params("all", flag(all)))
}

// LaterFile shows one of them with its file.
func (s Site) LaterFile(ctx context.Context, id int64) (wire.LaterFile, error) {
	return get[wire.LaterFile](ctx, s.c, under(laterPath, id, ""), nil)
}

// CancelLater takes one back that waits.
func (s Site) CancelLater(ctx context.Context, id int64, by string) (wire.Later, error) {
	return send[wire.Later](ctx, s.c, call{method: http.MethodDelete, path: under(laterPath, id, ""), query: params("by", by), repeat: true})
}

// Retag rehearses the tagging rules of a site file on the tasks that were submitted since. Nothing is written.
func (s Site) Retag(ctx context.Context, file []byte, name string, since time.Duration) (wire.Retagging, error) {
	return send[wire.Retagging](ctx, s.c, yaml(http.MethodPost, "/v1/tags/what-if", params("file", name, "since", since.String()), file))
}

// TestTags says how a task would be tagged, rule by rule. Nothing is stored.
func (s Site) TestTags(ctx context.Context, spec wire.TaskSpec) (wire.TagTest, error) {
	return post[wire.TagTest](ctx, s.c, "/v1/tags/test", spec)
}

// Queues shows queues and sets their states.
type Queues struct{ c *Client }

// Queues are the calls about queues.
func (c *Client) Queues() Queues { return Queues{c} }

const queuesPath = "/v1/queues"

// List has all queues as they stand, in the order of the site file.
func (l Queues) List(ctx context.Context) ([]wire.QueueStanding, error) {
	return items[wire.QueueStanding](ctx, l.c, queuesPath, nil)
}

// Get shows one queue.
func (l Queues) Get(ctx context.Context, name string) (wire.QueueStanding, error) {
	return get[wire.QueueStanding](ctx, l.c, queuesPath+"/"+url.PathEscape(name), nil)
}

// Wanted shows how many pilots a queue should have, and which pilots with names that begin with seen pulled lately; empty: no names.
func (l Queues) Wanted(ctx context.Context, name, seen string) (wire.QueueWanted, error) {
	return get[wire.QueueWanted](ctx, l.c, queuesPath+"/"+url.PathEscape(name)+"/wanted", params("seen", seen))
}

// SetState drains a queue, or takes it online, offline or into test.
func (l Queues) SetState(ctx context.Context, name string, state wire.QueueState) (wire.QueueStanding, error) {
	return post[wire.QueueStanding](ctx, l.c, queuesPath+"/"+url.PathEscape(name)+"/"+url.PathEscape(string(state)), nil)
}

// Shares shows how shares stand, and why.
type Shares struct{ c *Client }

// Shares are the calls about shares.
func (c *Client) Shares() Shares { return Shares{c} }

// Standing returns the state of the share tree.
func (s Shares) Standing(ctx context.Context) (wire.Standing, error) {
	return get[wire.Standing](ctx, s.c, "/v1/shares", nil)
}

// WhyOptions bound what Why looks at; zero fields get the daemon's defaults.
type WhyOptions struct {
	Last  int           // decisions
	Since time.Duration // how far back
}

// Why says why share a was served before share b, or the other way round.
func (s Shares) Why(ctx context.Context, a, b string, o WhyOptions) (wire.Why, error) {
	q := params("a", a, "b", b, "last", number(o.Last))
	if o.Since != 0 {
		q.Set("since", o.Since.String())
	}
	return get[wire.Why](ctx, s.c, "/v1/shares/why", q)
}

// Stock says how well the leaves at and below a share are supplied with ready jobs at a queue; empty: all.
func (s Shares) Stock(ctx context.Context, share, queue string) ([]wire.ShareStock, error) {
	return items[wire.ShareStock](ctx, s.c, "/v1/stock", params("share", share, "queue", queue))
}
