package dispatcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// Errors about claims that people make.
var (
	// ErrClaimExists: there is a claim of that name, elsewhere or with other devices.
	ErrClaimExists = errors.New("there is such a claim already")
	// ErrClaimHeld: jobs hold the claim.
	ErrClaimHeld = errors.New("the claim is held")
	// ErrDeviceTaken: another claim has one of the devices.
	ErrDeviceTaken = errors.New("the device is taken")
)

// OutsideClaim is a claim that people make: a node, or devices of it, that jobs of any task may refer to by its name.
type OutsideClaim struct {
	Name       string   `json:"name" maxLength:"200" doc:"What tasks call it: sharing: [{claim: <name>}]."`
	Queue      string   `json:"queue" doc:"Where it is."`
	Node       string   `json:"node" maxLength:"200" doc:"The node of that queue, as its pilots name it. Jobs that hold the claim run there only."`
	Devices    []string `json:"devices,omitempty" maxItems:"1000" doc:"Devices of that node, such as gpu:0: no other claim gets them."`
	MaxSharers int      `json:"max_sharers,omitempty" minimum:"0" maximum:"1000000" doc:"Jobs that may hold it at a time; 0 = no bound."`
}

// mostNodeName bounds names of nodes and devices, in bytes.
const mostNodeName = 200

func (c *OutsideClaim) check() error {
	const aName = "a name such as big-disk"
	switch wrong := resource.WrongName(c.Name); {
	case c.Name == "":
		return job.Wrong("name", c.Name, aName)
	case wrong != "":
		return job.Wrong("name", c.Name, aName+": "+wrong)
	}
	word := func(field, s string) error {
		if s == "" || len(s) > mostNodeName || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
			return job.Wrong(field, s, fmt.Sprintf("a name of 1 … %d bytes of text", mostNodeName))
		}
		return nil
	}
	if err := word("node", c.Node); err != nil {
		return err
	}
	if len(c.Devices) > resource.MaxDevices {
		return job.Wrong("devices", len(c.Devices), fmt.Sprintf("%d devices at most", resource.MaxDevices))
	}
	for i, id := range c.Devices {
		field := fmt.Sprintf("devices[%d]", i)
		if err := word(field, id); err != nil {
			return err
		}
		if slices.Contains(c.Devices[:i], id) {
			return job.Wrong(field, id, "a device that is named once")
		}
	}
	if c.MaxSharers < 0 || c.MaxSharers > resource.MaxJobs {
		return job.Wrong("max_sharers", c.MaxSharers, fmt.Sprintf("a number of jobs, 0 … %d", resource.MaxJobs))
	}
	return nil
}

// CreateClaim makes a claim that is bound from now on, until DeleteClaim. Jobs that wait for it may start. The same again
// changes nothing. Errors: *FieldError, ErrUnknownQueue, ErrClaimExists, ErrDeviceTaken.
func (d *Dispatcher) CreateClaim(ctx context.Context, c OutsideClaim) (ClaimStanding, error) {
	if err := c.check(); err != nil {
		return ClaimStanding{}, err
	}
	queue, err := d.queueNamed(c.Queue)
	if err != nil {
		return ClaimStanding{}, err
	}
	t := rowTemplate(shares.ClaimTemplate{Name: c.Name, MaxSharers: c.MaxSharers})
	template, err := json.Marshal(t)
	if err != nil {
		return ClaimStanding{}, err
	}
	var id int64
	err = pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		made, err := MakeClaims(ctx, tx, 0, []NewClaim{{Key: c.Name, Template: t.template(), Outside: true}})
		if err != nil {
			return err
		}
		id = made[0]
		was, err := claimsOf(ctx, tx, []claimJobRow{{Claims: made}})
		if err != nil {
			return err
		}
		switch now := was[id].claim(); {
		case now.State == resource.ClaimDraining:
			return fmt.Errorf("%w: %s was deleted, and %d jobs still hold it", ErrClaimExists, c.Name, now.Sharers)
		case now.State == resource.ClaimBound && c.is(now):
			return nil
		case now.State == resource.ClaimBound:
			return fmt.Errorf("%w: %s is at node %s of queue %s", ErrClaimExists, c.Name, now.Place.Node, now.Place.Queue)
		}
		_, err = tx.Exec(ctx, query["place_claim"], pgx.StrictNamedArgs{"id": id, "queue": int32(queue), "node": c.Node,
			"devices": append([]string{}, c.Devices...), "template": string(template)})
		if err != nil {
			return err
		}
		return access.Record(ctx, tx, access.Change{What: "claim.create", Object: c.Name,
			After: fmt.Sprintf("queue %s, node %s, devices %s", c.Queue, c.Node, strings.Join(c.Devices, ", "))})
	})
	if pg.Code(err) == uniqueViolation {
		return ClaimStanding{}, d.whoHas(ctx, queue, c)
	}
	if err != nil {
		return ClaimStanding{}, fmt.Errorf("create claim: %w", err)
	}
	return d.claimChanged(ctx, id)
}

// is says whether a claim is as it is asked for.
func (c *OutsideClaim) is(now resource.Claim) bool {
	return now.Place == resource.Place{Queue: c.Queue, Node: c.Node} && slices.Equal(now.Devices, c.Devices) && now.Template.MaxSharers == c.MaxSharers
}

// whoHas says which claim has one of the devices that are asked for.
func (d *Dispatcher) whoHas(ctx context.Context, queue shares.QueueID, c OutsideClaim) error {
	var device, key string
	var id int64
	err := d.cfg.Pool.QueryRow(ctx, query["device_taken"], pgx.StrictNamedArgs{"queue": int32(queue), "node": c.Node, "devices": c.Devices}).
		Scan(&device, &id, &key)
	if err != nil { // it has just come free
		return fmt.Errorf("create claim: %w", errors.Join(ErrDeviceTaken, err))
	}
	return fmt.Errorf("%w: claim %d (%s) has %s of node %s", ErrDeviceTaken, id, key, device, c.Node)
}

// DeleteClaim ends a claim that people made. While jobs hold it that is refused, unless it is forced: then no others get to
// hold it, and it goes with the last one. Jobs that wait for it wait until there is one of the name again.
// Errors: ErrNoClaim, ErrClaimHeld.
func (d *Dispatcher) DeleteClaim(ctx context.Context, name string, force bool) (ClaimStanding, error) {
	var id int64
	err := pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		rows, err := collect[outsideRow](ctx, tx, "lock_outside_claim", pgx.StrictNamedArgs{"name": name})
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return fmt.Errorf("%w: %.80q", ErrNoClaim, name)
		}
		c := rows[0]
		id = c.ID
		var wanted bool // looked up behind the lock, as when it is tended
		if err := tx.QueryRow(ctx, query["claim_wanted"], pgx.StrictNamedArgs{"claim": id}).Scan(&wanted); err != nil {
			return err
		}
		switch {
		case c.State == string(resource.ClaimDraining) && force:
			return nil
		case c.Sharers > 0 && !force:
			return fmt.Errorf("%w: %d jobs hold %s", ErrClaimHeld, c.Sharers, name)
		}
		_, err = tx.Exec(ctx, query["end_outside_claim"], pgx.StrictNamedArgs{"id": id, "drains": c.Sharers > 0, "released": c.Sharers == 0 && !wanted})
		if err != nil {
			return err
		}
		return access.Record(ctx, tx, access.Change{What: "claim.delete", Object: name, Before: c.State, After: "ended"})
	})
	if err != nil {
		return ClaimStanding{}, fmt.Errorf("delete claim: %w", err)
	}
	return d.claimChanged(ctx, id)
}

// outsideRow is a claim that people made, locked.
type outsideRow struct {
	ID      int64
	State   string
	Sharers int
}

// claimChanged has the daemons read a claim that was changed, and shows it.
func (d *Dispatcher) claimChanged(ctx context.Context, id int64) (ClaimStanding, error) {
	if err := d.notify(ctx, "ledger"); err != nil {
		d.cfg.Log.Debug("no hint of a claim", "err", err) // they look by themselves
	}
	return d.Claim(ctx, id)
}

// queueNamed finds a queue of the present site.
func (d *Dispatcher) queueNamed(name string) (shares.QueueID, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if q := d.state.byName[name]; q != nil {
		return q.ID, nil
	}
	return 0, fmt.Errorf("%w %q: the site has %s", ErrUnknownQueue, name, d.state.queueNames())
}
