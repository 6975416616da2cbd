package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pg"
)

// Errors about claims that people make.
var (
	// ErrClaimExists: there is a claim of that name, elsewhere or with other devices.
	ErrClaimExists = intake.ErrClaimExists
	// ErrClaimHeld: jobs hold the claim.
	ErrClaimHeld = errors.New("the claim is held")
	// ErrDeviceTaken: another claim has one of the devices.
	ErrDeviceTaken = intake.ErrDeviceTaken
	// ErrNoClaim is the error for an id or a name that no claim has, or has any more.
	ErrNoClaim = intake.ErrNoClaim
)

// OutsideClaim is a claim that people make: a node, or devices of it, that jobs of any task may refer to by its name.
type OutsideClaim struct {
	Name       string   `json:"name" maxLength:"200" doc:"What tasks call it: sharing: [{claim: <name>}]."`
	Queue      string   `json:"queue" doc:"Where it is."`
	Node       string   `json:"node" maxLength:"200" doc:"The node of that queue, as its pilots name it. Jobs that hold the claim run there only."`
	Devices    []string `json:"devices,omitempty" maxItems:"1000" doc:"Devices of that node, such as gpu:0: no other claim gets them."`
	MaxSharers int      `json:"max_sharers,omitempty" minimum:"0" maximum:"1000000" doc:"Jobs that may hold it at a time; 0 = no bound."`
}

// CreateClaim makes a claim that is bound from now on, until DeleteClaim. Jobs that wait for it may start. The same again changes nothing.
// Errors: *job.FieldError, ErrUnknownQueue, ErrClaimExists, ErrDeviceTaken.
func (v *Verbs) CreateClaim(ctx context.Context, c OutsideClaim) (explain.ClaimStanding, error) {
	q, err := v.d.site.named(c.Queue)
	if err != nil {
		return explain.ClaimStanding{}, err
	}
	made := intake.OutsideClaim{Name: c.Name, Queue: q.ID, Node: c.Node, Devices: c.Devices, MaxSharers: c.MaxSharers}
	var id int64
	err = v.say(ctx, func(tx pgx.Tx) (err error) {
		if id, err = intake.CreateClaim(ctx, tx, made); err != nil {
			return err
		}
		return access.Record(ctx, tx, access.Change{What: "claim.create", Object: c.Name,
			After: fmt.Sprintf("queue %s, node %s, devices %s", c.Queue, c.Node, strings.Join(c.Devices, ", "))})
	})
	if err == nil { // the row of who said the same before may be on its way yet
		err = v.awaitClaim(ctx, id)
	}
	if errors.Is(err, ErrRefused) {
		err = v.whyRefused(ctx, id, err)
	}
	if err != nil {
		return explain.ClaimStanding{}, fmt.Errorf("create claim: %w", err)
	}
	return v.d.Book.Claim(ctx, id)
}

// awaitClaim waits for the row that made a claim, its own or another's.
func (v *Verbs) awaitClaim(ctx context.Context, id int64) error {
	var row *int64
	err := v.d.cfg.Pool.QueryRow(ctx, query["claim_said"], pg.Args{"id": id}).Scan(&row)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && row == nil {
		return nil
	}
	if err != nil {
		return err
	}
	return v.await(ctx, []int64{*row})
}

// whyRefused says why the machine did not take a claim: one of the name drains, or a claim of a task has its device.
func (v *Verbs) whyRefused(ctx context.Context, id int64, refused error) error {
	err := ErrDeviceTaken
	_ = v.d.View(ctx, func(w machine.View) { // without an answer the text says it
		if now, ok := w.Claim(id); ok && now.State == resource.ClaimDraining {
			err = fmt.Errorf("%w: it was deleted, and %d jobs still hold it", ErrClaimExists, now.Sharers)
		}
	})
	return fmt.Errorf("%w (%w)", err, refused)
}

// DeleteClaim ends a claim that people made. While jobs hold it that is refused, unless it is forced: then no others get to hold it, and it
// goes with the last one, as it does when a job gets it at the same moment. Jobs that wait for it wait until there is one of the name again.
// Errors: ErrNoClaim, ErrClaimHeld.
func (v *Verbs) DeleteClaim(ctx context.Context, name string, force bool) (explain.ClaimStanding, error) {
	var id int64
	var last gate.Shown
	err := v.say(ctx, func(tx pgx.Tx) (err error) {
		if id, err = intake.DeleteClaim(ctx, tx, name); err != nil {
			return err
		}
		if err := v.d.View(ctx, func(w machine.View) { last, _ = w.Claim(id) }); err != nil {
			return err
		}
		if last.Sharers > 0 && !force {
			return fmt.Errorf("%w: %d jobs hold %s", ErrClaimHeld, last.Sharers, name)
		}
		return access.Record(ctx, tx, access.Change{What: "claim.delete", Object: name, Before: string(last.State), After: "ended"})
	})
	if err != nil {
		return explain.ClaimStanding{}, fmt.Errorf("delete claim: %w", err)
	}
	st, err := v.d.Book.Claim(ctx, id)
	if errors.Is(err, ErrNoClaim) { // it is over, and not folded yet
		st, err = v.d.Book.Standing(&last), nil
		st.State, st.Sharers = "released", 0
	}
	return st, err
}
