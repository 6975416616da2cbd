package slurm

import (
	"fmt"
	"strings"

	"github.com/divvyhq/divvy/internal/slurm"
)

// Help returns what options of a command do.
func Help(name string) string {
	var b strings.Builder
	var idle []string
	fmt.Fprintf(&b, "Options of %s:\n\n", name)
	for _, o := range slurm.Tables[name] {
		long := "--" + o.Long
		if o.Effect == "" {
			idle = append(idle, long)
			continue
		}
		short := "    "
		if o.Short != 0 {
			short = fmt.Sprintf("-%c, ", o.Short)
		}
		fmt.Fprintf(&b, "  %s%-22s %s\n", short, long, o.Effect)
	}
	if len(idle) > 0 {
		fmt.Fprintf(&b, "\nWithout effect: %s.\n", strings.Join(idle, " "))
	}
	return b.String()
}
