package file

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// Limit bounds what tasks that belong together have at a time: those of one user, of one share with all below it, with one
// label, or of what of these it names together. Each user, share or label that its globs match has the bounds for itself. Of
// the limits that name the same, the first that matches a task counts.
type Limit struct {
	User, Share, Label string // globs; "" = it does not say

	Tasks *int64        // active at a time; nil = no bound
	Ready *int64        // jobs made and not leased
	Units *shares.Units // held, ready jobs as if they were
}

// maxLimits bounds the list.
const maxLimits = 1000

// Whom says for whom the limit counts a task of that user, label and share; false: it does not concern the task. Of a share
// and those above it, the topmost that the glob matches counts.
func (l Limit) Whom(user, label, share string) (string, bool) {
	var parts []string
	for _, is := range []struct{ what, glob, name string }{{"user", l.User, user}, {"label", l.Label, label}} {
		if is.glob == "" {
			continue
		}
		if !matches(is.glob, is.name) || is.name == "" {
			return "", false
		}
		parts = append(parts, is.what+" "+is.name)
	}
	if l.Share != "" {
		node, ok := topmost(l.Share, share)
		if !ok {
			return "", false
		}
		parts = append(parts, "share "+node)
	}
	return strings.Join(parts, ", "), true
}

// matches says whether a glob means a user or a label. These have no levels as shares have: * stands for any letters, so that
// nobody is without a limit whose name has a slash, as that of a certificate does.
func matches(glob, name string) bool {
	const slash, letter = "/", "\x00"
	ok, _ := path.Match(strings.ReplaceAll(glob, slash, letter), strings.ReplaceAll(name, slash, letter))
	return ok
}

// topmost is the first share on the way down to a leaf that a glob matches.
func topmost(glob, leaf string) (string, bool) {
	for i := range len(leaf) + 1 {
		if i == len(leaf) || leaf[i] == '/' {
			if ok, _ := path.Match(glob, leaf[:i]); ok && i > 0 {
				return leaf[:i], true
			}
		}
	}
	return "", false
}

// names says which of user, share and label it names: limits that name the same are exceptions of each other.
func (l Limit) names() [3]bool { return [3]bool{l.User != "", l.Share != "", l.Label != ""} }

// LimitOf is a limit that concerns a task.
type LimitOf struct {
	Limit
	Index int    // in the file
	Whom  string // for whom it counts the task
}

// LimitsOf are the limits that concern tasks of that user, label and share, in file order.
func (s *Content) LimitsOf(user, label, share string) []LimitOf {
	var all []LimitOf
	seen := map[[3]bool]bool{}
	for i, l := range s.Limits {
		if seen[l.names()] {
			continue
		}
		if whom, ok := l.Whom(user, label, share); ok {
			seen[l.names()] = true
			all = append(all, LimitOf{Limit: l, Index: i, Whom: whom})
		}
	}
	return all
}

// String is the limit as the file has it, for people.
func (l Limit) String() string {
	var parts []string
	for _, is := range []struct{ key, glob string }{{"user", l.User}, {"share", l.Share}, {"label", l.Label}} {
		if is.glob != "" {
			parts = append(parts, fmt.Sprintf("%s %q", is.key, is.glob))
		}
	}
	text := strings.Join(parts, ", ") + ":"
	for _, is := range []struct {
		key string
		n   *int64
	}{{"max_active_tasks", l.Tasks}, {"max_ready_jobs", l.Ready}} {
		if is.n != nil {
			text += fmt.Sprintf(" %s %d", is.key, *is.n)
		}
	}
	if l.Units != nil {
		text += " max_held_units " + l.Units.String()
	}
	return text
}

// limit is one of a file, and where that says it.
type limit struct {
	Limit
	entry strict.Value
	seen  strict.Seen
}

func readLimits(v strict.Value) []limit {
	list, _ := v.List()
	if len(list) > maxLimits {
		tooMany(v, len(list), maxLimits)
		return nil
	}
	limits := make([]limit, 0, len(list))
	for _, e := range list {
		limits = append(limits, readLimit(e))
	}
	return limits
}

// addLimits takes the limits over, and refuses those that bound nothing: that mean no share, or whose tasks are all bound by
// one before them.
func (s *Content) addLimits(limits []limit, all []*share) {
	var paths []string
	each(all, func(s *share) { paths = append(paths, s.path) })
	for i, l := range limits {
		s.Limits = append(s.Limits, l.Limit)
		if l.entry.Failed() {
			continue
		}
		if l.Share != "" && !slices.ContainsFunc(paths, func(p string) bool { _, ok := topmost(l.Share, p); return ok }) {
			l.seen.At("share").Fail(fmt.Sprintf("share: %q means no share", l.Share), strict.DidYouMean(l.Share, paths))
		}
		if k := slices.IndexFunc(limits[:i], func(before limit) bool { return !before.entry.Failed() && before.covers(l.Limit) }); k >= 0 {
			l.entry.Fail(fmt.Sprintf("the limit bounds nothing: that of line %d bounds all that it means", limits[k].entry.Line()), "of those that name the same the first that matches counts: put exceptions first, and all bounds of one into it")
		}
	}
}

// covers says whether a limit means all that another one means, by the looks of the globs.
func (l Limit) covers(other Limit) bool {
	return l.names() == other.names() && covers(l.User, other.User) && covers(l.Share, other.Share) && covers(l.Label, other.Label)
}

func covers(glob, other string) bool { return glob == other || glob == "*" }

func readLimit(v strict.Value) (l limit) {
	l.entry = v
	seen := v.Mapping(strict.Fields{
		"user":             func(v strict.Value) { l.User = readGlob(v) },
		"share":            func(v strict.Value) { l.Share = readGlob(v) },
		"label":            func(v strict.Value) { l.Label = readGlob(v) },
		"max_active_tasks": func(v strict.Value) { l.Tasks = readBound(v) },
		"max_ready_jobs":   func(v strict.Value) { l.Ready = readBound(v) },
		"max_held_units": func(v strict.Value) {
			if m, ok := v.Milli(); ok {
				units := shares.Units(bounded(v, m, maxAmount))
				l.Units = &units
			}
		},
	})
	switch {
	case v.Failed():
	case !seen.Has("user") && !seen.Has("share") && !seen.Has("label"):
		v.Fail("the limit does not say whose it is", `user, share or label: a glob, "*" for each of them`)
	case !seen.Has("max_active_tasks") && !seen.Has("max_ready_jobs") && !seen.Has("max_held_units"):
		v.Fail("the limit has no bound", "max_active_tasks, max_ready_jobs or max_held_units")
	}
	l.seen = seen
	return l
}

func readGlob(v strict.Value) string {
	s, ok := v.NonEmpty()
	if _, err := path.Match(s, ""); ok && err != nil {
		v.Fail(fmt.Sprintf("%s %q is not a glob", v.Name(), s), "for instance phys-*")
	}
	return s
}

func readBound(v strict.Value) *int64 {
	n, ok := v.Int(0, maxAmount)
	if !ok {
		return nil
	}
	return &n
}
