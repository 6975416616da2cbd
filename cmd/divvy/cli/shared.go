package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

// ReadFile reads a file that the command line names, or standard input for "-".
func ReadFile(c *CLI, file string) (src []byte, name string, err error) {
	if file == "-" {
		src, err = io.ReadAll(c.In)
		return src, "stdin", err
	}
	src, err = os.ReadFile(file)
	return src, file, err
}

// Whoami is kept with a version: user@host.
func Whoami() string {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname()
	return name + "@" + host
}

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
func Gather[T any](want Pages, read func(after string, limit int) (client.Page[T], error)) (client.Page[T], error) {
	page, err := read(want.After, want.Limit)
	for n := 1; err == nil && page.Next != ""; n++ {
		left := want.Limit
		if !want.All {
			if left -= len(page.Items); left <= 0 || n >= mostPages {
				break
			}
		}
		var next client.Page[T]
		next, err = read(page.Next, left)
		page.Items, page.Next = append(page.Items, next.Items...), next.Next
	}
	return page, err
}

// ParseID reads the id of what a command is about.
func ParseID(what, s string) (int64, error) {
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || id < 1 {
		return 0, fail.Usagef("%q is not the id of a %s: expected a whole number such as 17; 'divvy %s list' has them", s, what, what)
	}
	return id, nil
}

// ParseIDs reads several ids.
func ParseIDs(what string, args []string) ([]int64, error) {
	ids := make([]int64, len(args))
	for i, s := range args {
		id, err := ParseID(what, s)
		if err != nil {
			return nil, err
		}
		ids[i] = id
	}
	return ids, nil
}

// Complain says on stderr what went wrong and, where that is known, what to do about it.
func Complain(c *CLI, err error) {
	if errors.Is(err, fail.ErrSilent) {
		return
	}
	red := text.Colors{}
	if show.Colourful(c.Err) {
		red = text.Colors{text.FgRed}
	}
	err = Explain(err)
	fmt.Fprintf(c.Err, "%s %v\n", red.Sprint("divvy:"), err)
	var h fail.Hinted
	if errors.As(err, &h) {
		fmt.Fprintf(c.Err, "  %s\n", h.Hint)
	}
}

// Fixed completes one of a few words.
func Fixed(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// mostPages bounds how many are read to fill one: a daemon looks at so many items for each, and few of them may be wanted.
const mostPages = 100
