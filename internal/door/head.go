package door

import (
	"bytes"
	"net/http"
	"net/textproto"
)

// maxHead is the longest head, in bytes, that the door reads.
const maxHead = 8 << 10

// head is what the head of a plain request says. Pilots say the same each time, so it is kept from one to the next.
type head struct {
	lines  []byte // the header lines as they came; nil: none yet
	header http.Header
	host   string
	length int  // of the body
	last   bool // Connection: close
}

// verdict is what the beginning of a request turns out to be.
type verdict int

const (
	plain verdict = iota
	short         // more must come
	other         // net/http's
)

var (
	post    = []byte("POST ")
	version = []byte(" HTTP/1.1\r\n")
	end     = []byte("\r\n\r\n")
)

// read takes the head at the beginning of in; size is its length with the empty line.
func (h *head) read(in []byte, hot map[string]http.Handler) (serve http.Handler, size int, v verdict) {
	if len(in) < len(post) || !bytes.HasPrefix(in, post) {
		if bytes.HasPrefix(post, in) {
			return nil, 0, short
		}
		return nil, 0, other
	}
	line := bytes.IndexByte(in, '\n')
	if line < 0 {
		return nil, 0, unfinished(in)
	}
	path, ok := bytes.CutSuffix(in[len(post):line+1], version)
	if serve = hot[string(path)]; !ok || serve == nil {
		return nil, 0, other
	}
	rest := in[line+1:]
	if n := len(h.lines); n > 0 && bytes.HasPrefix(rest, h.lines) {
		return serve, line + 1 + n, plain
	}
	stop := bytes.Index(rest, end)
	if stop < 0 {
		return nil, 0, unfinished(in)
	}
	size = line + 1 + stop + len(end)
	if size > maxHead || !h.parse(rest[:stop+2]) {
		h.lines = nil
		return nil, 0, other
	}
	h.lines = append(h.lines[:0], rest[:stop+len(end)]...)
	return serve, size, plain
}

func unfinished(in []byte) verdict {
	if len(in) >= maxHead {
		return other
	}
	return short
}

// parse reads header lines, each with its line end; false: not plain.
func (h *head) parse(lines []byte) bool {
	header := make(http.Header, 8)
	h.header, h.host, h.length, h.last = header, "", -1, false
	for len(lines) > 0 {
		line, after, _ := bytes.Cut(lines, end[:2])
		lines = after
		name, value, ok := bytes.Cut(line, []byte(":"))
		value = bytes.Trim(value, " \t")
		if !ok || len(name) == 0 || !all(name, isName) || !all(value, isValue) {
			return false
		}
		if !h.note(textproto.CanonicalMIMEHeaderKey(string(name)), string(value)) {
			return false
		}
	}
	return h.host != "" && h.length >= 0
}

// note takes one header; false: not plain. Host stands in the request only, as in net/http.
func (h *head) note(name, value string) bool {
	switch name {
	case "Host":
		first := h.host == ""
		h.host = value
		return first && all([]byte(value), isHost)
	case "Content-Length":
		first := h.length < 0
		h.length = number(value)
		if !first || h.length < 0 {
			return false
		}
	case "Connection":
		h.last = value == "close"
		if h.header[name] != nil || !h.last && value != "keep-alive" {
			return false
		}
	case "Transfer-Encoding", "Trailer", "Te", "Expect", "Upgrade", "Pragma":
		return false
	}
	h.header[name] = append(h.header[name], value)
	return true
}

// number reads up to eight digits; anything else is -1.
func number(s string) int {
	if s == "" || len(s) > 8 {
		return -1
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}

func all(s []byte, is func(byte) bool) bool {
	for _, c := range s {
		if !is(c) {
			return false
		}
	}
	return true
}

func isLetter(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

func isName(c byte) bool { return isLetter(c) || c == '-' || c == '_' }

func isHost(c byte) bool {
	return isLetter(c) || c == '.' || c == '-' || c == ':' || c == '[' || c == ']' || c == '_'
}

func isValue(c byte) bool { return c >= ' ' && c <= '~' || c == '\t' }
