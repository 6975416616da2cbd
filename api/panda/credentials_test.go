package panda

import (
	"crypto/x509"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/internal/keys"
	"github.com/divvyhq/divvy/internal/ownca"
)

func TestReadTokensFaults(t *testing.T) {
	for src, want := range map[string]string{
		"":                   "f: no token in it; write one a line: a name, and for instance what `openssl rand -hex 24` prints",
		"# only a comment\n": "f: no token in it",
		"\ncern\n":           "f:2: expected a name, a token and perhaps origins, got 1 word",
		"cern short\n":       "f:1: a token has at least 16 characters, that of cern has 5",
		"a 0123456789abcdef\nb 0123456789abcdef\n": "f:2: this token stands in line 1 already",
		"a 0123456789abcdef wlcg.[p\n":             `f:1: origin "wlcg.[p" is no glob`,
	} {
		if _, err := ReadTokens("f", strings.NewReader(src)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", src, err, want)
		}
	}
}

func TestReadUsersFaults(t *testing.T) {
	for src, want := range map[string]string{
		"":                 "f: no line in it; a certificate would stand for nobody",
		"/CN=x ann\n":      `f:1: expected "pattern of subjects" user, for instance`,
		"\n\"/CN=x\"\n":    `f:2: expected "pattern of subjects" user`,
		`"/CN=(x" ann`:     "f:1: error parsing regexp",
		`"a)|(b" ann`:      "f:1: error parsing regexp",
		`"/CN=x" $1`:       `f:1: user $1: the pattern has no group "1"`,
		`"/CN=(x)" $1x`:    `f:1: user $1x: the pattern has no group "1x"; in front of letters write ${1}`,
		`"/CN=(x)" ${who}`: `f:1: user ${who}: the pattern has no group "who"`,
		`"/CN=x" ann [a`:   `f:1: origin "[a" is no glob`,
		`"` + strings.Repeat("x", 1001) + `" ann`: "f:1: the pattern has 1001 characters, more than 1000",
	} {
		if _, err := ReadUsers("f", strings.NewReader(src)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", src, err, want)
		}
	}
}

// A slash that somebody has put into a name begins no part, however a line is written.
func TestUsersNotForged(t *testing.T) {
	users, err := ReadUsers("f", strings.NewReader(`"/DC=org/.*/CN=boss" admin`+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for cn, want := range map[string]string{"boss": "admin", "a/CN=boss": "", `a\/CN=boss`: "", "/CN=boss": ""} {
		dn := keys.DN(&x509.Certificate{RawSubject: ownca.Subject(t, ownca.Person(cn)...)})
		if got, _ := users.find(dn); got != want {
			t.Errorf("%s: %q, want %q", dn, got, want)
		}
	}
}

// The first line that fits the whole subject counts, and one whose group took no part names nobody.
func TestUsersInOrder(t *testing.T) {
	users, err := ReadUsers("f", strings.NewReader(`
"/O=a/CN=(Robot)?.*"  ${1}
"/O=a/CN=ann"         first
"/O=a/CN=a.*"         second
"/O=\"q\"/CN=x"       quoted
`))
	if err != nil {
		t.Fatal(err)
	}
	for dn, want := range map[string]string{
		"/O=a/CN=Robot x": "Robot", "/O=a/CN=ann": "first", "/O=a/CN=anna": "second", "/O=a/CN=bob": "", "x/O=a/CN=ann": "", `/O="q"/CN=x`: "quoted", "": "",
	} {
		if got, row := users.find(dn); got != want || (row == nil) != (want == "") {
			t.Errorf("%s: %q, want %q", dn, got, want)
		}
	}
}
