package view

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/judge"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/pg"
)

// Sorts are the orders of a Listing, the largest first; "new" is by id, and the default.
var Sorts = []string{"new", "priority", "leased", "ready", "left", "failed", "jobs"}

// mostListed bounds the tasks that a page is chosen from: the newest ones that are not over, or of all, or of a user.
const mostListed = 5000

// Listing selects tasks for a page that people read. Zero fields select nothing away.
type Listing struct {
	User  string
	Label string
	Share string // this share and all below it
	State string
	Name  string // * stands for anything, ? for a letter
	Live  bool   // only tasks that are not over
	Sort  string // one of Sorts; empty = new
	After string // the Next of the page before
	Limit int    // 1 … 1000; 0 = 100
}

// Listed is a page of tasks.
type Listed struct {
	Tasks []Task
	Next  string // After of the next page; empty: this is the last one
	// Among is how many tasks the page was chosen from where there are older ones, which it does not know: of an order
	// that is not new. 0: from all.
	Among int
}

// listedIDs are the ids of a page, and where the next one begins.
type listedIDs struct {
	IDs    []int64
	Keys   []int64
	Looked *int64
}

// List gives a page of tasks: by id of all that there are, though a page may be short where few are selected; in another
// order of the newest 5,000. It takes two short reads whatever is selected. Error: ErrInvalid.
func (rd *Reader) List(ctx context.Context, l Listing) (Listed, error) {
	limit := min(max(l.Limit, 1), 1000)
	if l.Limit == 0 {
		limit = 100
	}
	key, id, err := l.cursor()
	if err != nil {
		return Listed{}, err
	}
	before := int64(math.MaxInt64)
	if l.byID() {
		before = id
	}
	args := pgx.StrictNamedArgs{"sort": l.Sort, "key": key, "id": id, "before": before, "most": mostListed, "n": limit + 1,
		"state": l.State, "label": l.Label, "name": LikePattern(l.Name), "share": l.Share}
	sql := query["list_all"]
	switch {
	case l.User != "":
		sql, args["user"], args["live"] = query["list_user"], l.User, l.Live
	case l.Live:
		sql = query["list_live"]
	}
	ids, err := pg.Row[listedIDs](ctx, rd.pool, sql, args)
	if err != nil {
		return Listed{}, fmt.Errorf("list tasks: %w", err)
	}
	out := l.page(&ids, limit)
	out.Tasks, err = rd.listed(ctx, query["list_rows"], pgx.StrictNamedArgs{"ids": append([]int64{}, ids.IDs...)})
	return out, err
}

func (l *Listing) byID() bool { return l.Sort == "" || l.Sort == "new" }

// page cuts the ids to a page, and says where the next one begins.
func (l *Listing) page(ids *listedIDs, limit int) (out Listed) {
	if ids.Looked != nil && !l.byID() {
		out.Among = mostListed
	}
	switch {
	case len(ids.IDs) > limit:
		ids.IDs = ids.IDs[:limit]
		out.Next = fmt.Sprintf("%d.%d", ids.Keys[limit-1], ids.IDs[limit-1])
	case ids.Looked != nil && l.byID():
		out.Next = fmt.Sprintf("%d.%d", *ids.Looked, *ids.Looked)
	}
	return out
}

// cursor reads After: the key and the id of the last task of the page before.
func (l *Listing) cursor() (key, id int64, err error) {
	var faults spec.Faults
	if l.Sort != "" && !slices.Contains(Sorts, l.Sort) {
		faults.Add("sort", fmt.Sprintf("%q is not known", l.Sort), strings.Join(Sorts, ", "))
	}
	if l.State != "" && !slices.Contains(judge.States, l.State) {
		faults.Add("state", fmt.Sprintf("%q is not known", l.State), strings.Join(judge.States, ", "))
	}
	key, id = math.MaxInt64, math.MaxInt64
	if l.After != "" {
		k, i, _ := strings.Cut(l.After, ".")
		var kErr, iErr error
		key, kErr = strconv.ParseInt(k, 10, 64)
		id, iErr = strconv.ParseInt(i, 10, 64)
		if kErr != nil || iErr != nil {
			faults.Add("after", fmt.Sprintf("%q is no cursor", l.After), "the next of the page before")
		}
	}
	return key, id, faults.Err()
}
