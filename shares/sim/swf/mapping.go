package swf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// placeholders are what a Mapping may name.
var placeholders = []string{"uid", "gid", "queue", "partition"}

// Mapping makes the path of a share out of a record: share=group.{gid}.
type Mapping struct {
	parts []string // text and placeholders in turn, text first
}

// ParseMapping reads share=PATH, in which {uid}, {gid}, {queue} and {partition} stand for the numbers of a record.
func ParseMapping(s string) (Mapping, error) {
	const form = "expected share=PATH with {uid}, {gid}, {queue} or {partition} in it, such as share=group.{gid}"
	path, ok := strings.CutPrefix(s, "share=")
	if !ok || path == "" {
		return Mapping{}, fmt.Errorf("%q: %s", s, form)
	}
	var m Mapping
	for {
		text, rest, open := strings.Cut(path, "{")
		if strings.Contains(text, "}") {
			return Mapping{}, fmt.Errorf("%q: a } without a {; %s", s, form)
		}
		m.parts = append(m.parts, text)
		if !open {
			return m, nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || !slices.Contains(placeholders, name) {
			return Mapping{}, fmt.Errorf("%q: {%s is no placeholder; %s", s, name, form)
		}
		m.parts = append(m.parts, name)
		path = after
	}
}

// Share is the path for a record. What is not known is written unknown.
func (m Mapping) Share(r Record) string {
	var b strings.Builder
	for i, p := range m.parts {
		if i%2 == 0 {
			b.WriteString(p)
			continue
		}
		n := map[string]int64{"uid": r.User, "gid": r.Group, "queue": r.Queue, "partition": r.Partition}[p]
		if n == Unknown {
			b.WriteString("unknown")
		} else {
			b.WriteString(strconv.FormatInt(n, 10))
		}
	}
	return b.String()
}
