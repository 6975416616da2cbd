package file

import (
	"os"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/internal/golden"
	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
	provision "github.com/divvyhq/divvy/shares/pilots"
	"github.com/divvyhq/divvy/shares/retry"
)

// Lists of keys in docs/files.md are made from the tags of what a file is read into.
func TestKeysOfPage(t *testing.T) {
	const name = "../../../docs/files.md"
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	page := string(src)
	for section, keys := range map[string]string{
		"share": strict.Keys(share{Plan: shares.DefaultPlan()}), "limit": strict.Keys(Limit{}), "rule": strict.Keys(retry.Rule{}),
		"attempts": strict.Keys(*DefaultAttempts()), "provision": strict.Keys(provision.Default()),
	} {
		before, rest, ok := strings.Cut(page, "<!--"+section+"-->\n")
		_, after, closed := strings.Cut(rest, "<!--/"+section+"-->\n")
		if !ok || !closed {
			t.Fatalf("%s has no section %s", name, section)
		}
		page = before + "<!--" + section + "-->\n\n" + keys + "\n<!--/" + section + "-->\n" + after
	}
	golden.Equal(t, name, page)
}
