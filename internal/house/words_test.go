package house_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/site"
)

// Words that pages may have, as wc -w counts them. Limits only fall.
const (
	wordsOfReadme       = 700
	wordsOfContributing = 600
	wordsOfGuide        = 600 // each page of docs/howto
	wordsOfPerformance  = 1500
	wordsOfAll          = 25_000 // README.md and docs
)

// A page answers one question in few words.
func TestWords(t *testing.T) {
	all := 0
	walk(t, ".md", func(page string) {
		n, most := len(strings.Fields(read(t, page))), 0
		switch {
		case page == "README.md":
			most = wordsOfReadme
		case page == "CONTRIBUTING.md":
			most = wordsOfContributing
		case page == "docs/performance.md":
			most = wordsOfPerformance
		case strings.HasPrefix(page, "docs/howto/"):
			most = wordsOfGuide
		}
		if most > 0 && n > most {
			t.Errorf("%s has %d words, more than %d", page, n, most)
		}
		if page == "README.md" || strings.HasPrefix(page, "docs/") {
			all += n
		}
	})
	if all > wordsOfAll {
		t.Errorf("README.md and docs have %d words, more than %d", all, wordsOfAll)
	}
	t.Logf("README.md and docs have %d words", all)
}

// The index names every page of docs.
func TestIndexNamesEveryPage(t *testing.T) {
	index := read(t, "docs/README.md")
	walk(t, ".md", func(page string) {
		name, ok := strings.CutPrefix(page, "docs/")
		if ok && name != "README.md" && !strings.Contains(index, "("+name) {
			t.Errorf("docs/README.md does not name %s", name)
		}
	})
}

// The site and task files of tutorials and guides are valid.
func TestFilesOfGuides(t *testing.T) {
	block := regexp.MustCompile("(?ms)^ *```yaml\n(.*?)^ *```")
	n := 0
	walk(t, ".md", func(page string) {
		if filepath.Dir(page) != "docs/howto" && !strings.HasPrefix(page, "docs/your-") {
			return
		}
		for _, m := range block.FindAllStringSubmatch(read(t, page), -1) {
			text := dedented(m[1])
			var err error
			switch {
			case strings.HasPrefix(text, "shares:"):
				_, err = site.Parse(page, []byte(text))
			case strings.HasPrefix(text, "name:"):
				_, err = spec.ParseSpecs(page, []byte(text))
			default:
				_, err = site.Parse(page, []byte("shares:\n"+text)) // one share
			}
			n++
			if err != nil {
				t.Error(err)
			}
		}
	})
	if n < 5 {
		t.Errorf("only %d files in guides", n)
	}
}

// dedented is text without the indentation of its first line.
func dedented(text string) string {
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	return regexp.MustCompile("(?m)^"+indent).ReplaceAllString(text, "")
}
