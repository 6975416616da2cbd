package logs

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
)

const hidden = "xxxxx"

// secrets replaces what must not be read in a log.
type secrets struct {
	mu    sync.RWMutex
	exact []string
}

func (s *secrets) add(secret string) {
	if len(secret) < 6 {
		return // it would blot out words
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exact = append(s.exact, secret)
}

// Names of attributes whose values are secret, and forms in which secrets stand in texts: a URL with a password, a
// keyword DSN, a header, an assignment; a list or a column of several; a token of ours, a JSON web token. "tokens: " alone is no assignment: keys of the configuration
// whose files are wrong are said so.
var (
	secretName = regexp.MustCompile(`(?i)(^|_)(passwords?|passwd|tokens?|secrets?|authorization|api_keys?|apikeys?|cookies?)$`)
	inURL      = regexp.MustCompile(`(://[^:/?#\s@]*:)[^/?#\s@]+(@)`)
	bearer     = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}`)
	ours       = regexp.MustCompile(`\b(divvy_[0-9a-f]{10}_)[A-Za-z0-9_-]+`) // a token of internal/access: its begin may be said
	web        = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]+\.eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`)
	listed     = regexp.MustCompile(`(?i)("?\b(?:[a-z0-9]+_)*(?:password|token|secret|api_?key)s"?\s*[=:]\s*)(\[[^\]]*\]|\{[^}]*\})`)
	several    = regexp.MustCompile(`(?i)\b((?:[a-z0-9]+_)*(?:password|token|secret|api_?key)s)("\s*:\s*"?|=\s*"?)('[^']*'|[^\s"'&,;]+)`)
	assigned   = regexp.MustCompile(`(?i)\b((?:[a-z0-9]+_)*(?:password|passwd|pwd|token|secret|api_?key))("?\s*[=:]\s*"?)('[^']*'|[^\s"'&,;]+)`)
)

func (s *secrets) replace(_ []string, a slog.Attr) slog.Attr {
	if secretName.MatchString(a.Key) {
		return slog.String(a.Key, hidden)
	}
	switch a.Value.Kind() {
	case slog.KindString:
		if text := a.Value.String(); len(text) >= 6 {
			if clean := s.clean(text); clean != text {
				a.Value = slog.StringValue(clean)
			}
		}
	case slog.KindAny:
		switch v := a.Value.Any().(type) {
		case error:
			a.Value = slog.StringValue(s.clean(v.Error()))
		case *slog.Source:
		case fmt.Stringer:
			a.Value = slog.StringValue(s.clean(v.String()))
		default:
			text := fmt.Sprint(v)
			if clean := s.clean(text); clean != text {
				a.Value = slog.StringValue(clean)
			}
		}
	}
	return a
}

func (s *secrets) clean(text string) string {
	s.mu.RLock()
	for _, secret := range s.exact {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	s.mu.RUnlock()
	if strings.Contains(text, "://") {
		text = inURL.ReplaceAllString(text, "${1}"+hidden+"${2}")
	}
	if strings.Contains(text, "divvy_") {
		text = ours.ReplaceAllString(text, "${1}"+hidden)
	}
	if strings.Contains(text, "eyJ") {
		text = web.ReplaceAllString(text, hidden)
	}
	text = bearer.ReplaceAllString(text, "${1} "+hidden)
	text = listed.ReplaceAllString(text, "${1}"+hidden)
	text = several.ReplaceAllString(text, "${1}${2}"+hidden)
	return assigned.ReplaceAllString(text, "${1}${2}"+hidden)
}
