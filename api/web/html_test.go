package web

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

// element is an element of a page with what is in it.
type element struct {
	name     string
	attr     map[string]string
	children []*element
	text     string // its own and that of all in it

	said strings.Builder // text, while it is open
}

// walk calls fn with the element and all in it.
func (e *element) walk(fn func(e *element, above []*element)) {
	var down func(e *element, above []*element)
	down = func(e *element, above []*element) {
		fn(e, above)
		for _, c := range e.children {
			down(c, append(above, e))
		}
	}
	down(e, nil)
}

// all are the elements of a name.
func (e *element) all(name string) (found []*element) {
	e.walk(func(e *element, _ []*element) {
		if e.name == name {
			found = append(found, e)
		}
	})
	return found
}

// byID is the element with an id; nil: there is none.
func (e *element) byID(id string) (found *element) {
	e.walk(func(e *element, _ []*element) {
		if e.attr["id"] == id {
			found = e
		}
	})
	return found
}

// words is the text without the blanks between lines.
func (e *element) words() string { return strings.Join(strings.Fields(e.text), " ") }

// void elements have no end tag.
var void = []string{"meta", "link", "input", "br", "img", "hr"}

// blocks stand apart from what follows them.
var blocks = []string{"td", "th", "dt", "dd", "li", "p", "option", "h1", "h2", "h3", "summary", "small"}

// parse reads HTML as strictly as XML: every element is closed where it was opened.
func parse(t testing.TB, page string) *element {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.Entity = false, xml.HTMLEntity
	root := &element{name: "", attr: map[string]string{}}
	open := []*element{root}
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, page)
		}
		top := open[len(open)-1]
		switch v := token.(type) {
		case xml.StartElement:
			e := &element{name: v.Name.Local, attr: map[string]string{}}
			for _, a := range v.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			top.children = append(top.children, e)
			if !slices.Contains(void, e.name) {
				open = append(open, e)
			}
		case xml.EndElement:
			if slices.Contains(blocks, v.Name.Local) {
				for _, e := range open[:len(open)-1] {
					e.said.WriteByte(' ')
				}
			}
			if v.Name.Local == top.name {
				top.text = top.said.String()
				open = open[:len(open)-1]
			} else if !slices.Contains(void, v.Name.Local) { // the decoder closes <x/> itself
				t.Fatalf("</%s> closes <%s>:\n%s", v.Name.Local, top.name, page)
			}
		case xml.CharData:
			for _, e := range open {
				e.said.Write(v)
			}
		}
	}
	if len(open) != 1 {
		t.Fatalf("<%s> is not closed", open[len(open)-1].name)
	}
	root.text = root.said.String()
	return root
}

// checkPage holds a page to what all pages promise: one heading, everything named, no inline script or style, no other
// host, forms with their token.
func checkPage(t testing.TB, page string) *element {
	t.Helper()
	root := parse(t, page)
	ids := map[string]bool{}
	root.walk(func(e *element, _ []*element) {
		if id := e.attr["id"]; id != "" {
			if ids[id] {
				t.Errorf("the id %q is there twice", id)
			}
			ids[id] = true
		}
	})
	root.walk(func(e *element, above []*element) {
		checkElement(t, e, ids)
		switch e.name {
		case "input", "select", "textarea":
			labelled := slices.ContainsFunc(above, func(a *element) bool { return a.name == "label" }) || e.attr["aria-label"] != ""
			for _, l := range root.all("label") {
				labelled = labelled || e.attr["id"] != "" && l.attr["for"] == e.attr["id"]
			}
			if !labelled && e.attr["type"] != "hidden" {
				t.Errorf("<%s name=%s> has no label", e.name, e.attr["name"])
			}
		case "form":
			token := slices.ContainsFunc(e.all("input"), func(i *element) bool { return i.attr["name"] == formField && len(i.attr["value"]) == 32 })
			if (e.attr["method"] == "post") != token {
				t.Errorf("form %s %s: token %t", e.attr["method"], e.attr["action"], token)
			}
		}
	})
	if h := root.all("h1"); len(h) != 1 || h[0].words() == "" {
		t.Errorf("%d headings", len(h))
	}
	return root
}

func checkElement(t testing.TB, e *element, ids map[string]bool) {
	t.Helper()
	for name, value := range e.attr {
		switch {
		case name == "style" || strings.HasPrefix(name, "on"):
			t.Errorf("<%s %s=%q>: inline", e.name, name, value)
		case name == "href" || name == "src" || name == "action":
			if !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "#") || strings.HasPrefix(value, "//") {
				t.Errorf("<%s %s=%q> leads elsewhere", e.name, name, value)
			}
		case name == "aria-labelledby" && !ids[value]:
			t.Errorf("<%s aria-labelledby=%q>: there is no such id", e.name, value)
		}
	}
	switch e.name {
	case "script":
		if e.attr["src"] == "" || strings.TrimSpace(e.text) != "" {
			t.Errorf("inline script: %s", e.text)
		}
	case "style":
		t.Errorf("inline style: %s", e.text)
	case "th":
		if e.attr["scope"] == "" || e.words() == "" {
			t.Errorf("a head without scope or text: %v %q", e.attr, e.text)
		}
	case "a", "button":
		if e.words() == "" && e.attr["aria-label"] == "" {
			t.Errorf("<%s %v> has no name", e.name, e.attr)
		}
	case "meter", "progress", "nav":
		if e.attr["aria-label"] == "" {
			t.Errorf("<%s> has no name", e.name)
		}
	case "svg":
		if e.attr["aria-hidden"] != "true" && e.attr["role"] == "" && e.attr["class"] != "slab" {
			t.Errorf("a drawing that says nothing: %v", e.attr)
		}
	}
	if e.attr["role"] == "region" && e.attr["aria-label"] == "" && e.attr["aria-labelledby"] == "" {
		t.Errorf("a region without a name: %v", e.attr)
	}
}
