package access

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// As says on which API a request comes. Origin is the vo[.role] for which it says that it speaks, on PanDA's API.
type As struct {
	Panda  bool
	Origin string
}

// origins are globs of the vo[.role] that a credential may speak for. One with origins is good on PanDA's API only; without any it is
// good on both, and may speak for all.
type origins []string

// readOrigin reads the word of a line that names one.
func readOrigin(glob string) (string, error) {
	if _, err := path.Match(glob, ""); err != nil {
		return "", fmt.Errorf("origin %q is no glob: * stands for any letters, ? for one, [ab] for one of these", glob)
	}
	return glob, nil
}

// as returns the caller of a request, or an error when its origins do not allow the request. A request that names no origin
// speaks for the first one without a glob: pilots send one beside a token only.
func (c *Caller) as(a As) (*Caller, error) {
	if !a.Panda && len(c.origins) == 0 {
		return c, nil
	}
	if !a.Panda {
		return nil, fmt.Errorf("%s is for PanDA's API only", c.Name)
	}
	if len(c.origins) > 0 && a.Origin == "" {
		plain := slices.IndexFunc(c.origins, func(o string) bool { return !strings.ContainsAny(o, `*?[\`) })
		if plain < 0 {
			return nil, fmt.Errorf("%s needs an origin, one of %s: send the header Origin, or name one without a glob in its line", c.Name, strings.Join(c.origins, ", "))
		}
		a.Origin = c.origins[plain]
	}
	if len(c.origins) > 0 && !slices.ContainsFunc(c.origins, func(glob string) bool {
		ok, err := path.Match(glob, a.Origin)
		return ok && err == nil
	}) {
		return nil, fmt.Errorf("%s may not speak for %s, only for %s", c.Name, a.Origin, strings.Join(c.origins, ", "))
	}
	same := *c
	same.Origin = a.Origin
	return &same, nil
}
