package replay

import (
	"encoding/json"
	"strings"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/machine"
)

// Asks gathers what the grants of a batch were asked for by. The zero value is that of an empty batch.
type Asks struct {
	entry entry.Asked
	kinds map[askKey]rune
	of    strings.Builder
}

// askKey tells kinds of pulls apart.
type askKey struct {
	cores, most                 int
	memoryMB, diskMB, walltimeS int64
	rest                        string // as JSON, of what few pulls say
}

func keyOf(a entry.Ask) askKey {
	key := askKey{a.Cores, a.Most, a.MemoryMB, a.DiskMB, a.WalltimeS, ""}
	if len(a.Labels) > 0 || len(a.Devices) > 0 || a.Only != nil {
		text, err := json.Marshal(entry.Ask{Labels: a.Labels, Devices: a.Devices, Only: a.Only})
		if err != nil {
			panic(err) // plain values: it cannot be
		}
		key.rest = string(text)
	}
	return key
}

// firstKind is the letter of the first kind of pulls, unknownKind that of a pull that is not known.
const (
	firstKind   = 'A'
	unknownKind = '-'
)

// Note says that the pull was given so many jobs. Their entries are in the batch, after those that were noted before.
func (a *Asks) Note(p machine.Pull, jobs int) {
	ask := askOf(p)
	key := keyOf(ask)
	kind, ok := a.kinds[key]
	if !ok {
		if a.kinds == nil {
			a.kinds = map[askKey]rune{}
		}
		kind = firstKind + rune(len(a.entry.Pulls))
		a.kinds[key], a.entry.Pulls = kind, append(a.entry.Pulls, ask)
	}
	for range jobs {
		a.of.WriteRune(kind)
	}
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
			i := int(kind - firstKind)
			if i < 0 || i >= len(e.Pulls) {
				list = append(list, nil)
				continue
			}
			list = append(list, &e.Pulls[i])
		}
	}
	return list
}
