package intake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// Errors about claims that people make.
var (
	ErrClaimExists = errors.New("there is such a claim already") // elsewhere or with other devices
	ErrDeviceTaken = errors.New("the device is taken")           // by another claim that people made
	ErrNoClaim     = errors.New("no such claim")
)

// OutsideClaim is a claim that people make: a node, or devices of it, that jobs of any task may refer to by its name.
type OutsideClaim struct {
	Name       string
	Queue      shares.QueueID
	Node       string
	Devices    []string
	MaxSharers int // jobs that may hold it at a time; 0: no bound
}

// mostNodeName bounds names of nodes and devices, in bytes.
const mostNodeName = 200

// Check says what is wrong with it: a *job.FieldError.
func (c OutsideClaim) Check() error {
	const aName = "a name such as big-disk"
	switch wrong := resource.WrongName(c.Name); {
	case c.Name == "":
		return job.Wrong("name", c.Name, aName)
	case wrong != "":
		return job.Wrong("name", c.Name, aName+": "+wrong)
	case c.Queue < 1:
		return job.Wrong("queue", c.Queue, "the id of a queue, from 1")
	case len(c.Devices) > resource.MaxDevices:
		return job.Wrong("devices", len(c.Devices), fmt.Sprintf("%d devices at most", resource.MaxDevices))
	case c.MaxSharers < 0 || c.MaxSharers > resource.MaxJobs:
		return job.Wrong("max_sharers", c.MaxSharers, fmt.Sprintf("a number of jobs, 0 … %d", resource.MaxJobs))
	}
	if err := checkNodeName("node", c.Node); err != nil {
		return err
	}
	for i, id := range c.Devices {
		field := fmt.Sprintf("devices[%d]", i)
		if err := checkNodeName(field, id); err != nil {
			return err
		}
		if slices.Contains(c.Devices[:i], id) {
			return job.Wrong(field, id, "a device that is named once")
		}
	}
	return nil
}

func checkNodeName(field, s string) error {
	if s == "" || len(s) > mostNodeName || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return job.Wrong(field, s, fmt.Sprintf("a name of 1 … %d bytes of text", mostNodeName))
	}
	return nil
}

// outsideRow is a locked row of claim_keys that people make.
type outsideRow struct {
	ID         int64
	QueueID    *shares.QueueID // nil: it is not made
	Node       string
	Devices    []string
	MaxSharers int
}

// CreateClaim makes a claim that is bound from now on, until DeleteClaim, and returns its id. Jobs that wait for it may start. The same
// again changes nothing. Errors: *job.FieldError, ErrClaimExists, ErrDeviceTaken. The machine refuses one whose device the claim of a
// task has, or whose name was deleted and is still held: then it counts as not made.
func CreateClaim(ctx context.Context, tx pgx.Tx, c OutsideClaim) (id int64, err error) {
	if err := c.Check(); err != nil {
		return 0, err
	}
	rows, err := pg.Collect[outsideRow](ctx, tx, query["key_outside"], pgx.StrictNamedArgs{"name": c.Name})
	if err != nil {
		return 0, fmt.Errorf("create claim: %w", err)
	}
	switch was := rows[0]; {
	case was.QueueID == nil:
	case *was.QueueID == c.Queue && was.Node == c.Node && slices.Equal(was.Devices, c.Devices) && was.MaxSharers == c.MaxSharers:
		return was.ID, nil
	default:
		return 0, fmt.Errorf("%w: %s is at node %s of queue %d", ErrClaimExists, c.Name, was.Node, *was.QueueID)
	}
	args := pgx.StrictNamedArgs{"id": rows[0].ID, "queue": int32(c.Queue), "node": c.Node, "devices": append([]string{}, c.Devices...)}
	taken, err := pg.Collect[struct{ Device, Key string }](ctx, tx, query["device_taken"], args)
	if err == nil && len(taken) > 0 {
		err = fmt.Errorf("%w: claim %s has %s of node %s", ErrDeviceTaken, taken[0].Key, taken[0].Device, c.Node)
	}
	if err == nil {
		args["max_sharers"] = c.MaxSharers
		args["entries"], err = ledger.PackRare([]entry.Entry{entry.Claimed{Claim: rows[0].ID, Key: c.Name, Queue: c.Queue, Node: c.Node, Devices: c.Devices,
			Template: shares.ClaimTemplate{Name: c.Name, MaxSharers: c.MaxSharers}}})
	}
	if err == nil {
		_, err = tx.Exec(ctx, query["place_claim"], args)
	}
	if err != nil {
		return 0, fmt.Errorf("create claim: %w", err)
	}
	return rows[0].ID, nil
}

// DeleteClaim ends a claim that people made: no other job gets to hold it, and it goes with its last holder. Jobs that wait for it wait
// until there is one of the name again. Whether jobs hold it is for the caller to ask before. Errors: ErrNoClaim.
func DeleteClaim(ctx context.Context, tx pgx.Tx, name string) (id int64, err error) {
	ids, err := pg.CollectTo(ctx, pgx.RowTo[int64], tx, query["unplace_claim"], pgx.StrictNamedArgs{"name": name})
	if err == nil && len(ids) == 0 {
		err = fmt.Errorf("%w: %.80q", ErrNoClaim, name)
	}
	if err == nil {
		err = Say(ctx, tx, []entry.Entry{entry.Unclaimed{Claim: ids[0]}})
	}
	if err != nil {
		return 0, fmt.Errorf("delete claim: %w", err)
	}
	return ids[0], nil
}
