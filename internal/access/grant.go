package access

import (
	"errors"
	"fmt"
	"strings"
)

// grant is a role with what it is bound to, as a line of a file has it: a role, then user:alice, queue:CERN … or share:A/B, and
// origin:atlas.pilot … for PanDA's API. user: names the user of a submitter; it is the name of other callers.
type grant struct {
	role Role
	Subject
	user    string
	origins origins
}

func readGrant(words []string) (grant, error) {
	if len(words) == 0 {
		return grant{}, errors.New("expected a role: pilot, submitter, share-owner, operator, reader or admin")
	}
	g := grant{role: Role(words[0])}
	for _, w := range words[1:] {
		kind, name, _ := strings.Cut(w, ":")
		switch {
		case name == "":
			return g, fmt.Errorf("%q is not user:NAME, queue:NAME, share:PATH or origin:GLOB", w)
		case kind == "user" && g.user == "":
			g.user = name
		case kind == "origin":
			glob, err := readOrigin(name)
			if err != nil {
				return g, err
			}
			g.origins = append(g.origins, glob)
		case kind == "queue":
			g.Queues = append(g.Queues, name)
		case kind == "share" && g.Share == "":
			g.Share = name
		default:
			return g, fmt.Errorf("%q is not user:NAME, queue:NAME, share:PATH or origin:GLOB, or the second of its kind", w)
		}
	}
	if g.role == Submitter {
		g.User = g.user
	}
	if err := (New{Name: "-", Role: g.role, Subject: g.Subject}).Validate(); err != nil {
		return g, errors.New(strings.ReplaceAll(err.Error(), ErrInvalid.Error()+": ", ""))
	}
	return g, nil
}

// caller is who has the grant by a credential of others; user is what the grant's user comes to.
func (g grant) caller(c Caller, user string) *Caller {
	c.Role, c.Subject, c.origins, c.Vouched = g.role, g.Subject, g.origins, true
	switch {
	case g.role == Submitter:
		c.User = user
	case user != "":
		c.Name = user
	}
	c.Name = clip(c.Name)
	return &c
}

// clip is a name of others as lists and logs take it: on one line, and not too long.
func clip(name string) string {
	name = strings.Map(func(r rune) rune {
		if control(r) {
			return '?'
		}
		return r
	}, name)
	if len(name) > maxName {
		name = strings.ToValidUTF8(name[:maxName], "") + "…"
	}
	return name
}

// userName says whether a user's name that others have chosen is fit for one.
func userName(s string) bool {
	return s != "" && s == strings.TrimSpace(s) && len(s) <= maxName && !strings.ContainsFunc(s, control)
}
