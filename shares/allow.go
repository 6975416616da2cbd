package shares

import (
	"path"
	"slices"
	"strings"
)

// Runs says whether the queue takes jobs of the share with a path: an entry of AllowShares means it, or there is none, and
// no entry of DenyShares does.
func (q Queue) Runs(share string) bool {
	means := func(pattern string) bool { return PatternMeans(pattern, share) }
	return (len(q.AllowShares) == 0 || slices.ContainsFunc(q.AllowShares, means)) && !slices.ContainsFunc(q.DenyShares, means)
}

// PatternMeans says whether a pattern means a share: it is the glob of its path, or of the path of a share above it. A *
// stands for letters of one name, Analysis/* for all children of Analysis.
func PatternMeans(pattern, share string) bool {
	depth, at := strings.Count(pattern, "/")+1, 0
	for i := range len(share) + 1 {
		if i < len(share) && share[i] != '/' {
			continue
		}
		if at++; at == depth {
			ok, err := path.Match(pattern, share[:i])
			return err == nil && ok
		}
	}
	return false
}
