package pilots

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// scan reads JSON of the common shape by hand. Whatever it does not know to the letter makes it fail: the caller
// then lets encoding/json have the whole body, which accepts it or says what is wrong. So scan may refuse too much,
// but what it takes must be valid JSON and mean what encoding/json makes of it.
type scan struct {
	in  []byte
	at  int
	all string // in, when it is short enough that strings may share its memory; else ""
	bad bool
}

// sharedText is the longest body whose strings share one allocation: a string that is kept for long keeps them all.
const sharedText = 4 << 10

func newScan(in []byte) scan {
	s := scan{in: in}
	if len(in) <= sharedText {
		s.all = string(in)
	}
	return s
}

// next is the next byte that is no blank; 0 at the end.
func (s *scan) next() byte {
	for ; s.at < len(s.in); s.at++ {
		switch c := s.in[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// take is true, and a byte further, when the next one is c.
func (s *scan) take(c byte) bool {
	if s.next() != c {
		return false
	}
	s.at++
	return true
}

func (s *scan) want(c byte) {
	if !s.take(c) {
		s.bad = true
	}
}

// null is true, and further, when the next value is null.
func (s *scan) null() bool {
	if s.next() != 'n' {
		return false
	}
	if len(s.in)-s.at < 4 || string(s.in[s.at:s.at+4]) != "null" {
		s.bad = true
		return false
	}
	s.at += 4
	return true
}

// end is true when nothing follows and nothing was wrong.
func (s *scan) end() bool { return !s.bad && s.next() == 0 && s.at == len(s.in) }

// object calls field with each key, which reads the value. A key that occurs twice is the caller's to refuse.
func (s *scan) object(field func(key []byte)) {
	s.want('{')
	if s.bad || s.take('}') {
		return
	}
	for {
		if s.next() != '"' {
			s.bad = true
			return
		}
		from, to, plain := s.quoted()
		s.want(':')
		if s.bad || !plain {
			s.bad = true
			return
		}
		field(s.in[from:to])
		if s.bad || !s.take(',') {
			break
		}
	}
	s.want('}')
}

// list calls item at each element, which reads it.
func (s *scan) list(item func()) {
	s.want('[')
	if s.bad || s.take(']') {
		return
	}
	for {
		item()
		if s.bad || !s.take(',') {
			break
		}
	}
	s.want(']')
}

// quoted is what stands between two quotes, the first of which is next. plain is true when that is the string
// itself: no escapes, ASCII only.
func (s *scan) quoted() (from, to int, plain bool) {
	from, plain = s.at+1, true
	for i := from; i < len(s.in); i++ {
		switch c := s.in[i]; {
		case c == '"':
			s.at = i + 1
			return from, i, plain
		case c == '\\':
			plain = false
			i++
		case c < ' ':
			s.bad = true
			return from, from, false
		case c >= 0x80:
			plain = false
		}
	}
	s.bad = true
	return from, from, false
}

// text is a string; null leaves what was there.
func (s *scan) text(into *string) {
	if s.next() != '"' {
		if !s.null() {
			s.bad = true
		}
		return
	}
	from, to, plain := s.quoted()
	switch {
	case s.bad:
	case !plain:
		*into = s.unescape(from, to)
	case s.all != "":
		*into = s.all[from:to]
	default:
		*into = string(s.in[from:to])
	}
}

// unescape is a string with escapes or beyond ASCII. The rare ones (\u, and bytes that are not UTF-8 and must be
// replaced) are encoding/json's business.
func (s *scan) unescape(from, to int) string {
	in := s.in[from:to]
	var out strings.Builder
	out.Grow(len(in))
	if !utf8.Valid(in) {
		return s.unquote(from, to)
	}
	for {
		i := bytes.IndexByte(in, '\\')
		if i < 0 {
			break
		}
		out.Write(in[:i])
		c := unescaped[in[i+1]] // there is one: a backslash before the quote would have hidden the quote
		if c == 0 {
			return s.unquote(from, to)
		}
		out.WriteByte(c)
		in = in[i+2:]
	}
	out.Write(in)
	return out.String()
}

func (s *scan) unquote(from, to int) (text string) {
	s.bad = json.Unmarshal(s.in[from-1:to+1], &text) != nil
	return text
}

// unescaped are the characters for the letters of short escapes.
var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// number is the text of a number, by JSON's grammar. whole is true when it has neither fraction nor exponent.
func (s *scan) number() (text []byte, whole bool) {
	s.next()
	from := s.at
	if s.at < len(s.in) && s.in[s.at] == '-' {
		s.at++
	}
	lead := s.at
	if n := s.digits(); n == 0 || n > 1 && s.in[lead] == '0' {
		s.bad = true
		return nil, false
	}
	whole = true
	if s.at < len(s.in) && s.in[s.at] == '.' {
		s.at++
		whole = false
		if s.digits() == 0 {
			s.bad = true
		}
	}
	if s.at < len(s.in) && s.in[s.at]|0x20 == 'e' {
		s.bad = true // rare
	}
	return s.in[from:s.at], whole
}

func (s *scan) digits() (n int) {
	for s.at < len(s.in) && '0' <= s.in[s.at] && s.in[s.at] <= '9' {
		s.at++
		n++
	}
	return n
}

// integer is a whole number that surely fits; null leaves what was there.
func (s *scan) integer(into *int64) {
	if s.null() || s.bad {
		return
	}
	text, whole := s.number()
	if s.bad || !whole || len(text) > 18 {
		s.bad = true
		return
	}
	n, sign := int64(0), int64(1)
	for _, c := range text {
		if c == '-' {
			sign = -1
			continue
		}
		n = n*10 + int64(c-'0')
	}
	*into = sign * n
}

// small is an integer that fits an int of any machine.
func (s *scan) small(into *int) {
	n := int64(*into)
	s.integer(&n)
	if int64(int32(n)) != n {
		s.bad = true
		return
	}
	*into = int(n)
}

// float is a number; null leaves what was there.
func (s *scan) float(into *float64) {
	if s.null() || s.bad {
		return
	}
	text, _ := s.number()
	if s.bad || len(text) > 32 {
		s.bad = true
		return
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		s.bad = true
		return
	}
	*into = f
}

// deepest is how deep a value may be nested that is only looked over; encoding/json has a limit, too.
const deepest = 100

// skip steps over an object or a list and returns its text, whose validity it does not check.
func (s *scan) skip() []byte {
	s.next()
	from, depth := s.at, 0
	for s.at < len(s.in) {
		switch s.in[s.at] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			s.quoted()
			s.at-- // the closing quote, see below
		}
		s.at++
		if s.bad || depth > deepest {
			break
		}
		if depth == 0 {
			return s.in[from:s.at]
		}
	}
	s.bad = true
	return nil
}
