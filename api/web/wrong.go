package web

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// WrongQuery is all that is wrong with the parameters of a link, at once: an ErrQuery.
type WrongQuery []WrongParam

// WrongParam is the fault of one parameter.
type WrongParam struct{ Name, Value, Message, Hint string }

func (w WrongQuery) Error() string {
	all := make([]string, len(w))
	for i, p := range w {
		if all[i] = fmt.Sprintf("query.%s is %q: %s", p.Name, p.Value, p.Message); p.Hint != "" {
			all[i] += " (" + p.Hint + ")"
		}
	}
	return strings.Join(all, "; ")
}

// Unwrap makes errors.Is(err, ErrQuery) true.
func (w WrongQuery) Unwrap() error { return ErrQuery }

// err is nil where nothing is wrong.
func (w WrongQuery) err() error {
	if len(w) == 0 {
		return nil
	}
	return w
}

// OfQuery marks an error of what was asked for by a link: the fields that it names are parameters of the query.
type OfQuery struct{ Err error }

func (e OfQuery) Error() string { return e.Err.Error() }

// Unwrap gives the error itself.
func (e OfQuery) Unwrap() error { return e.Err }

// nearTo is a hint for the end of a sentence: the name that was probably meant; empty: none is near.
func nearTo(name string, names []string) string {
	if near := strict.Closest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// unknown refuses a name that nothing has.
func (a *asked) unknown(name, what string, names []string) {
	a.wrong = append(a.wrong, WrongParam{Name: name, Value: a.Get(name), Message: "no " + what + " has this name", Hint: strict.DidYouMean(a.Get(name), names)})
}

// checkShare refuses a share that the tree does not have.
func (t *tree) checkShare(ctx context.Context, a *asked) {
	if share := a.Get("share"); share != "" && !t.hasShare(ctx, share) {
		a.unknown("share", "share", t.shareNames(ctx))
	}
}

// checkQueue refuses a queue that the site does not have.
func (s *places) checkQueue(ctx context.Context, a *asked) error {
	name := a.Get("queue")
	if name == "" {
		return nil
	}
	all, err := s.queuesNow(ctx)
	if err != nil {
		return err
	}
	for _, q := range all {
		if q.Name == name {
			return nil
		}
	}
	a.unknown("queue", "queue", queueNames(all))
	return nil
}

// checkResource refuses a resource that the site does not have, and no claim holds.
func (s *places) checkResource(ctx context.Context, a *asked) error {
	name := a.Get("resource")
	if name == "" {
		return nil
	}
	_, err := s.dispatcher.Resources(ctx, name)
	if !errors.Is(err, dispatcher.ErrUnknownResource) {
		return err
	}
	names, err := s.resourceNames(ctx)
	if err == nil {
		a.unknown("resource", "resource", names)
	}
	return err
}

func (s *places) resourceNames(ctx context.Context) (names []string, err error) {
	all, err := s.dispatcher.Resources(ctx, "")
	for _, r := range all {
		names = append(names, r.Name)
	}
	return names, err
}

func queueNames(all []QueueLine) (names []string) {
	for _, q := range all {
		names = append(names, q.Name)
	}
	return names
}
