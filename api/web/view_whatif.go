package web

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// WhatIfPage is a site file that is not in force, and what it would do.
type WhatIfPage struct {
	AsOf
	InForce  int64         `json:"in_force"`
	Source   string        `json:"source"`
	Result   *site.Applied `json:"result,omitempty"` // absent: nothing was asked yet
	Problems []string      `json:"problems,omitempty"`
}

// Lines are the changes in words.
func (w WhatIfPage) Lines() []site.ChangeLine { return w.Result.Changes.Lines() }

// MayApply says whether the file could be put in force.
func (w WhatIfPage) MayApply() bool {
	return w.Result != nil && !w.Result.Unchanged && len(w.Result.Refused) == 0
}

func (t *tree) whatIf(ctx context.Context, _ *Request) (Dated, error) {
	st, err := t.site.Load(ctx)
	if err != nil {
		return nil, err
	}
	return WhatIfPage{AsOf: Now(), InForce: st.Number, Source: st.Source}, nil
}

const whatIfTitle = "What if the tree were different?"

// pageFile is what problems call a file that was written into the form.
const pageFile = "site.yml"

// rehearse is POST /what-if: nothing changes.
func (t *tree) rehearse(ctx context.Context, r *Request) (Answer, error) {
	page := WhatIfPage{Source: plainLines(r.Form.Get("source"))}
	result, err := t.site.Apply(ctx, site.ApplyRequest{Source: []byte(page.Source), Name: pageFile, DryRun: true})
	var wrong strict.Problems
	switch {
	case errors.As(err, &wrong):
		for _, w := range wrong {
			page.Problems = append(page.Problems, w.String())
		}
	case err != nil:
		return Answer{}, err
	default:
		page.Result = &result
	}
	st, err := t.site.Load(ctx)
	if err != nil {
		return Answer{}, err
	}
	page.AsOf, page.InForce = Now(), st.Number
	return Answer{Template: "whatif", Title: whatIfTitle, Show: page}, nil
}

// apply is POST /apply: asked once more, then the version in force. It is refused when another one came into force since
// the rehearsal, whose figures are then not those that were looked at.
func (t *tree) apply(ctx context.Context, r *Request) (Answer, error) {
	source := plainLines(r.Form.Get("source"))
	base, err := strconv.ParseInt(r.Form.Get("base"), 10, 64)
	if err != nil {
		return Answer{}, fmt.Errorf("%w: base is %q, expected the number of a version", ErrQuery, r.Form.Get("base"))
	}
	st, err := t.site.Load(ctx)
	switch {
	case err != nil:
		return Answer{}, err
	case st.Number != base:
		return Answer{}, fmt.Errorf("%w: version %d has come into force since version %d was looked at; rehearse the file again at /what-if", ErrMeanwhile, st.Number, base)
	}
	if !r.Sure() {
		dry, err := t.site.Apply(ctx, site.ApplyRequest{Source: []byte(source), Name: pageFile, DryRun: true})
		if err != nil {
			return Answer{}, err
		}
		c := Confirmation{Question: fmt.Sprintf("Put version %d in force?", dry.Version), Verb: "Apply", Back: "/what-if",
			Details: []string{"It is in force at once, in every daemon. No job is killed. A rollback makes the old version a new one."}}
		for _, l := range dry.Changes.Lines() {
			c.Details = append(c.Details, l.Sign()+" "+l.Text)
		}
		return r.Confirm(c), nil
	}
	done, err := t.site.Apply(ctx, site.ApplyRequest{Source: []byte(source), Name: pageFile, By: "page", Note: r.Form.Get("note")})
	if err != nil {
		return Answer{}, err
	}
	return Answer{To: "/versions/" + strconv.FormatInt(done.Version, 10), Said: fmt.Sprintf("Version %d is in force.", done.Version)}, nil
}

// plainLines undoes the line ends that forms have.
func plainLines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
