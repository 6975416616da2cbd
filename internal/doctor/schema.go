package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/migrations"
)

// fewMissing is how many missing objects are named one by one.
const fewMissing = 10

type objectRow struct{ Kind, Name string }

// schema compares the names of what is there with those of what the migrations make, not types, NOT NULL or bodies of functions: a table lacks its key after a restore that failed half way, or
// because it was dropped, while statements go on silently, slowly or twice.
func (d *Doctor) schema(ctx context.Context) (found []Finding, err error) {
	if off, err := d.migrations(ctx); err != nil || len(off) > 0 {
		return nil, err // said there
	}
	rows, err := pg.Collect[objectRow](ctx, d.cfg.Direct, query["objects"])
	if err != nil {
		return nil, err
	}
	there := make(map[objectRow]bool, len(rows))
	for _, r := range rows {
		there[r] = true
	}
	missing := 0
	for _, o := range migrations.Objects() {
		if there[objectRow{o.Kind, o.Name}] || inLost(o, there) {
			continue
		}
		if missing++; missing <= fewMissing {
			found = append(found, lost(o))
		}
	}
	if missing > fewMissing {
		found = append(found, Finding{Level: Bad, Found: fmt.Sprintf("%d more objects of the schema are missing", missing-fewMissing), Do: "restore the database from a backup"})
	}
	return found, nil
}

func lost(o migrations.Object) Finding {
	f := Finding{Level: Bad, Found: fmt.Sprintf("%s %s is missing, or is not in force", o.Kind, o.Name), Do: o.Make}
	switch {
	case o.Make != "":
	case o.Kind == "view" || o.Kind == "function":
		f.Do = "make it as migrations/schema.sql of this release does"
	default:
		f.Do = "what it held is gone: restore the database from a backup"
	}
	return f
}

// inLost says whether a column, constraint or trigger went with its table, which is said once.
func inLost(o migrations.Object, there map[objectRow]bool) bool {
	switch o.Kind {
	case "column", "constraint", "trigger":
		table := o.Name[:strings.LastIndexByte(o.Name, '.')]
		return !there[objectRow{"table", table}]
	}
	return false
}
