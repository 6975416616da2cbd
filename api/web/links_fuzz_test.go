package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/explain"
)

// Whatever a link asks of a view, the answer is a page or a refusal; what the view understands comes back from With as the
// same question.
func FuzzLinks(f *testing.F) {
	for _, q := range []string{"", "format=json", "state=online&sort=name&page=2", "share=S1/S0&after=x", "q=%3Cscript%3E", "at=2026-01-02T03:04:05Z", "attempt=0", "before=9223372036854775808",
		"share=%00", "share=%ff", "a;b", "over=too&user='\"><", "page=-1", "from=1&to=2&points=100000"} {
		f.Add(q)
	}
	s := filled(&testing.T{})
	s.world.standing = []explain.PoolStanding{treeOf(nil, 2, 3)}
	paths := []string{"/tasks", "/tasks/5", "/jobs/77", "/queues", "/queues/CERN", "/resources/lic", "/claims", "/decisions", "/versions", "/shares/S0"} // those of which this world has something
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return // net/url leaves out what it does not understand
		}
		for _, path := range paths {
			w := s.call(http.MethodGet, path+"?"+values.Encode(), nil, "text/html")
			switch w.Code {
			case http.StatusOK, http.StatusNotFound, http.StatusUnprocessableEntity:
			default:
				t.Errorf("%s?%s: %d %.300s", path, values.Encode(), w.Code, w.Body)
			}
			if strings.Contains(w.Body.String(), "<script>") {
				t.Errorf("%s?%s: a script of somebody else's", path, values.Encode())
			}
		}
		a := asked{path: "/x", query: values}
		link, err := url.Parse(a.With())
		if err != nil {
			t.Fatal(err)
		}
		again := asked{path: link.Path, query: link.Query()}
		for name := range values {
			if name != "after" && name != "page" && again.Get(name) != a.Get(name) {
				t.Errorf("%s is %q in the link, %q was asked", name, again.Get(name), a.Get(name))
			}
		}
	})
}
