package pilots

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/divvyhq/divvy/dispatcher"
)

// The answers to pilots, written by hand: byte for byte what encoding/json writes without HTML escapes.

func appendPull(b []byte, r *dispatcher.PullReply) []byte {
	b = append(b, `{"leases":`...)
	b = appendList(b, r.Leases, appendLease)
	b = append(b, `,"renew_after_s":`...)
	b = appendFloat(b, r.RenewAfter)
	return append(b, "}\n"...)
}

func appendLease(b []byte, l *dispatcher.Lease) []byte {
	b = append(b, `{"lease":`...)
	b = appendText(b, l.Lease)
	b = append(b, `,"job":`...)
	b = strconv.AppendInt(b, l.Job, 10)
	b = append(b, `,"attempt":`...)
	b = strconv.AppendInt(b, int64(l.Attempt), 10)
	b = append(b, `,"task":`...)
	b = strconv.AppendInt(b, l.Task, 10)
	b = append(b, `,"share":`...)
	b = appendText(b, l.Share)
	b = append(b, `,"command":`...)
	b = appendTexts(b, l.Command)
	b = append(b, `,"env":`...)
	b = appendLabels(b, l.Env)
	b = append(b, `,"cores":`...)
	b = strconv.AppendInt(b, int64(l.Cores), 10)
	b = append(b, `,"memory_mb":`...)
	b = strconv.AppendInt(b, l.MemoryMB, 10)
	b = append(b, `,"disk_mb":`...)
	b = strconv.AppendInt(b, l.DiskMB, 10)
	b = append(b, `,"walltime_s":`...)
	b = strconv.AppendInt(b, l.WalltimeS, 10)
	b = append(b, `,"expires_in_s":`...)
	b = appendFloat(b, l.ExpiresIn)
	return append(b, '}')
}

func appendRenew(b []byte, r *dispatcher.RenewReply) []byte {
	b = append(b, `{"kept":`...)
	b = appendTexts(b, r.Kept)
	b = append(b, `,"lost":`...)
	b = appendTexts(b, r.Lost)
	b = append(b, `,"cancel":`...)
	b = appendList(b, r.Cancel, func(b []byte, c *dispatcher.CancelOrder) []byte {
		b = append(b, `{"lease":`...)
		b = appendText(b, c.Lease)
		b = append(b, `,"reason":`...)
		b = appendText(b, c.Reason)
		b = append(b, `,"grace_s":`...)
		b = appendFloat(b, c.GraceS)
		return append(b, '}')
	})
	b = append(b, `,"renew_after_s":`...)
	b = appendFloat(b, r.RenewAfter)
	return append(b, "}\n"...)
}

func appendFinish(b []byte, r *dispatcher.FinishReply) []byte {
	b = append(b, `{"verdicts":`...)
	b = appendList(b, r.Verdicts, func(b []byte, v *dispatcher.Verdict) []byte {
		b = append(b, `{"lease":`...)
		b = appendText(b, v.Lease)
		b = append(b, `,"verdict":`...)
		b = appendText(b, v.Verdict)
		b = append(b, `,"job_state":`...)
		b = appendText(b, v.JobState)
		return append(b, '}')
	})
	return append(b, "}\n"...)
}

func appendList[T any](b []byte, list []T, item func([]byte, *T) []byte) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = item(b, &list[i])
	}
	return append(b, ']')
}

func appendTexts(b []byte, list []string) []byte {
	return appendList(b, list, func(b []byte, s *string) []byte { return appendText(b, *s) })
}

// appendLabels writes a map by rising keys.
func appendLabels(b []byte, m map[string]string) []byte {
	if m == nil {
		return append(b, "null"...)
	}
	var room [8]string
	keys := room[:0]
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	b = append(b, '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, key)
		b = append(b, ':')
		b = appendText(b, m[key])
	}
	return append(b, '}')
}

// appendText writes s in quotes. Quotes, backslashes and control bytes are escaped; so are the two line separators
// that JavaScript does not take, and what is not UTF-8 becomes the replacement character.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		size, escape := 1, ""
		if c < utf8.RuneSelf {
			escape = escapes[c]
		} else {
			var r rune
			r, size = utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				escape = `\ufffd`
			case r == '\u2028':
				escape = `\u2028`
			case r == '\u2029':
				escape = `\u2029`
			}
		}
		if escape != "" {
			b = append(b, s[done:i]...)
			b = append(b, escape...)
			done = i + size
		}
		i += size
	}
	b = append(b, s[done:]...)
	return append(b, '"')
}

// escapes of the ASCII characters that need one.
var escapes = func() (table [utf8.RuneSelf]string) {
	for c := range byte(' ') {
		table[c] = fmt.Sprintf(`\u%04x`, c)
	}
	table['\b'], table['\f'], table['\n'], table['\r'], table['\t'] = `\b`, `\f`, `\n`, `\r`, `\t`
	table['"'], table['\\'] = `\"`, `\\`
	return table
}()

// appendFloat writes f as encoding/json does: like ES6, with an exponent only where it is shorter.
func appendFloat(b []byte, f float64) []byte {
	if n := int64(f); float64(n) == f && n > -1e15 && n < 1e15 && (n != 0 || !math.Signbit(f)) {
		return strconv.AppendInt(b, n, 10)
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		panic(fmt.Sprintf("api: %v is not a JSON number", f)) // the edge answers 500
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	b = strconv.AppendFloat(b, f, format, -1, 64)
	if n := len(b); format == 'e' && n >= 4 && b[n-4] == 'e' && b[n-3] == '-' && b[n-2] == '0' { // e-09 to e-9
		b[n-2] = b[n-1]
		b = b[:n-1]
	}
	return b
}
