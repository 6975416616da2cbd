package keys

import (
	"fmt"
	"regexp"
	"strconv"
)

var groupIn = regexp.MustCompile(`\$(?:\{(\w*)\}|(\w*))`)

// CheckGroups refuses a name by a group that the pattern does not have: it would be empty.
func CheckGroups(pattern *regexp.Regexp, name string) error {
	for _, m := range groupIn.FindAllStringSubmatch(name, -1) {
		group := m[1] + m[2]
		n, err := strconv.Atoi(group)
		if err == nil && n <= pattern.NumSubexp() || group != "" && pattern.SubexpIndex(group) > 0 {
			continue
		}
		return fmt.Errorf("user %s: the pattern has no group %q; in front of letters write ${1}", name, group)
	}
	return nil
}
