package file

import (
	"fmt"
	"path"
	"strings"

	"github.com/divvyhq/divvy/internal/pilot/container"
	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// maxName bounds the names of shares, queues and pools, in bytes.
const maxName = 100

// nameWithout is a name that has none of some letters.
func nameWithout(banned, hint string) strict.Word {
	return func(s string) (string, string) {
		switch {
		case len(s) > maxName:
			return fmt.Sprintf(" has more than %d letters", maxName), ""
		case strings.ContainsAny(s, banned):
			return fmt.Sprintf(" %q contains %q", s, string(s[strings.IndexAny(s, banned)])), hint
		case strings.TrimSpace(s) != s:
			return fmt.Sprintf(" %q begins or ends with a space", s), ""
		case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return fmt.Sprintf(" %q contains a control character", s), ""
		}
		return "", ""
	}
}

func glob(wrong, hint string) strict.Word {
	return func(s string) (string, string) {
		if _, err := path.Match(s, ""); err != nil {
			return fmt.Sprintf(wrong, s), hint
		}
		return "", ""
	}
}

func sharePath(s string) (wrong, hint string) {
	if strings.HasPrefix(s, "/") || strings.HasSuffix(s, "/") || strings.Contains(s, "//") {
		return ": " + s + " is not a path", "names from the top, such as Production/MC"
	}
	return "", ""
}

// containers takes a way to run images.
func containers(s string) (wrong, hint string) {
	if _, err := container.Parse(s); err != nil {
		return ": " + err.Error(), ""
	}
	return "", ""
}

// resourceName takes names that can stand in addresses and before the colon of table:orders.
func resourceName(s string) (wrong, hint string) {
	if s == shares.IO {
		return `: no resource can be called "io"`, "that is what jobs read and write: say max_io of a queue, and io_intensity of a task"
	}
	return nameWithout(":/*?#% \"'", "a job asks for maya, or for table:orders of a keyed family")(s)
}
