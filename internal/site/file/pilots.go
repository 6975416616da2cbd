package file

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/internal/site/strict"
)

// Pilot is who asks a queue for jobs on the PanDA routes: the name of its token, the user of its certificate and the
// vo or vo.role that it speaks for; "" where it has none.
type Pilot struct {
	Token, User, Origin string
}

// The kinds of entries of queues[].pilots. The kind is written, so that nobody becomes a user by the name of a token.
const (
	byToken = "token"
	byUser  = "user"
	byVO    = "vo"
)

// maxPilots bounds the entries of one queue.
const maxPilots = 100

// readPilots reads the list of a queue: token:NAME, user:NAME, vo:VO or vo:VO.ROLE, each with globs. An empty list
// would be a queue for nobody.
func readPilots(v strict.Value) []string {
	list, ok := v.List()
	switch {
	case ok && len(list) == 0:
		v.Fail("pilots is empty", "leave it out for every pilot; `divvy queue offline` closes a queue")
		return nil
	case len(list) > maxPilots:
		tooMany(v, len(list), maxPilots)
		return nil
	}
	entries := make([]string, 0, len(list))
	for _, e := range list {
		if s, ok := e.NonEmpty(); ok && goodPilots(e, s) {
			entries = append(entries, s)
		}
	}
	return entries
}

const pilotsHint = "for instance token:cern, user:robot-* or vo:atlas.pilot"

func goodPilots(v strict.Value, entry string) bool {
	kind, pattern, _ := strings.Cut(entry, ":")
	_, err := path.Match(pattern, "")
	switch {
	case !slices.Contains([]string{byToken, byUser, byVO}, kind):
		v.Fail(fmt.Sprintf("pilots: %q names neither token:, user: nor vo:", entry), pilotsHint)
	case pattern == "" || strings.ContainsAny(pattern, " \t"):
		v.Fail(fmt.Sprintf("pilots: %q needs a name after %s:, without blanks", entry, kind), pilotsHint)
	case err != nil:
		v.Fail(fmt.Sprintf("pilots: %q is no glob", entry), "* stands for any letters, ? for one, [ab] for one of these")
	default:
		return true
	}
	return false
}

// fits says whether an entry of a queue's list means p. A VO without a role means all of its roles.
func (p Pilot) fits(entry string) bool {
	kind, pattern, _ := strings.Cut(entry, ":")
	var name string
	switch kind {
	case byToken:
		name = p.Token
	case byUser:
		name = p.User
	case byVO:
		name = p.Origin
		if !strings.Contains(pattern, ".") {
			name, _, _ = strings.Cut(name, ".")
		}
	}
	ok, err := path.Match(pattern, name)
	return name != "" && err == nil && ok
}

// Admits says whether p may pull at a queue: anybody may who is let in at all, unless the queue lists its pilots.
// Names of queues that are not there are somebody else's to refuse.
func (s *Content) Admits(queue string, p Pilot) bool {
	entries, listed := s.Pilots[queue]
	return !listed || slices.ContainsFunc(entries, p.fits)
}
