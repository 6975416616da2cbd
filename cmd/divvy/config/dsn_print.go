package config

import (
	"errors"
	"net/url"
	"regexp"
	"strings"
)

// hidden replaces a secret, and a whole DSN whose secrets cannot be located.
const hidden = "xxxxx"

// HidePassword is a DSN without what lets somebody in: in a URL the password of the user and of the query, in keywords and
// values any of them. A DSN that does not read as pgx reads it is not shown at all.
func HidePassword(dsn string) string {
	if dsn == "" || dsn == "auto" {
		return dsn
	}
	hide := hideInKeywords
	if strings.HasPrefix(dsn, "postgres://") || strings.HasPrefix(dsn, "postgresql://") {
		hide = hideInURL
	}
	shown, err := hide(dsn)
	if err != nil {
		return hidden
	}
	return shown
}

var errNoDSN = errors.New("this is no DSN")

// dsnKey is how keys look. What looks otherwise may be part of a password that was not escaped.
var dsnKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*$`)

// secretKey says whether the value of a key lets somebody in. passfile names a file; the keys of SCRAM are as good as a password.
func secretKey(key string) bool {
	key = strings.ToLower(key)
	for _, part := range []string{"pass", "secret", "token", "scram"} {
		if strings.Contains(key, part) {
			return key != "passfile"
		}
	}
	return false
}

func hideInURL(dsn string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	if strings.Contains(u.Path, "@") || strings.Contains(dsn, "#") { // a password with a slash, a question mark or a hash in it
		return "", errNoDSN
	}
	if _, has := u.User.Password(); has {
		u.User = url.UserPassword(u.User.Username(), hidden)
	}
	if u.RawQuery == "" {
		return u.String(), nil
	}
	var pairs []string
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if pair == "" {
			continue
		}
		name, _, found := strings.Cut(pair, "=")
		key, err := url.QueryUnescape(name)
		if err != nil || !found || !dsnKey.MatchString(key) || strings.ContainsAny(pair, ";@") {
			return "", errNoDSN
		}
		if secretKey(key) {
			pair = key + "=" + hidden
		}
		pairs = append(pairs, pair)
	}
	u.RawQuery = strings.Join(pairs, "&")
	return u.String(), nil
}

const dsnBlanks = " \t\n\r\v\f"

func hideInKeywords(dsn string) (string, error) {
	var words []string
	for rest := strings.TrimLeft(dsn, dsnBlanks); rest != ""; {
		key, after, found := strings.Cut(rest, "=")
		if key = strings.TrimRight(key, dsnBlanks); !found || !dsnKey.MatchString(key) {
			return "", errNoDSN
		}
		value, left, err := cutValue(strings.TrimLeft(after, dsnBlanks))
		if err != nil {
			return "", err
		}
		if secretKey(key) {
			value = hidden
		}
		words = append(words, key+"="+value)
		rest = strings.TrimLeft(left, dsnBlanks)
	}
	if len(words) == 0 {
		return "", errNoDSN
	}
	return strings.Join(words, " "), nil
}

// cutValue takes a value off the begin of a text, as it is written: with its quotes and backslashes.
func cutValue(s string) (value, rest string, err error) {
	quoted := strings.HasPrefix(s, "'")
	at := 0
	if quoted {
		at = 1
	}
	for ; at < len(s); at++ {
		switch c := s[at]; {
		case c == '\\':
			at++
		case quoted && c == '\'':
			return s[:at+1], s[at+1:], nil
		case !quoted && strings.IndexByte(dsnBlanks, c) >= 0:
			return s[:at], s[at:], nil
		}
	}
	if quoted {
		return "", "", errNoDSN
	}
	return s, "", nil
}
