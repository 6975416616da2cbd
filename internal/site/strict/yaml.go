package strict

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Limits bound a file. Zero fields take the defaults.
type Limits struct {
	Bytes  int // size of the file; default 1 MiB
	Depth  int // nesting of values; default 100
	Values int // values read, those behind an alias each time; default 200,000
}

func (l Limits) withDefaults() Limits {
	if l.Bytes == 0 {
		l.Bytes = 1 << 20
	}
	if l.Depth == 0 {
		l.Depth = 100
	}
	if l.Values == 0 {
		l.Values = 200_000
	}
	return l
}

// Parse reads the documents of a file. What is not YAML is in the report already; the documents before that
// fault are returned. An empty file has no documents.
func Parse(file string, src []byte, l Limits) ([]Value, *Report) {
	l = l.withDefaults()
	r := &Report{file: file, limits: l, left: l.Values, places: map[[2]int]bool{}, known: map[Problem]bool{}}
	if len(src) > l.Bytes {
		r.Add(fmt.Sprintf("the file has %d bytes, more than %d", len(src), l.Bytes), "split it")
		return nil, r
	}
	if !checkText(src, r) {
		return nil, r
	}
	var docs []Value
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	for {
		var n yaml.Node
		err := decode(decoder, &n)
		if errors.Is(err, io.EOF) {
			return docs, r
		}
		if err != nil {
			r.syntax(err)
			return docs, r
		}
		if len(n.Content) == 1 {
			docs = append(docs, Value{node: n.Content[0], report: r, depth: l.Depth, name: "the document"})
		}
	}
}

// decode keeps a panic of the YAML library from ending a daemon.
func decode(d *yaml.Decoder, n *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("not readable: %v", p)
		}
	}()
	return d.Decode(n)
}

// checkText finds what YAML does not allow in a file at all; the library would not say where it is.
func checkText(src []byte, r *Report) bool {
	line, column := 1, 1
	for i := 0; i < len(src); {
		c, size := utf8.DecodeRune(src[i:])
		switch {
		case c == utf8.RuneError && size <= 1:
			r.at(line, column, "not UTF-8", "save the file as UTF-8")
			return false
		case c < ' ' && c != '\t' && c != '\n' && c != '\r', c == 0x7f, c == 0xfffe, c == 0xffff:
			r.at(line, column, fmt.Sprintf("control character %U", c), "delete it")
			return false
		case c == '\n':
			line, column = line+1, 0
		}
		i, column = i+size, column+1
	}
	return true
}

var errorLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

// syntax reports an error of the library. Its parser counts lines from 0 and names the start of the block that
// it could not finish; its scanner counts from 1.
func (r *Report) syntax(err error) {
	text := err.Error()
	m := errorLine.FindStringSubmatch(text)
	text = strings.TrimPrefix(text, m[0])
	line, _ := strconv.Atoi(m[1])
	hint := ""
	if strings.HasPrefix(text, "did not find expected") {
		line++
		hint = "in the block that starts or ends here: look at the indentation, and for a missing ':' or '-'"
	}
	r.at(max(line, 1), 1, "not valid YAML: "+text, hint)
}

// Value is one value of a document and where it is. The zero Value is an absent one: it reads as nothing.
type Value struct {
	node   *yaml.Node
	report *Report
	up     *Value // what it stands in
	depth  int    // levels that may still follow
	name   string // the key that it stands under, for messages
}

// Present tells a value of the document from the zero Value.
func (v Value) Present() bool { return v.node != nil }

// Name is the key that the value stands under.
func (v Value) Name() string { return v.name }

// Line is where the value is, counted from 1; 0 for an absent one.
func (v Value) Line() int {
	if v.node == nil {
		return 0
	}
	return v.node.Line
}

// IsNull tells an empty value from a given one.
func (v Value) IsNull() bool { return v.node != nil && v.node.ShortTag() == "!!null" }

// IsMapping says whether the value is a mapping.
func (v Value) IsMapping() bool { return v.node != nil && v.node.Kind == yaml.MappingNode }

// IsText says whether the value is a scalar that YAML takes for text, a quoted number too.
func (v Value) IsText() bool { return v.node != nil && v.node.ShortTag() == "!!str" }

// IsList says whether the value is a list.
func (v Value) IsList() bool { return v.node != nil && v.node.Kind == yaml.SequenceNode }

// Fail reports a problem at the value.
func (v Value) Fail(message, hint string) {
	if v.node != nil {
		v.report.at(v.node.Line, v.node.Column, message, hint)
	}
}

// Failed says whether a problem was reported at exactly this place.
func (v Value) Failed() bool {
	return v.node != nil && v.report.places[[2]int{v.node.Line, v.node.Column}]
}

// Failf is Fail with a format for the message and no hint.
func (v Value) Failf(format string, args ...any) { v.Fail(fmt.Sprintf(format, args...), "") }

// child descends to a node below v, through an alias if it is one. It is false at a limit, which is reported.
func (v *Value) child(n *yaml.Node, name string) (Value, bool) {
	c := Value{node: n, report: v.report, up: v, depth: v.depth - 1, name: name}
	if n.Kind == yaml.AliasNode {
		c.node = n.Alias
		for p := v; p != nil; p = p.up {
			if p.node == n.Alias {
				v.report.at(n.Line, n.Column, fmt.Sprintf("cycle: &%s contains itself", clip(n.Value)), "an alias may not stand inside what it repeats")
				return c, false
			}
		}
	}
	v.report.left--
	switch {
	case v.report.Full():
		return c, false
	case v.report.left < 0:
		if v.report.left == -1 {
			v.report.force(c.node.Line, c.node.Column, fmt.Sprintf("more than %d values from here on", v.report.limits.Values), "a value behind an alias counts each time it is used")
		}
		return c, false
	case c.depth < 0:
		c.Failf("nested more than %d deep", v.report.limits.Depth)
		return c, false
	case c.node.Style&yaml.TaggedStyle != 0:
		c.Fail("tag "+c.node.ShortTag()+" is not supported", "leave the tag out")
		return c, false
	}
	return c, true
}

// At is what a path leads to, such as plans[0].when, or as far down as there is something: where a problem with it is. It does
// not count as reading.
func (v Value) At(path string) Value {
	for path != "" {
		_, below, rest := step(v, path)
		if !below.Present() {
			break
		}
		v, path = below, strings.TrimPrefix(rest, ".")
	}
	return v
}

// Has says whether a mapping has a key.
func (v Value) Has(name string) bool { return v.Key(name).Present() }

// Key is a key of a mapping; the zero Value if it does not have it.
func (v Value) Key(name string) Value {
	if key, _, rest := step(v, name); key.Present() && rest == "" {
		return key
	}
	return Value{}
}

// Keys are the keys of a mapping. Like At this does not count as reading.
func (v Value) Keys() (keys []Value) {
	for i := 0; v.IsMapping() && i+1 < len(v.node.Content); i += 2 {
		keys = append(keys, Value{node: v.node.Content[i], report: v.report, up: &v, depth: v.depth - 1, name: "key"})
	}
	return keys
}

// step is the element or the entry, with its key, that a path begins with, and what is left of the path. Of the keys of a mapping,
// which may have points in them, it is the longest.
func step(v Value, path string) (key, below Value, rest string) {
	var nodes []*yaml.Node
	if v.IsList() || v.IsMapping() {
		nodes = v.node.Content
	}
	child := func(n *yaml.Node, name string) Value {
		if n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		return Value{node: n, report: v.report, up: &v, depth: v.depth - 1, name: name}
	}
	if v.IsList() {
		number, after, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		if i, err := strconv.Atoi(number); err == nil && i >= 0 && i < len(nodes) {
			return key, child(nodes[i], v.name), after
		}
		return key, below, path
	}
	rest, most := path, -1
	for i := 0; i+1 < len(nodes); i += 2 {
		name := child(nodes[i], "key")
		text := name.node.Value
		after, ok := strings.CutPrefix(path, text)
		if ok && len(text) > most && (after == "" || after[0] == '.' || after[0] == '[') {
			key, below, rest, most = name, child(nodes[i+1], clip(text)), after, len(text)
		}
	}
	return key, below, rest
}

// kind is the value's kind in words, for messages.
func kind(v Value) string {
	switch {
	case v.IsMapping():
		return "a mapping"
	case v.IsList():
		return "a list"
	case v.IsNull():
		return "nothing"
	case v.node.ShortTag() == "!!str":
		return strconv.Quote(clip(v.node.Value))
	default:
		return clip(v.node.Value)
	}
}

// clip keeps messages short whatever the file holds.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// scalar is the text of a value that is neither mapping nor list nor empty, and its tag.
func scalar(v Value, expected string) (text, tag string, ok bool) {
	if v.node == nil {
		return "", "", false
	}
	if v.node.Kind != yaml.ScalarNode || v.IsNull() {
		v.Failf("%s: expected %s, got %s", v.name, expected, kind(v))
		return "", "", false
	}
	return v.node.Value, v.node.ShortTag(), true
}

// pairs calls visit for every key of a mapping that is not a repetition.
func (v Value) pairs(visit func(key, val Value)) bool {
	if v.node == nil {
		return false
	}
	if !v.IsMapping() {
		v.Failf("%s: expected a mapping, got %s", v.name, kind(v))
		return false
	}
	first := make(map[string]int, len(v.node.Content)/2)
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		key, ok := v.child(v.node.Content[i], "key")
		if !ok {
			return false
		}
		text, tag, ok := scalar(key, "a name")
		if tag == "!!merge" {
			key.Fail("merge keys are not supported", "write the keys out; a whole value may be an alias")
			continue
		}
		if !ok {
			continue
		}
		if line, dup := first[text]; dup {
			key.Fail(fmt.Sprintf("key %q is given twice", clip(text)), fmt.Sprintf("first in line %d", line))
			continue
		}
		first[text] = key.node.Line
		if val, ok := v.child(v.node.Content[i+1], clip(text)); ok {
			visit(key, val)
		}
	}
	return true
}

// List is the elements of a list; they carry the list's name.
func (v Value) List() ([]Value, bool) {
	if v.node == nil {
		return nil, false
	}
	if !v.IsList() {
		v.Failf("%s: expected a list, got %s", v.name, kind(v))
		return nil, false
	}
	list := make([]Value, 0, len(v.node.Content))
	for _, n := range v.node.Content {
		c, ok := v.child(n, v.name)
		if ok {
			list = append(list, c)
		} else if v.report.left < 0 || v.report.Full() {
			return nil, false
		}
	}
	return list, true
}
