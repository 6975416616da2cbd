package dispatcher

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/divvyhq/divvy/dispatcher/resource"
)

// mostName bounds each name in a pull, in bytes: 200 characters of any kind.
const mostName = 800

const aText = "text in UTF-8 without U+0000"

// checkTexts refuses what the database does not take: it would fail the statement in which others are leased their jobs too.
// Names are bounded as well: those of nodes are parts of keys, which have bounds of their own, and pilots are remembered for a while.
func checkTexts(req *PullRequest) error {
	switch {
	case wrongName(req.Queue):
		return badName("queue", req.Queue)
	case wrongName(req.Pilot):
		return badName("pilot", req.Pilot)
	case wrongName(req.Node):
		return badName("node", req.Node)
	case len(req.Devices) > resource.MaxDevices:
		return &FieldError{"devices", fmt.Sprintf("%d devices", len(req.Devices)), fmt.Sprintf("at most %d", resource.MaxDevices)}
	case len(req.Slot.Labels) > mostLabels:
		return &FieldError{"slot.labels", fmt.Sprintf("%d labels", len(req.Slot.Labels)), fmt.Sprintf("at most %d", mostLabels)}
	}
	for i, id := range req.Devices {
		if wrongName(id) {
			return badName(fmt.Sprintf("devices[%d]", i), id)
		}
	}
	for name, value := range req.Slot.Labels {
		if wrongName(name) {
			return badName("slot.labels", name)
		}
		if wrongName(value) {
			return badName("slot.labels", value)
		}
	}
	return nil
}

func wrongName(s string) bool { return len(s) > mostName || !storable(s) }

func badName(field, s string) error {
	if len(s) > mostName {
		return &FieldError{field, fmt.Sprintf("a name of %d bytes", len(s)), fmt.Sprintf("at most %d", mostName)}
	}
	return &FieldError{field, fmt.Sprintf("%q", s), aText}
}

// storable says whether the database takes a text.
func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }
