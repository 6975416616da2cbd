package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Pickle is a value in the first form that Python's module of this name reads: text, an operation a line. Some old calls
// are answered in it. Of what comes in it only lists of ids are read.
type Pickle []byte

// tuple is a list that is one in Python; byID is a dictionary whose keys are ints there.
type (
	Tuple []any
	ByID  map[string]any
)

// PickleOf writes a value as it would be in JSON.
func PickleOf(v any) Pickle {
	var b bytes.Buffer
	pickleTo(&b, v)
	b.WriteByte('.')
	return b.Bytes()
}

func pickleTo(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteByte('N')
	case bool:
		b.WriteString(map[bool]string{true: "I01\n", false: "I00\n"}[v])
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			fmt.Fprintf(b, "F%s\n", v)
		} else {
			fmt.Fprintf(b, "I%s\n", v)
		}
	case string:
		pickleText(b, v)
	case Tuple:
		b.WriteByte('(')
		for _, item := range v {
			pickleTo(b, item)
		}
		b.WriteByte('t')
	case []any:
		b.WriteString("(l")
		for _, item := range v {
			pickleTo(b, item)
			b.WriteByte('a')
		}
	case ByID:
		pickleDict(b, v, func(key string) { fmt.Fprintf(b, "I%s\n", key) })
	case map[string]any:
		pickleDict(b, v, func(key string) { pickleText(b, key) })
	default:
		pickleTo(b, asRead(v))
	}
}

// asRead returns a value as it would be after encoding to JSON and back.
func asRead(v any) (read any) {
	text, err := json.Marshal(v)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		err = d.Decode(&read)
	}
	if err != nil {
		panic(fmt.Sprintf("panda: %T does not encode: %v", v, err)) // the edge answers 500
	}
	return read
}

func pickleDict(b *bytes.Buffer, v map[string]any, key func(string)) {
	b.WriteString("(d")
	for _, name := range slices.Sorted(maps.Keys(v)) {
		key(name)
		pickleTo(b, v[name])
		b.WriteByte('s')
	}
}

func pickleText(b *bytes.Buffer, text string) {
	b.WriteByte('V')
	for _, r := range text {
		if r < ' ' || r > '~' || r == '\\' {
			fmt.Fprintf(b, `\U%08x`, r)
			continue
		}
		b.WriteRune(r)
	}
	b.WriteByte('\n')
}

// PickledIDs reads a list of ids in that form; nil if the text is no such list.
func PickledIDs(text string) (ids []any) {
	if !strings.HasPrefix(text, "(l") || !strings.HasSuffix(text, ".") {
		return nil
	}
	ids = []any{}
	for _, id := range regexp.MustCompile(`(?m)^a?[IL](-?[0-9]+)L?$`).FindAllStringSubmatch(text, -1) {
		if _, err := strconv.ParseInt(id[1], 10, 64); err != nil {
			return nil
		}
		ids = append(ids, json.Number(id[1]))
	}
	return ids
}
