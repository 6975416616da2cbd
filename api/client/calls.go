package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// send makes a call whose answer is a T.
func send[T any](ctx context.Context, c *Client, k call) (T, error) {
	var out T
	k.out = &out
	_, err := c.do(ctx, k)
	return out, err
}

// get reads a T.
func get[T any](ctx context.Context, c *Client, path string, q url.Values) (T, error) {
	return send[T](ctx, c, call{method: http.MethodGet, path: path, query: q, repeat: true})
}

// items reads a list that has one page.
func items[T any](ctx context.Context, c *Client, path string, q url.Values) ([]T, error) {
	p, err := get[wire.Page[T]](ctx, c, path, q)
	return p.Items, err
}

// post sends a body that may be sent again.
func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	return send[T](ctx, c, call{method: http.MethodPost, path: path, body: body, repeat: true})
}

// all goes on from page to page until the last one, an error, or the end of the caller's patience.
func all[T any](after string, load func(after string) (wire.Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			p, err := load(after)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if p.Next == "" {
				return
			}
			after = p.Next
		}
	}
}

// under is the path of one thing by its id, and of a part of it.
func under(path string, id int64, rest string) string {
	return path + "/" + strconv.FormatInt(id, 10) + rest
}

// params makes a query of names and values; those that are empty are left out.
func params(pairs ...string) url.Values {
	q := url.Values{}
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			q.Set(pair[0], pair[1])
		}
	}
	return q
}

// number, flag and moment are values of parameters, empty for the zero value.
func number[N int | int64](n N) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}

func flag(on bool) string {
	if on {
		return "true"
	}
	return ""
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
