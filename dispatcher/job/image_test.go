package job

import (
	"strings"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// The name of an image is a template; no runtime can take it for an option.
func TestImagesAreChecked(t *testing.T) {
	for text, fine := range map[string]bool{
		"": true, "docker.io/library/python:3.13": true, "/cvmfs/x/image.sif": true, "oras://r/x@sha256:00": true, "python:3.{{.Index}}": true, "r/{{ .os }}": true, "9p": true,
		"-v/:/host": false, "{{.Input}}": false, "a b": false, " a": false, "a\tb": false, "a\x00b": false, "r/{{.Nothing}}": false, "--": false,
		strings.Repeat("x", 1001): false,
	} {
		err := (Payload{Command: []string{"run"}, Image: text, Matrix: []Axis{{"os", []string{"el9"}}}}).Check()
		if (err == nil) != fine {
			t.Errorf("%.40q: %v", text, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "image") {
			t.Errorf("%.40q: the error does not name the field: %v", text, err)
		}
	}
}

func TestImagesAreFilled(t *testing.T) {
	r := NewRecipe(Payload{Command: []string{"run"}, Image: "r/{{.os}}:{{.Index}}", Matrix: []Axis{{"os", []string{"el8", "el9"}}}})
	if got := r.Render(Piece{Index: 1}).Image; got != "r/el9:1" {
		t.Error(got)
	}
	if got := NewRecipe(Payload{Command: []string{"run"}, Image: "r/x"}).Render(Piece{}).Image; got != "r/x" {
		t.Error(got)
	}
}

// Jobs with an image run where the site file says how.
func TestImagesAreMatched(t *testing.T) {
	bare, boxed := shares.Queue{Name: "BARE"}, shares.Queue{Name: "BOXED", Containers: "podman"}
	with, without := Requirements{Cores: 1, Containers: true}, Requirements{Cores: 1}
	if RunsAt(with, bare) || !RunsAt(with, boxed) || !RunsAt(without, bare) || !RunsAt(without, boxed) {
		t.Error("jobs with an image need a queue that runs containers, and no others do")
	}
	const want = "image: needs a queue that runs containers"
	if got := Fits(with, bare, nil); got != want {
		t.Error(got)
	}
	if got := Nowhere(shares.Version{Queues: []shares.Queue{bare, {Name: "B2"}}}, with, ""); got != nowhere+want+"; none has containers in the site file" {
		t.Error(got)
	}
	if got := Nowhere(shares.Version{Queues: []shares.Queue{bare, boxed}}, with, ""); got != "" {
		t.Error(got)
	}
}
