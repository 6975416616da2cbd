package cli

import (
	"fmt"
	"io"

	"github.com/divvyhq/divvy/api/wire"
)

// More says how to go on after a page that is not the last one.
func More(w io.Writer, next string) {
	if next != "" {
		fmt.Fprintf(w, "… more: --after %s, or --all\n", next)
	}
}

// Pages are what a list asks for: all that follows, or one of so many items.
type Pages struct {
	All   bool
	After string
	Limit int
}

// Gather reads one page, or with all everything that follows. One that is short and not the last is filled up.
func Gather[T any](want Pages, read func(after string, limit int) (wire.Page[T], error)) (wire.Page[T], error) {
	page, err := read(want.After, want.Limit)
	for n := 1; err == nil && page.Next != ""; n++ {
		left := want.Limit
		if !want.All {
			if left -= len(page.Items); left <= 0 || n >= mostPages {
				break
			}
		}
		var next wire.Page[T]
		next, err = read(page.Next, left)
		page.Items, page.Next = append(page.Items, next.Items...), next.Next
	}
	return page, err
}

// mostPages bounds how many are read to fill one: a daemon looks at so many items for each, and few of them may be wanted.
const mostPages = 100
