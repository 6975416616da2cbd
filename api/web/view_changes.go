package web

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/shares"
)

// ChangesPage is who changed what, the newest first.
type ChangesPage struct {
	AsOf
	Changes []ChangeLine `json:"items"`
	Next    string       `json:"next"` // after of the next page
	Asked   asked        `json:"-"`
}

// ChangeLine is one change.
type ChangeLine struct{ access.Audited }

// A page has so many changes; with a filter it is chosen from so many, so that one that next to nothing passes is read within
// milliseconds too.
const (
	changesOfPage = 100
	changesAmong  = 10_000
)

// kindsOfChange are what the kinds of things that change are called in the audit.
var kindsOfChange = []string{"task", "job", "queue", "site", "resource", "claim", "token", "doctor"}

func (h *past) changesPage(ctx context.Context, r *Request) (Dated, error) {
	out := ChangesPage{AsOf: Now(), Changes: []ChangeLine{}, Asked: askedOf(r)}
	a := &out.Asked
	a.choices["what"] = kindsOfChange
	if kind, _, _ := strings.Cut(a.Get("what"), "."); kind != "" && !slices.Contains(kindsOfChange, kind) {
		a.refuse("what", "a change such as task.kill, or a kind: one of "+strings.Join(kindsOfChange, ", "))
	}
	f := access.AuditFilter{Who: a.Get("who"), What: a.Get("what"), Object: a.Get("object"), Since: a.since(out.At), Before: a.number("after", 1, mostID, 0),
		Limit: changesOfPage}
	if err := a.err(); err != nil {
		return nil, err
	}
	looked, err := h.audit.AuditAmong(ctx, f, changesAmong)
	if err != nil {
		return nil, err
	}
	for _, c := range looked.Items {
		out.Changes = append(out.Changes, ChangeLine{c})
	}
	if looked.Next > 0 {
		out.Next = strconv.FormatInt(looked.Next, 10)
	}
	return out, nil
}

// since reads how far back a list goes: a time before now such as 90m, 24h or 7d, a day, or a moment of RFC 3339. Zero: all.
func (a *asked) since(now time.Time) time.Time {
	v := a.Get("since")
	if v == "" {
		return time.Time{}
	}
	if d, err := shares.ParseDuration(v); err == nil && d > 0 {
		return now.Add(-time.Duration(d))
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, v); err == nil {
			return t
		}
	}
	a.refuse("since", "how far back, such as 24h or 7d, a day such as 2026-11-22, or a moment such as 2026-11-22T10:00:00Z")
	return time.Time{}
}

// Filtered says whether changes were left out.
func (c ChangesPage) Filtered() bool { return c.Asked.Any("who", "what", "object", "since") }

// Link is the page of the thing that was changed; empty: it has none.
func (c ChangeLine) Link() string {
	kind, verb, _ := strings.Cut(c.What, ".")
	_, err := strconv.ParseInt(c.Object, 10, 64)
	switch number := err == nil; {
	case kind == "task" && number, kind == "job" && number, kind == "claim" && number:
		return "/" + kind + "s/" + c.Object
	case kind == "site" && number && !strings.HasPrefix(verb, "later"):
		return "/versions/" + c.Object
	case kind == "queue" && c.Object != "":
		return "/queues/" + url.PathEscape(c.Object)
	case kind == "resource" && c.Object != "":
		return resourceLink(c.Object)
	}
	return ""
}

// Was is how the thing was.
func (c ChangeLine) Was() folded { return foldedOf(c.Before) }

// Is is how it is since.
func (c ChangeLine) Is() folded { return foldedOf(c.After) }

// folded is a text of some lines: what of it is seen at once, and the lines behind that.
type folded struct {
	First []string
	More  []string
}

// linesAtOnce are the lines of a change that are seen without opening it.
const linesAtOnce = 4

func foldedOf(text string) folded {
	if text == "" {
		return folded{}
	}
	lines := strings.Split(text, "\n")
	if len(lines) <= linesAtOnce+1 { // "1 more" would take the place of that one
		return folded{First: lines}
	}
	return folded{lines[:linesAtOnce], lines[linesAtOnce:]}
}
