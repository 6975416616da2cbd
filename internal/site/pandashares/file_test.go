package pandashares

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/internal/golden"
	"github.com/divvyhq/divvy/internal/site/strict"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares/tagging"
)

func corpus(t testing.TB) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, pattern := range []string{"testdata/*.csv", "testdata/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files %s: %v", pattern, err)
		}
		for _, file := range files {
			if all[file], err = os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// good.* has its site file beside it, bad.* all that is wrong with it.
func TestCorpus(t *testing.T) {
	for file, src := range corpus(t) {
		out, err := File(filepath.Base(file), src)
		if strings.HasPrefix(filepath.Base(file), "good.") {
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
			golden.Equal(t, file+".yml", string(out))
			continue
		}
		var problems strict.Problems
		if !errors.As(err, &problems) || out != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		golden.Equal(t, file+".want", problems.Error()+"\n")
	}
}

// panda is the share that PanDA gives a task: the first leaf whose every pattern matches the begin of the value.
func panda(leaves []map[string]string, task map[string]string) string {
	for _, l := range leaves {
		fits := true
		for _, t := range tags {
			pattern, asked := l[t.column]
			value, has := task[t.column]
			if t.column == "workinggroup" && !has {
				value, has = noGroup, true
			}
			fits = fits && (!asked || has && regexp.MustCompile(`\A(?:`+pattern+`)`).MatchString(value))
		}
		if fits {
			return l["name"]
		}
	}
	return ""
}

// A task gets the same share there and here.
func TestSameShare(t *testing.T) {
	patterns := []string{"a", "ab", "a|b", ".*", "a.*", "^a$", "a$|b", "(a|bc)$", "[ab]+", " |a", "a|.*b", "(?i)A", "^b", "(a.*|b.*)", `a\Z`, "b?$"}
	values := []string{"a", "ab", "abc", "b", "bc", "A", "c", "ba"}
	columns := []string{"prodsourcelabel", "workinggroup", "campaign"}
	rapid.Check(t, func(t *rapid.T) {
		var leaves []map[string]string
		csv := "NAME,VALUE,PARENT,prodsourcelabel,workinggroup,campaign\n"
		for i := range rapid.IntRange(1, 4).Draw(t, "leaves") {
			l := map[string]string{"name": string(rune('P' + i))}
			csv += l["name"] + ",1,"
			for _, c := range columns {
				csv += ","
				if rapid.Bool().Draw(t, "asked") {
					p := rapid.SampledFrom(patterns).Draw(t, "pattern")
					csv += `"` + p + `"`
					l[c] = strings.ReplaceAll(strings.TrimSpace(p), `\Z`, `\z`)
				}
			}
			csv += "\n"
			leaves = append(leaves, l)
		}
		out, err := File("f", []byte(csv))
		if err != nil {
			t.Fatal(err)
		}
		s, err := site.Parse("f", out)
		if err != nil {
			t.Fatal(err)
		}
		task, attributes := map[string]string{}, tagging.Attributes{}
		for i, c := range columns {
			if rapid.Bool().Draw(t, "has") {
				task[c] = rapid.SampledFrom(values).Draw(t, "value")
				attributes[tags[i].attribute] = task[c]
			}
		}
		if got, want := s.Tags.Tag(attributes), panda(leaves, task); got.Share != want {
			t.Fatalf("task %v gets %q, PanDA says %q, by\n%s", task, got.Share, want, out)
		}
	})
}

// Whatever comes in, what comes out is a good site file.
func FuzzFile(f *testing.F) {
	for _, src := range corpus(f) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		out, err := File("f\n", src)
		var problems strict.Problems
		if err != nil && (!errors.As(err, &problems) || len(problems) == 0) {
			t.Fatal(err)
		}
		if err != nil {
			return
		}
		if _, err := site.Parse("f", out); err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
	})
}
