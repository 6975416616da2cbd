package api

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/divvyhq/divvy/api/origin"
)

// Token is the SHA-256 of a bearer token. The API never keeps the token itself.
type Token [sha256.Size]byte

// minToken is the shortest token that a file may hold; shorter ones are typing errors or guessable.
const minToken = 16

// ReadTokens reads a token file: one token a line, empty lines and lines that begin with # left out.
func ReadTokens(r io.Reader) ([]Token, error) {
	var tokens []Token
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		t := strings.TrimSpace(lines.Text())
		switch {
		case t == "" || strings.HasPrefix(t, "#"):
		case len(t) < minToken:
			return nil, fmt.Errorf("token file line %d: a token has at least %d characters, this one has %d", n, minToken, len(t))
		case strings.ContainsAny(t, " \t"):
			return nil, fmt.Errorf("token file line %d: a token has no blanks", n)
		default:
			tokens = append(tokens, sha256.Sum256([]byte(t)))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("token file: no token in it; write one a line, for instance of `openssl rand -hex 24`")
	}
	return tokens, nil
}

// guard lets a request through that has a valid token. Without tokens it keeps out what a browser could be made
// to send by a foreign page.
func (s *server) guard(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case len(s.tokens) > 0 && !s.admits(r.Header.Get("Authorization")):
			w.Header().Set("WWW-Authenticate", `Bearer realm="divvy"`)
			s.fail(w, newProblem(codeUnauthorized, ""))
		case len(s.tokens) == 0 && origin.Rebound(r):
			s.fail(w, newProblem(codeForeign, fmt.Sprintf("host %q on a loopback address", r.Host)))
		case r.Method != http.MethodGet && origins.Check(r) != nil:
			s.fail(w, newProblem(codeForeign, "the request comes from a page of another origin"))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// admits compares with every token, in constant time.
func (s *server) admits(authorization string) bool {
	scheme, token, _ := strings.Cut(authorization, " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
	found := 0
	for i := range s.tokens {
		found |= subtle.ConstantTimeCompare(sum[:], s.tokens[i][:])
	}
	return found == 1
}
