package harvesters

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// modeCap limits the cores that may be held; PanDA's clients, which know no mode, get it. modeFloor lets jobs come
// first while fewer cores are held.
const (
	modeCap   = "cap"
	modeFloor = "floor"
)

// addTargetSlots limits the cores held at a queue, by a share or a kind of jobs, until a date. With mode floor it
// lets these jobs come first while they hold fewer. -1 removes the setting. It affects later grants only; running
// jobs go on.
func (s Calls) addTargetSlots(r *http.Request, a wire.Args) wire.Envelope {
	t := dispatcher.TargetSlots{Queue: wire.Clean(a.Text("panda_queue")), Class: a.Text("resource_type"), Slots: int(a.Integer("slots")), Floor: a.Text("mode") == modeFloor}
	if n := a.Integer("slots"); n < -1 || n > math.MaxInt32 {
		return wire.Bad("Argument error: 'slots' is %d, expected 0 or more, or -1 for no cap", n)
	}
	if mode := a.Text("mode"); mode != "" && mode != modeCap && mode != modeFloor {
		return wire.Bad("Argument error: 'mode' is %s, expected %s or %s", mode, modeCap, modeFloor)
	}
	if t.Class != "" && !slices.Contains(job.Classes, t.Class) {
		return wire.Bad("Argument error: 'resource_type' is %s, expected one of %s", t.Class, strings.Join(job.Classes, ", "))
	}
	var err error
	if t.Until, err = expiry(a.Text("expiration_date"), time.Now()); err != nil {
		return wire.Bad("Argument error: 'expiration_date': %s", err)
	}
	if name := a.Text("global_share"); name != "" {
		if t.Share, err = s.shareCalled(name); err != nil {
			return wire.Bad("Argument error: 'global_share': %s", err)
		}
	}
	e := wire.Answer(s.Below, r, "add_target_slots", func(ctx context.Context) (any, error) { return nil, s.Jobs.SetTargetSlots(ctx, t) })
	if e.Success {
		e.Message = s.targetMessage(t, a)
	}
	return e
}

// targetMessage describes the setting in the words that PanDA's operators know.
func (s Calls) targetMessage(t dispatcher.TargetSlots, a wire.Args) string {
	orNone := func(name string) string {
		if v := a.Text(name); v != "" {
			return v
		}
		return "None"
	}
	message := fmt.Sprintf("set numSlots=%d for PQ=%s gshare=%s resource=%s", t.Slots, t.Queue, orNone("global_share"), orNone("resource_type"))
	if t.Floor {
		message += " as a floor"
	}
	if !slices.ContainsFunc(s.Jobs.Queues(), func(q dispatcher.QueueStanding) bool { return q.Name == t.Queue }) {
		message += "; there is no such queue yet"
	}
	return message
}

// expiry reads when a setting ends: at a date, or a number of days from now. The zero time means never.
func expiry(said string, now time.Time) (time.Time, error) {
	if days, err := strconv.Atoi(said); err == nil {
		if days < 1 || days > 36500 {
			return time.Time{}, fmt.Errorf("%d days: expected 1 or more", days)
		}
		return now.AddDate(0, 0, days), nil
	}
	at, err := wire.TimeOf(said)
	switch {
	case err != nil:
		return time.Time{}, err
	case at == nil:
		return time.Time{}, nil
	case !at.After(now):
		return time.Time{}, fmt.Errorf("%s is over", said)
	}
	return *at, nil
}

// shareCalled finds a share by its path, or by its name if only one share has the name.
func (s Calls) shareCalled(name string) (shares.ShareID, error) {
	var found []dispatcher.ShareStanding
	for _, p := range s.Jobs.Standing().Pools {
		for _, c := range p.Shares {
			switch {
			case c.Path == name:
				return c.ID, nil
			case strings.HasSuffix(c.Path, "/"+name) && !slices.ContainsFunc(found, func(f dispatcher.ShareStanding) bool { return f.ID == c.ID }):
				found = append(found, c)
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0].ID, nil
	case 0:
		return 0, fmt.Errorf("no share is called %s", name)
	}
	return 0, fmt.Errorf("%d shares are called %s, such as %s and %s", len(found), name, found[0].Path, found[1].Path)
}
