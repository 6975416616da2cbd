package replay

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

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
