package file

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Pilot is who asks a queue for jobs on the PanDA routes: the name of its token, the user of its certificate and the
// vo or vo.role that it speaks for; "" where it has none.
type Pilot struct {
	Token, User, Origin string
}

// The kinds of entries of queues[].pilots. The kind is explicit, so that the name of a token cannot pass for a user.
const (
	byToken = "token"
	byUser  = "user"
	byVO    = "vo"
)

const pilotsHint = "for instance token:cern, user:robot-* or vo:atlas.pilot"

// pilots is an entry of a queue's list: token:NAME, user:NAME, vo:VO or vo:VO.ROLE, each with globs.
func pilots(entry string) (wrong, hint string) {
	kind, pattern, _ := strings.Cut(entry, ":")
	_, err := path.Match(pattern, "")
	switch {
	case !slices.Contains([]string{byToken, byUser, byVO}, kind):
		return fmt.Sprintf(": %q names neither token:, user: nor vo:", entry), pilotsHint
	case pattern == "" || strings.ContainsAny(pattern, " \t"):
		return fmt.Sprintf(": %q needs a name after %s:, without blanks", entry, kind), pilotsHint
	case err != nil:
		return fmt.Sprintf(": %q is no glob", entry), "* stands for any letters, ? for one, [ab] for one of these"
	}
	return "", ""
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
// Unknown names of queues are refused elsewhere.
func (s *Content) Admits(queue string, p Pilot) bool {
	entries, listed := s.Pilots[queue]
	return !listed || slices.ContainsFunc(entries, p.fits)
}
