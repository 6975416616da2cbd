package site

import (
	"strings"
	"testing"
)

// A change of webhooks is a change, which only who applies any file may make, and shows what is different.
func TestWebhooksDiffer(t *testing.T) {
	parse := func(hooks string) *Site {
		t.Helper()
		s, err := Parse("f", []byte("shares: [{name: A}]\nwebhooks: ["+hooks+"]\n"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const a = `{name: a, url: "https://a.example/", secret_env: A}`
	before, after := parse(a), parse(`{name: a, url: "https://b.example/", secret_env: A, events: [task.failed]}, {name: b, url: "https://b.example/", secret_env: A}`)
	c := diff(before, after)
	var lines []string
	for _, l := range c.Lines() {
		lines = append(lines, l.Text)
	}
	const want = "webhook a: url https://a.example/ → https://b.example/\nwebhook a: events – → task.failed\nwebhook b added"
	if got := strings.Join(lines, "\n"); c.None() || got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if c := diff(before, parse(a)); !c.None() {
		t.Errorf("%+v", c)
	}
}
