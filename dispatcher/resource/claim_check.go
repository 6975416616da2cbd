package resource

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of one task with groups. They keep a slip of the keyboard from filling the disk, not people from working.
const (
	MaxReplicas = 100_000   // of a task or a group, or jobs of a role
	MaxJobs     = 1_000_000 // of a task
	MaxClaims   = 100_000   // that a task makes
	maxEntries  = 200       // groups, members, roles, templates, sharing entries
	maxWord     = 200       // bytes of a name
)

// Fault is one thing that is wrong with a layout: where, what, and what would be right.
type Fault struct {
	Field   string // groups[0].members[1].sharing[0].only[0]
	Message string
	Hint    string
}

// String is field: message (hint).
func (f Fault) String() string {
	text := f.Field + ": " + f.Message
	if f.Hint != "" {
		text += " (" + f.Hint + ")"
	}
	return text
}

// Faults is all that is wrong, in the order of the fields.
type Faults []Fault

func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.String()
	}
	return strings.Join(lines, "; ")
}

// Validate says whether the layout can be, in itself: no site is asked, so templates that it does not declare may be
// there or not. The error is Faults.
func (l Layout) Validate() error {
	var c claimCheck
	c.numbers(l)
	c.templates(l)
	if len(c.faults) == 0 { // else its parts may have no names
		c.shared(l)
	}
	if len(c.faults) == 0 {
		c.sizes(l)
	}
	if len(c.faults) == 0 {
		c.gangs(l)
	}
	if len(c.faults) == 0 {
		return nil
	}
	return c.faults
}

type claimCheck struct{ faults Faults }

// maxFaults is how many are told.
const maxFaults = 100

func (c *claimCheck) add(field, message, hint string) {
	if len(c.faults) >= maxFaults {
		return
	}
	c.faults = append(c.faults, Fault{Field: field, Message: message, Hint: hint})
}

func (c *claimCheck) between(field string, n, low, high int64) {
	if n < low || n > high {
		c.add(field, fmt.Sprintf("%d is not in %d … %d", n, low, high), "")
	}
}

// partName leaves out what separates the parts of a claim's name.
var partName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

const longestPart = 63

func (c *claimCheck) name(field, name string) {
	switch {
	case name == "":
		c.add(field, "is missing", "")
	case len(name) > longestPart || !partName.MatchString(name):
		c.add(field, fmt.Sprintf("%.80q is not a name", name), "a letter, then up to 62 letters, digits, points, hyphens and underscores")
	}
}

// word checks the name of what the site may have too, a template, a claim or a kind of device: it keeps out what separates
// the parts of addresses, of the names of claims and of references to resources.
func (c *claimCheck) word(field, name string) {
	const separators = "/:*?#%=(), \"'"
	i := strings.IndexAny(name, separators)
	switch {
	case name == "":
		c.add(field, "is missing", "")
	case i >= 0:
		c.add(field, fmt.Sprintf("%.80q contains %q", name, name[i:i+1]), "for instance shared-gpu")
	case len(name) > maxWord || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		c.add(field, fmt.Sprintf("%.80q is no name", name), fmt.Sprintf("up to %d bytes of text", maxWord))
	}
}

// WrongName says what is wrong with the name of a template or of a claim that people make; "" if nothing is.
func WrongName(name string) string {
	var c claimCheck
	if c.word("", name); len(c.faults) == 0 {
		return ""
	}
	return c.faults[0].Message
}

func (c *claimCheck) numbers(l Layout) {
	c.between("replicas", int64(l.Replicas), 0, MaxReplicas)
	if len(l.Groups) == 0 && len(l.Roles) == 0 {
		c.add("groups", "there is neither a group nor a role", "groups: [{name: g, members: [{role: r, count: 2}]}], or roles: [{role: r, count: 2}]")
	}
	if c.tooMany("groups", len(l.Groups)) || c.tooMany("roles", len(l.Roles)) || c.tooMany("claim_templates", len(l.Templates)) {
		return
	}
	names := map[string]string{}
	for i, g := range l.Groups {
		field := fmt.Sprintf("groups[%d]", i)
		c.name(field+".name", g.Name)
		c.once(names, field+".name", g.Name)
		c.between(field+".replicas", int64(g.Replicas), 0, MaxReplicas)
		if len(g.Members) == 0 {
			c.add(field+".members", "is empty", "members: [{role: r, count: 2}]")
		}
		if !c.tooMany(field+".members", len(g.Members)) {
			c.roles(field+".members", g.Members, map[string]string{})
		}
	}
	c.roles("roles", l.Roles, names)
}

func (c *claimCheck) tooMany(field string, n int) bool {
	if n > maxEntries {
		c.add(field, fmt.Sprintf("has more than %d entries", maxEntries), "")
	}
	return n > maxEntries
}

func (c *claimCheck) roles(field string, roles []Role, names map[string]string) {
	for i, r := range roles {
		field := fmt.Sprintf("%s[%d]", field, i)
		c.name(field+".role", r.Name)
		c.once(names, field+".role", r.Name)
		c.between(field+".count", int64(r.Count), 0, MaxReplicas)
	}
}

// once reports a name that stands elsewhere at the same level: filters and the names of claims could mean either.
func (c *claimCheck) once(names map[string]string, field, name string) {
	if name == "" {
		return
	}
	if before, twice := names[name]; twice {
		c.add(field, fmt.Sprintf("%s is the name of %s already", name, strings.TrimSuffix(strings.TrimSuffix(before, ".name"), ".role")), "choose another")
		return
	}
	names[name] = field
}

// shared checks the sharing entries of every level.
func (c *claimCheck) shared(l Layout) {
	c.sharing("", l.Sharing, l.children())
	for i, g := range l.Groups {
		field := fmt.Sprintf("groups[%d].", i)
		c.sharing(field, g.Sharing, roleNames(g.Members))
		for j, m := range g.Members {
			c.sharing(fmt.Sprintf("%smembers[%d].", field, j), m.Sharing, nil)
		}
	}
	for i, r := range l.Roles {
		c.sharing(fmt.Sprintf("roles[%d].", i), r.Sharing, nil)
	}
}

// sharing checks the entries of one level; members are who Only may name.
func (c *claimCheck) sharing(level string, entries []Sharing, members []string) {
	if c.tooMany(level+"sharing", len(entries)) {
		return
	}
	type made struct{ template, claim, filter string }
	seen := map[made]string{}
	for i, s := range entries {
		field := fmt.Sprintf("%ssharing[%d]", level, i)
		c.entry(field, s)
		c.only(field+".only", s.Only, members)
		key := made{s.Template, s.Claim, s.filter()}
		before, twice := seen[key]
		switch {
		case twice && s.Only == nil:
			c.add(field, fmt.Sprintf("%s is shared already by %s, which is for all members too", s.what(), before), "leave one of them out, or give them different members in only")
		case twice:
			c.add(field, fmt.Sprintf("%s is shared already by %s, which has the same members in only", s.what(), before), "leave one of them out, or give them different members")
		default:
			seen[key] = field
		}
	}
}

// what is the template or claim, for people.
func (s Sharing) what() string {
	if s.Claim != "" {
		return "claim " + s.Claim
	}
	return "template " + s.Template
}

func (c *claimCheck) entry(field string, s Sharing) {
	switch {
	case s.Template == "" && s.Claim == "":
		c.add(field, "has neither template nor claim", "template: the name of a claim template, or claim: the name of a claim made outside")
		return
	case s.Template != "" && s.Claim != "":
		c.add(field+".claim", "given together with template", "exactly one of template and claim")
		return
	case s.Template != "":
		c.word(field+".template", s.Template)
	default:
		c.word(field+".claim", s.Claim)
	}
	switch {
	case s.Scope == All, s.Scope == "" && s.Claim != "":
	case s.Scope == PerReplica && s.Claim != "":
		c.add(field+".scope", "a claim made outside is one claim, not one for each replica", "leave scope out, or use a template")
	case s.Scope == "":
		c.add(field+".scope", "is missing", "all, or per_replica")
	case s.Scope != PerReplica:
		c.add(field+".scope", fmt.Sprintf("%.40q is not a scope", s.Scope), "all, or per_replica")
	}
}

func (c *claimCheck) only(field string, only, members []string) {
	switch {
	case only == nil:
		return
	case members == nil:
		c.add(field, "a role has no members", "leave it out")
		return
	case len(only) == 0:
		c.add(field, "is empty, so nobody would hold the claim", "leave it out for all, or name some of: "+list(members))
		return
	case c.tooMany(field, len(only)):
		return
	}
	for i, name := range only {
		field := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case !slices.Contains(members, name):
			c.add(field, fmt.Sprintf("%.80q is no member here", name), "members: "+list(members))
		case slices.Contains(only[:i], name):
			c.add(field, name+" is named twice", "once is enough")
		}
	}
}

// sizes checks how many jobs and claims there would be, without making them.
func (c *claimCheck) sizes(l Layout) {
	jobs, claims := l.Size()
	if jobs > MaxJobs {
		c.add("replicas", fmt.Sprintf("the task would have %s jobs, more than %d", amount(jobs), MaxJobs), "fewer replicas, or several tasks")
	}
	if claims > MaxClaims {
		c.add("sharing", fmt.Sprintf("the task would make %s claims, more than %d", amount(claims), MaxClaims), "fewer replicas, a wider scope, or several tasks")
	}
}

// amount is a number for people.
func amount(n int64) string {
	if n == math.MaxInt64 {
		return "countless"
	}
	return fmt.Sprint(n)
}
