package generator

import (
	"cmp"
	"slices"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/shares"
)

// Mark says how many ready jobs a share keeps in stock, for each set of requirements, and how many are made at
// once. The low-water mark is what the share can start now or starts in Minutes, at least Floor, at most Cap; below
// it generation fills up to twice the mark.
type Mark struct {
	Floor   int64   // default 500
	Cap     int64   // default 20,000
	Minutes float64 // default 2
	Batch   int64   // jobs of one transaction; default 5000
	Tasks   int     // tasks of one transaction; default 200
}

func (m Mark) withDefaults() Mark {
	m.Floor = cmp.Or(m.Floor, 500)
	m.Cap = max(cmp.Or(m.Cap, 20_000), m.Floor)
	m.Minutes = cmp.Or(m.Minutes, 2)
	m.Batch = cmp.Or(m.Batch, 5000)
	m.Tasks = cmp.Or(m.Tasks, 200)
	return m
}

// unlimitedFloors is the mark, in floors, of a share whose queues have no limit: a burst has to last until the rate
// of starts shows.
const unlimitedFloors = 4

// low is the low-water mark of one (share, shape).
func (m Mark) low(s dispatcher.Stock) int64 {
	startable := s.Startable
	if startable < 0 {
		startable = unlimitedFloors * m.Floor
	}
	soon := min(s.StartsPerMinute*m.Minutes, float64(m.Cap))
	return min(max(m.Floor, startable, int64(soon)), m.Cap)
}

// level is what a share has of one shape at one priority.
type level struct {
	ShareID    shares.ShareID
	ShapeID    int32
	Priority   int
	Ready      int64
	PiecesLeft int64
	Tasks      int64 // that it was read from
	Epoch      int64
}

// rung names a level inside its share.
type rung struct {
	Shape    int32
	Priority int
}

// need is what a share lacks.
type need struct {
	Share shares.ShareID
	Epoch int64   // of the state that this was decided on
	Ratio float64 // smallest stock in relation to its mark: the order of needs
	Wants map[rung]int64
}

// needs says which shares are below their marks, neediest first, and how many jobs they want at which priority.
// The stock of a priority is that of itself and all higher ones, so that ready jobs of low priority never keep an
// urgent task waiting. Levels come by share, shape and falling priority.
func needs(levels []level, stock []dispatcher.Stock, m Mark) []need {
	known := make(map[stockKey]dispatcher.Stock, len(stock))
	for _, s := range stock {
		known[stockKey{s.Share, s.Shape}] = s
	}
	var list []need
	for i := 0; i < len(levels); {
		n := need{Share: levels[i].ShareID, Epoch: levels[i].Epoch, Wants: map[rung]int64{}}
		for i < len(levels) && levels[i].ShareID == n.Share {
			j := i
			for j < len(levels) && levels[j].ShareID == n.Share && levels[j].ShapeID == levels[i].ShapeID {
				j++
			}
			n.add(levels[i:j], m.low(known[stockKey{n.Share, levels[i].ShapeID}]))
			i = j
		}
		if len(n.Wants) > 0 {
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b need) int { return cmp.Compare(a.Ratio, b.Ratio) })
	return list
}

// add goes through the levels of one shape from the highest priority down.
func (n *need) add(levels []level, low int64) {
	stock := int64(0)
	for _, l := range levels {
		stock += max(l.Ready, 0)
		if l.PiecesLeft <= 0 || stock >= low {
			continue
		}
		ratio := float64(stock) / float64(low)
		if len(n.Wants) == 0 || ratio < n.Ratio {
			n.Ratio = ratio
		}
		want := min(l.PiecesLeft, 2*low-stock)
		n.Wants[rung{l.ShapeID, l.Priority}] = want
		stock += want
	}
}

// shapes of the wants, sorted.
func (n *need) shapes() []int32 {
	var ids []int32
	for r := range n.Wants {
		ids = append(ids, r.Shape)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
