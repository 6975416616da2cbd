package web

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestWords(t *testing.T) {
	thin := func(s string) string { return strings.ReplaceAll(s, "_", "\u202f") }
	for _, c := range []struct{ got, want string }{
		{units(0), "0"}, {units(566.6667), "566.67"}, {units(40), "40"}, {units(-3.5), "−3.5"}, {units(-0.001), "0"}, {units(1e12), "∞"},
		{units(1234567.5), "1_234_567.5"}, {count(int64(1000)), "1_000"}, {count(-12), "−12"}, {count(999), "999"},
		{percent(0.125), "12.5 %"}, {span(1500 * time.Millisecond), "1 s"}, {span(90 * time.Minute), "1 h 30 min"},
		{span(50 * time.Hour), "2 d 2 h"}, {span(-time.Minute), "−1 min 0 s"}, {shareLink(""), "/"}, {shareLink("A/b c"), "/shares/A/b%20c"},
		{seriesLink("A/B"), "/series/A/B"}, {shareName("A/B"), "B"}, {text(""), "–"}, {localPath("//evil"), "/"}, {localPath("/\\evil"), "/"},
		{localPath("/tasks?x=1"), "/tasks?x=1"},
	} {
		if c.got != thin(c.want) {
			t.Errorf("got %q, want %q", c.got, thin(c.want))
		}
	}
}

var variable = regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`)

// What is written stands out from what it is written on by 4.5 at least (WCAG AA), in both schemes.
func TestContrast(t *testing.T) {
	css, err := os.ReadFile("src/page.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, ok := strings.Cut(string(css), "prefers-color-scheme: dark")
	if !ok {
		t.Fatal("no dark scheme")
	}
	colours := map[string]string{}
	for i, scheme := range []string{light, dark} {
		for _, m := range variable.FindAllStringSubmatch(scheme, -1) {
			colours[m[1]] = m[2] // the dark ones on top of the light ones
		}
		for _, pair := range []string{"text ground", "text panel", "dim ground", "dim panel", "link ground", "link panel", "on-main main", "main panel",
			"on-danger danger", "text bad", "link bad", "text good", "danger ground", "danger bad", "slab-text none", "slab-text full", "slab-text over", "text line", "text over", "text full", "d ground"} {
			ink, paper, _ := strings.Cut(pair, " ")
			if c := contrast(t, colours[ink], colours[paper]); c < 4.5 {
				t.Errorf("scheme %d: %s on %s has %.2f", i, ink, paper, c)
			}
		}
	}
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	light, dark := luminance(t, a), luminance(t, b)
	return (max(light, dark) + 0.05) / (min(light, dark) + 0.05)
}

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(fmt.Errorf("%q: %w", hex, err))
	}
	channel := func(v uint64) float64 {
		s := float64(v&0xff) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(n>>16) + 0.7152*channel(n>>8) + 0.0722*channel(n)
}
