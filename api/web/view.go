package web

import (
	"context"
	"net/url"
	"time"

	"github.com/divvyhq/divvy/api/web/hub"
)

// View is one page, under one path. To add one: write templates/NAME.html with a block "main", a file view_NAME.go with
// the value that it shows and how it is made, and a line in views.go.
type View struct {
	Name  string   // of its template
	Path  string   // as chi has it: "/queues/{queue}", "/shares/*"
	Title string   // of the page; a Titled value has its own
	Nav   string   // the path in the navigation that it belongs to
	Query []string // parameters that it knows, beside format; others are refused. A view with some reads them by askedOf, and gives back its err

	// Show gives what there is to see. It is called for the page, its JSON, and each second for its events while
	// somebody has it open: no query may be slower than 50 ms.
	Show func(context.Context, *Request) (Dated, error)
	// Live gives the cells of a value that change while the page is open, for pages of many rows. Without it, a
	// template's block "live", if it has one, is sent whole whenever it is different, and put in place of the
	// element with the id live. Neither: the page stands still.
	Live func(Dated) hub.Update
	CSV  bool // what it shows has writeCSV
}

// Dated is what a view shows: a value that encodes as JSON and knows of when it is. Embed AsOf to be one.
type Dated interface{ When() time.Time }

// AsOf makes a struct Dated.
type AsOf struct {
	At time.Time `json:"at"`
}

// When is the time of the value.
func (a AsOf) When() time.Time { return a.At }

// Now is the AsOf of what has just been asked for.
func Now() AsOf { return AsOf{At: time.Now().UTC()} }

// Titled is a Dated value with a title of its own.
type Titled interface{ Heading() string }

// Request is a request for a view or an act.
type Request struct {
	Path   string // with its query, as a link has it
	Params map[string]string
	Query  url.Values
	Form   url.Values // of an act

	wrong WrongQuery // of the query, as far as it is wrong for any view
}

// Param is a part of the path by its name in View.Path.
func (r *Request) Param(name string) string { return r.Params[name] }

// Act is what a form does, under a path that takes POST.
type Act struct {
	Path  string
	Serve func(context.Context, *Request) (Answer, error)
}

// Answer is what becomes of an act: a way to go on, with a sentence that is shown there once, or a page.
type Answer struct {
	To   string // path to go to
	Said string // shown there

	Template string // else: the page of this template
	Title    string
	Show     Dated
}

// Confirm is an answer that asks before it is done: the same form again, with sure=yes in it.
func (r *Request) Confirm(c Confirmation) Answer {
	c.AsOf, c.Action = Now(), r.Path
	for name, values := range r.Form {
		if name == formField || name == "sure" {
			continue
		}
		for _, v := range values {
			c.Fields = append(c.Fields, Field{name, v})
		}
	}
	return Answer{Template: "confirm", Title: c.Question, Show: c}
}

// Sure says whether the form is the one of a Confirmation.
func (r *Request) Sure() bool { return r.Form.Get("sure") == "yes" }

// Confirmation is a page that asks whether something is to be done.
type Confirmation struct {
	AsOf
	Question string   // "Kill task 7?"
	Details  []string // what will happen, a sentence each
	Verb     string   // on the button
	Danger   bool     // it cannot be taken back
	Back     string   // path to go to instead
	Action   string   `json:"-"`
	Fields   []Field  `json:"-"`
}

// Field is a hidden field of a form.
type Field struct{ Name, Value string }

// cell is a text that changes while a page is open, with its key.
type cell struct{ Key, Text string }
