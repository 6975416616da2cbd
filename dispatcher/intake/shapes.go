package intake

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
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

// shapeRow is a row of shapes.
type shapeRow struct {
	Key       []byte            `json:"-"`
	Cores     int               `json:"cores"`
	MemoryMB  int64             `json:"memory_mb"`
	DiskMB    int64             `json:"disk_mb"`
	WalltimeS int64             `json:"walltime_s"`
	Labels    map[string]string `json:"labels"`
	Queues    []string          `json:"queues"`
	Label     string            `json:"label"`
	Resources map[string]int64  `json:"resources"`
	SharingID string            `json:"sharing_id"`
	Locations []string          `json:"locations"`
	Locality  *string           `json:"locality"`
	need      job.Requirements
}

// InternAll is Intern for many, with one look for all of them. Shapes are made in an order that is the same for all callers.
func InternAll(ctx context.Context, tx pgx.Tx, all []job.Requirements) (shapes []int32, err error) {
	keys, rows := make([]string, len(all)), map[string]shapeRow{}
	for i, r := range all {
		row, err := rowOf(r)
		if err != nil {
			return nil, err
		}
		keys[i] = string(row.Key)
		rows[keys[i]] = row
	}
	ids := make(map[string]int32, len(rows))
	for len(rows) > 0 {
		if err := intern(ctx, tx, rows, ids); err != nil {
			return nil, fmt.Errorf("shape: %w", err)
		}
		for key := range ids {
			delete(rows, key)
		}
	}
	shapes = make([]int32, len(all))
	for i, key := range keys {
		shapes[i] = ids[key]
	}
	return shapes, nil
}

// intern finds or makes shapes. One that another transaction has made meanwhile is found by the next try, whose statement sees it.
func intern(ctx context.Context, tx pgx.Tx, rows map[string]shapeRow, ids map[string]int32) error {
	ordered := slices.SortedFunc(maps.Values(rows), func(a, b shapeRow) int { return cmp.Compare(string(a.Key), string(b.Key)) })
	text, err := json.Marshal(ordered)
	if err != nil {
		return err
	}
	found, err := collect[struct {
		ID    int32
		Key   []byte
		Fresh bool
	}](ctx, tx, "intern", pgx.StrictNamedArgs{"keys": list(ordered, func(r shapeRow) []byte { return r.Key }), "shapes": string(text)})
	if err != nil {
		return err
	}
	var told []entry.Entry
	for _, f := range found {
		ids[string(f.Key)] = f.ID
		if f.Fresh {
			told = append(told, entry.Shaped{Shape: f.ID, Need: rows[string(f.Key)].need})
		}
	}
	return say(ctx, tx, told)
}

// rowOf brings requirements into the one form that equal ones have.
func rowOf(r job.Requirements) (row shapeRow, err error) {
	switch {
	case r.Cores < 1:
		return row, &job.FieldError{Field: "requirements.cores", Value: r.Cores, Want: "a whole number from 1"}
	case r.Locality != "" && r.Locality != job.LocalityRequired && r.Locality != job.LocalityPreferred:
		return row, &job.FieldError{Field: "requirements.locality", Value: r.Locality, Want: "required or preferred, or none"}
	case r.Claims != nil:
		return row, &job.FieldError{Field: "requirements.claims", Value: "given", Want: "none: what claims ask for follows from the claims of the job"}
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
	canonical, err := json.Marshal(r) // maps are written in key order
	if err != nil {
		return row, fmt.Errorf("shape: %w", err)
	}
	key := sha256.Sum256(canonical)
	row = shapeRow{Key: key[:], Cores: r.Cores, MemoryMB: r.MemoryMB, DiskMB: r.DiskMB, WalltimeS: r.WalltimeS, Labels: r.Labels,
		Queues: append([]string{}, r.Queues...), Label: r.Label, Resources: r.Resources, SharingID: r.SharingID, Locations: r.Locations, need: r}
	if row.Resources == nil {
		row.Resources = map[string]int64{}
	}
	if r.Locality != "" {
		row.Locality = &r.Locality
	}
	return row, nil
}
