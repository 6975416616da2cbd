package intake

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/pg"
)

// Intern returns the id of the shape with these requirements, making it when it is new. Locations without a locality, or the other
// way round, mean nothing: they are left out, as is the user. The log is told of a new shape by the transaction that makes it, so
// before any job that has it.
func Intern(ctx context.Context, tx pgx.Tx, r job.Requirements) (shape int32, err error) {
	shapes, err := InternAll(ctx, tx, []job.Requirements{r})
	if err != nil {
		return 0, err
	}
	return shapes[0], nil
}

// InternAll is Intern for many, with one look for all of them. Shapes are made in an order that is the same for all callers.
func InternAll(ctx context.Context, tx pgx.Tx, all []job.Requirements) (shapes []int32, err error) {
	keys, needs := make([]string, len(all)), map[string]job.Requirements{}
	for i, r := range all {
		if keys[i], r, err = canonical(r); err != nil {
			return nil, err
		}
		needs[keys[i]] = r
	}
	ids := make(map[string]int32, len(needs))
	for len(needs) > 0 {
		if err := intern(ctx, tx, needs, ids); err != nil {
			return nil, fmt.Errorf("shape: %w", err)
		}
		for key := range ids {
			delete(needs, key)
		}
	}
	shapes = make([]int32, len(all))
	for i, key := range keys {
		shapes[i] = ids[key]
	}
	return shapes, nil
}

// intern finds or makes shapes. One that another transaction has made meanwhile is found by the next try, whose statement sees it.
func intern(ctx context.Context, tx pgx.Tx, needs map[string]job.Requirements, ids map[string]int32) error {
	ordered := slices.Sorted(maps.Keys(needs))
	text, err := json.Marshal(list(ordered, func(key string) job.Requirements { return needs[key] }))
	if err != nil {
		return err
	}
	found, err := pg.Collect[struct {
		ID    int32
		Key   []byte
		Fresh bool
	}](ctx, tx, query["intern"], pgx.StrictNamedArgs{"keys": list(ordered, func(key string) []byte { return []byte(key) }), "shapes": string(text)})
	if err != nil {
		return err
	}
	var told []entry.Entry
	for _, f := range found {
		ids[string(f.Key)] = f.ID
		if f.Fresh {
			told = append(told, entry.Shaped{Shape: f.ID, Need: needs[string(f.Key)]})
		}
	}
	return Say(ctx, tx, told)
}

// canonical brings requirements into the one form that equal ones have, and its key.
func canonical(r job.Requirements) (key string, need job.Requirements, err error) {
	switch {
	case r.Cores < 1:
		return "", r, &job.FieldError{Field: "requirements.cores", Value: r.Cores, Want: "a whole number from 1"}
	case r.Locality != "" && r.Locality != job.LocalityRequired && r.Locality != job.LocalityPreferred:
		return "", r, &job.FieldError{Field: "requirements.locality", Value: r.Locality, Want: "required or preferred, or none"}
	case r.Claims != nil:
		return "", r, &job.FieldError{Field: "requirements.claims", Value: "given", Want: "none: what claims ask for follows from the claims of the job"}
	}
	r.User = ""
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	if r.Resources = maps.Collect(r.Units()); len(r.Resources) == 0 {
		r.Resources, r.SharingID = nil, ""
	}
	r.Queues = slices.Sorted(slices.Values(r.Queues))
	r.Locations = slices.Compact(slices.Sorted(slices.Values(r.Locations)))
	if len(r.Locations) == 0 || r.Locality == "" {
		r.Locations, r.Locality = nil, ""
	}
	text, err := json.Marshal(r) // maps are written in key order
	if err != nil {
		return "", r, fmt.Errorf("shape: %w", err)
	}
	sum := sha256.Sum256(text)
	return string(sum[:]), r, nil
}

// AddPayload stores what the jobs of tasks run; once a task, before its first job.
func AddPayload(ctx context.Context, tx pgx.Tx, payloads ...job.Payload) error {
	for _, p := range payloads {
		if err := p.Check(); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, query["add_payload"], pgx.StrictNamedArgs{"payloads": payloads})
	return pg.Named("payload", err)
}
