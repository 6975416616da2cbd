package keys

import (
	"fmt"
	"regexp"
	"strconv"
)

var groupIn = regexp.MustCompile(`\$(?:\{(\w*)\}|(\w*))`)

// CheckGroups refuses a user name that refers to a group which the pattern does not have, since that group would be
// empty.
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
