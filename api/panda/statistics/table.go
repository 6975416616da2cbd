package statistics

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/divvyhq/divvy/dispatcher"
)

// tableStates are those of counted jobs, in the order of answers. The ones that always stand there are namedStates.
var tableStates = []string{"activated", "assigned", "cancelled", "defined", "failed", "finished", "running"}

// table writes counts as JSON, by queue, perhaps share, class and state. A thousand shares at a thousand queues are a million
// of these: it is written as it is read, without a tree of maps in between.
func table(counts []dispatcher.Count, share bool) json.RawMessage {
	slices.SortFunc(counts, func(a, b dispatcher.Count) int {
		if share && a.Share != b.Share {
			return cmp.Compare(a.Share, b.Share)
		}
		return cmp.Compare(a.Class, b.Class)
	})
	at := map[string][]int32{} // of each queue, in this order
	for i, c := range counts {
		for _, queue := range c.Queues {
			at[queue] = append(at[queue], int32(i))
		}
	}
	t := tableWriter{share: share, b: []byte{'{'}, names: map[string][]byte{}}
	for i, queue := range slices.Sorted(maps.Keys(at)) {
		t.name(i == 0, queue)
		t.queue(counts, at[queue])
	}
	return append(t.b, '}')
}

// tableWriter is the text so far.
type tableWriter struct {
	share bool
	b     []byte
	names map[string][]byte // as JSON
}

// name begins the value of a name in an object.
func (t *tableWriter) name(first bool, name string) {
	if !first {
		t.b = append(t.b, ',')
	}
	text := t.names[name]
	if text == nil {
		text, _ = json.Marshal(name) // texts have no other fault than bytes that are no characters, which it replaces
		t.names[name] = text
	}
	t.b = append(append(t.b, text...), ':')
}

// queue writes what there is at a queue: classes, perhaps within shares.
func (t *tableWriter) queue(counts []dispatcher.Count, of []int32) {
	t.b = append(t.b, '{')
	for i := 0; i < len(of); {
		c := counts[of[i]]
		begins := i == 0 || counts[of[i-1]].Share != c.Share
		if t.share && begins {
			if i > 0 {
				t.b = append(t.b, '}')
			}
			t.name(i == 0, c.Share)
			t.b = append(t.b, '{')
		}
		t.name(i == 0 || t.share && begins, c.Class)
		var n [7]int64
		for ; i < len(of) && counts[of[i]].Class == c.Class && (!t.share || counts[of[i]].Share == c.Share); i++ {
			if state := slices.Index(tableStates, countState(counts[of[i]])); state >= 0 {
				n[state] += counts[of[i]].N
			}
		}
		t.states(n)
	}
	if t.share && len(of) > 0 {
		t.b = append(t.b, '}')
	}
	t.b = append(t.b, '}')
}

func (t *tableWriter) states(n [7]int64) {
	first := true
	t.b = append(t.b, '{')
	for i, state := range tableStates {
		if n[i] == 0 && !slices.Contains(namedStates, state) {
			continue
		}
		if !first {
			t.b = append(t.b, ',')
		}
		first = false
		t.b = append(append(append(t.b, '"'), state...), `":`...)
		t.b = strconv.AppendInt(t.b, n[i], 10)
	}
	t.b = append(t.b, '}')
}
