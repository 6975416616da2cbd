package replay

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// Player follows the log with a machine and stops at each grant.
type Player struct {
	machine *machine.Machine
	batch   entry.Batch
	asked   []*entry.Ask
	had     map[uint64][]entry.Granted // the grants of the batch so far of each pull, by the secret that comes next: a gang starts in several at once
}

// NewPlayer plays on from where the machine stands. The machine is the player's from now on. To wait for no jobs that are to be made, as a
// pull did not that was given another one, it has Config.Making 0.
func NewPlayer(m *machine.Machine) *Player {
	return &Player{machine: m, had: map[uint64][]entry.Granted{}}
}

// Turn is a grant of the log, before it is counted.
type Turn struct {
	Seq   int64
	At    time.Time // of its batch
	By    int64     // the daemon that decided
	Grant entry.Granted
	Pull  machine.Pull
	Known bool            // what the pull asked for is in the log
	Had   []entry.Granted // what the pull was given before, until the next turn
	Took  *entry.Took     // devices that it takes; nil: none

	player *Player
}

// Look makes the decision again.
func (t *Turn) Look(contest bool) machine.Look {
	p := t.Pull
	p.Contests = contest
	return t.player.machine.Look(p, t.Had)
}

// Play applies a batch, with its sites looked up, and calls visit before each of its grants.
func (p *Player) Play(b entry.Batch, visit func(*Turn)) error {
	seq, id := p.machine.Stand()
	if b.Seq != seq+1 || b.After != id {
		return fmt.Errorf("replay: batch %d does not follow batch %d", b.Seq, seq)
	}
	p.batch, p.asked = b, asked(b)
	clear(p.had)
	grants, told := 0, false
	for i, e := range b.Entries {
		switch e := e.(type) {
		case entry.Took: // it is part of the grant that it stands before
			if g, ok := next(b.Entries, i); ok && g.Job == e.Job {
				p.turn(g, &e, grants, visit)
				told = true
			}
		case entry.Granted:
			if !told {
				p.turn(e, nil, grants, visit)
			}
			grants, told, p.had[unmixed(e.Nonce)+step] = grants+1, false, append(p.hadBy(e), e)
		}
		if err := p.machine.Apply(e); err != nil {
			return fmt.Errorf("replay: batch %d, entry %d: %w", b.Seq, i, err)
		}
	}
	p.machine.Reach(b.Seq, b.ID)
	return nil
}

// next is the entry after the one at i, if it is a grant.
func next(entries []entry.Entry, i int) (g entry.Granted, ok bool) {
	if i+1 < len(entries) {
		g, ok = entries[i+1].(entry.Granted)
	}
	return g, ok
}

// turn visits a grant, the nth of its batch.
func (p *Player) turn(g entry.Granted, took *entry.Took, n int, visit func(*Turn)) {
	t := &Turn{Seq: p.batch.Seq, At: p.batch.At, By: p.batch.By, Grant: g, Had: p.hadBy(g), Took: took, player: p}
	t.Pull = machine.Pull{Queue: g.Queue, Pilot: g.Pilot, Node: g.Node, Request: g.Request, Nonce: seedOf(g.Nonce, len(t.Had))}
	if n < len(p.asked) && p.asked[n] != nil {
		a := p.asked[n]
		t.Known, t.Pull.Slot, t.Pull.Most, t.Pull.Devices = true, a.Slot(), a.Most, a.Devices
		if a.Only != nil {
			t.Pull.Only = *a.Only
		}
	}
	visit(t)
}

// hadBy is what the pull of a grant was given before it: the secrets of a pull follow from one seed.
func (p *Player) hadBy(g entry.Granted) []entry.Granted {
	return p.had[unmixed(g.Nonce)]
}

// step is what the secrets of the jobs of a pull are apart by, before they are mixed; see machine.Pull.Nonce.
const step = 0x9e3779b97f4a7c15

// seedOf is the seed of the nth secret of a pull.
func seedOf(nonce int64, n int) int64 {
	return int64(unmixed(nonce) - uint64(n+1)*step)
}

// unmixed undoes the last steps of splitmix64.
func unmixed(nonce int64) uint64 {
	z := uint64(nonce)
	z = (z ^ z>>31 ^ z>>62) * 0x319642b2d24d8ec3
	z = (z ^ z>>27 ^ z>>54) * 0x96de1b173f119089
	return z ^ z>>30 ^ z>>60
}

// Asks gathers what the grants of a batch were asked for by. The zero value is that of an empty batch.
type Asks struct {
	entry entry.Asked
	of    strings.Builder
}

// firstKind is the letter of the first kind of pulls. Another letter than those of the kinds is of a pull that is not known.
const firstKind = 'A'

// Note says that the pull was given so many jobs. Their entries are in the batch, after those that were noted before.
func (a *Asks) Note(p machine.Pull, jobs int) {
	ask := askOf(p)
	kind := slices.IndexFunc(a.entry.Pulls, func(one entry.Ask) bool { return same(one, ask) })
	if kind < 0 {
		kind = len(a.entry.Pulls)
		a.entry.Pulls = append(a.entry.Pulls, ask)
	}
	for range jobs {
		a.of.WriteRune(firstKind + rune(kind))
	}
}

// same says whether two pulls ask for the same. Few say more than figures.
func same(a, b entry.Ask) bool {
	return a.WalltimeS == b.WalltimeS && a.Cores == b.Cores && a.MemoryMB == b.MemoryMB && a.DiskMB == b.DiskMB && a.Most == b.Most &&
		maps.Equal(a.Labels, b.Labels) && slices.Equal(a.Devices, b.Devices) && reflect.DeepEqual(a.Only, b.Only)
}

// Entry returns what was noted; false when that is nothing.
func (a *Asks) Entry() (entry.Asked, bool) {
	e := a.entry
	e.Of = a.of.String()
	return e, len(e.Pulls) > 0
}

func askOf(p machine.Pull) entry.Ask {
	a := entry.Ask{Cores: p.Slot.Cores, MemoryMB: p.Slot.MemoryMB, DiskMB: p.Slot.DiskMB, WalltimeS: p.Slot.WalltimeS, Labels: p.Slot.Labels,
		Most: p.Most, Devices: p.Devices}
	if only := p.Only; !only.None() {
		a.Only = &only
	}
	return a
}

// asked returns what each grant of a batch was asked for by; nil where it is not known.
func asked(b entry.Batch) (list []*entry.Ask) {
	for _, e := range b.Entries {
		e, ok := e.(entry.Asked)
		if !ok {
			continue
		}
		for _, kind := range e.Of {
			var ask *entry.Ask
			if i := int(kind - firstKind); 0 <= i && i < len(e.Pulls) {
				ask = &e.Pulls[i]
			}
			list = append(list, ask)
		}
	}
	return list
}
