package build

import (
	"os"
	"regexp"
	"testing"
)

// The variable that the Dockerfile sets is the one that the version comes from; the linker says nothing of one that is not there.
func TestVersionOfAnImage(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	set := regexp.MustCompile(`-X '([\w./]+)=\$VERSION'`).FindSubmatch(text)
	if set == nil || string(set[1]) != "github.com/divvyhq/divvy/internal/build.release" {
		t.Fatalf("Dockerfile sets %q by -ldflags, want github.com/divvyhq/divvy/internal/build.release", set)
	}
	if !regexp.MustCompile(`(?m)^ARG VERSION$`).Match(text) {
		t.Error("Dockerfile has no ARG VERSION")
	}
	before := Version()
	defer func() { release = "" }()
	if release = "v1.2.3"; Version() != "v1.2.3" {
		t.Errorf("version is %q, want v1.2.3", Version())
	}
	if release = ""; Version() != before || before == "" {
		t.Errorf("version is %q with an empty argument, want %q", Version(), before)
	}
}
