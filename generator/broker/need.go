package broker

import (
	"cmp"
	"maps"
	"slices"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/shares"
)

// Mark says how many ready jobs a share keeps in stock, for each set of requirements, and how many are made at
// once. The low-water mark is what the share can start now or starts in Minutes, at least Floor, at most Cap; below
// it generation fills up to twice the mark, all of the share where one batch can do it.
type Mark struct {
	Floor   int64   // default 500
	Cap     int64   // default 20,000
	Minutes float64 // default 2
	Batch   int64   // jobs of one transaction; default 5000
	First   int64   // of them, while other shares have no ready job at all; default 250
	Tasks   int     // tasks of one transaction; default 200
}

func (m Mark) withDefaults() Mark {
	m.Floor = cmp.Or(m.Floor, 500)
	m.Cap = max(cmp.Or(m.Cap, 20_000), m.Floor)
	m.Minutes = cmp.Or(m.Minutes, 2)
	m.Batch = cmp.Or(m.Batch, 5000)
	m.First = min(cmp.Or(m.First, 250), m.Batch)
	m.Tasks = cmp.Or(m.Tasks, 200)
	return m
}

// unlimitedFloors is the mark, in floors, of a share whose queues have no limit: a burst has to last until the rate
// of starts shows.
const unlimitedFloors = 4

// fewOfUser is the least mark of a user in a share that gives jobs by fair turn among users.
const fewOfUser = 10

// part is the mark of each of so many users who share one, or of all where no users are told apart (0).
func (m Mark) part(low int64, users int) int64 {
	if users == 0 {
		return low
	}
	return max(spec.Ceil(low, int64(users)), fewOfUser)
}

// low is the low-water mark of one (share, shape).
func (m Mark) low(s dispatcher.Stock) int64 {
	startable := s.Startable
	if startable < 0 {
		startable = unlimitedFloors * m.Floor
	}
	soon := min(s.StartsPerMinute*m.Minutes, float64(m.Cap))
	return min(max(m.Floor, startable, int64(soon)), m.Cap)
}

// level is what a share has of one shape at one priority; a share that gives jobs by fair turn among users, of one of them.
type level struct {
	ShareID    shares.ShareID
	UserName   string // "": of everybody
	ShapeID    int32
	Priority   int
	Ready      int64
	LotsReady  int64 // of tasks that have ready jobs of several shapes: as if all were of this one
	PiecesLeft int64
	Tasks      int64 // that it was read from
	Epoch      int64
}

// Rung names a level inside its share.
type Rung struct {
	Shape    int32
	Priority int
	User     string
}

// Need is what a share lacks.
type Need struct {
	Share shares.ShareID
	Epoch int64   // of the state that this was decided on
	Ratio float64 // smallest stock in relation to its mark: the order of needs
	Turn  int     // among those with nothing, for which pulls wait: from 1; 0: it has something, or that is not known
	Most  int64   // jobs of a batch; 0: as many as any
	Wants map[Rung]int64
}

// needs says which shares are below their marks, neediest first, and how many jobs they want at which priority. Those with
// nothing ready come first, in the order in which slots would go to them (order), each with a small batch: pulls wait for them.
// The stock of a priority is that of itself and all higher ones, so that ready jobs of low priority never keep an
// urgent task waiting; where users are told apart each has his own, or those who have less would find no jobs of theirs when it is
// their turn. Levels come by share, user, shape and falling priority.
func needs(levels []level, stock []dispatcher.Stock, order []shares.ShareID, m Mark) []Need {
	known, users := byUser(stock), usersOf(levels)
	for i := range levels {
		if l := &levels[i]; l.LotsReady > 0 && len(stock) > 0 {
			l.Ready += min(l.LotsReady, known[l.stockKey()].Ready)
		} else {
			l.Ready += l.LotsReady
		}
	}
	var list []Need
	for i := 0; i < len(levels); {
		n := Need{Share: levels[i].ShareID, Epoch: levels[i].Epoch, Wants: map[Rung]int64{}}
		tasks, spare := int64(0), map[Rung]int64{}
		for i < len(levels) && levels[i].ShareID == n.Share {
			j, key := i, levels[i].stockKey()
			for j < len(levels) && levels[j].stockKey() == key {
				j++
			}
			everybodys := stockKey{share: key.share, shape: key.shape}
			n.add(levels[i:j], m.part(m.low(known[everybodys]), users[everybodys]), spare)
			for ; i < j; i++ {
				tasks += levels[i].Tasks
			}
		}
		if len(n.Wants) > 0 {
			if tasks <= int64(m.Tasks) && total(n.Wants)+total(spare) <= m.Batch {
				maps.Copy(n.Wants, spare)
			}
			list = append(list, n)
		}
	}
	inTurn(list, order, m)
	return list
}

// inTurn sorts needs, and makes batches small while several shares have nothing.
func inTurn(list []Need, order []shares.ShareID, m Mark) {
	turns := make(map[shares.ShareID]int, len(order))
	for i, id := range slices.Backward(order) {
		turns[id] = i + 1
	}
	nothing := 0
	for i := range list {
		if n := &list[i]; n.Ratio == 0 {
			n.Turn = turns[n.Share]
			nothing += min(n.Turn, 1)
		}
	}
	for i := range list {
		if list[i].Turn > 0 && nothing > 1 {
			list[i].Most = m.First
		}
	}
	slices.SortStableFunc(list, func(a, b Need) int {
		return cmp.Or(cmp.Compare(a.Ratio, b.Ratio), cmp.Compare(uint(a.Turn-1), uint(b.Turn-1))) // who has none comes last
	})
}

func (l level) stockKey() stockKey { return stockKey{l.ShareID, l.ShapeID, l.UserName} }

// byUser is the stock of everybody, and of each user who is told apart.
func byUser(stock []dispatcher.Stock) map[stockKey]dispatcher.Stock {
	known := make(map[stockKey]dispatcher.Stock, len(stock))
	for _, s := range stock {
		all := stockKey{share: s.Share, shape: s.Shape}
		sum := known[all]
		known[all] = dispatcher.Stock{Share: s.Share, Shape: s.Shape, Ready: sum.Ready + s.Ready, StartsPerMinute: sum.StartsPerMinute + s.StartsPerMinute, Startable: s.Startable}
		if s.User != "" {
			known[stockKey{s.Share, s.Shape, s.User}] = s
		}
	}
	return known
}

// usersOf is how many users have ready jobs of a shape, or pieces left, in a share that tells them apart.
func usersOf(levels []level) map[stockKey]int {
	seen, n := map[stockKey]bool{}, map[stockKey]int{}
	for _, l := range levels {
		if key := l.stockKey(); key.user != "" && !seen[key] && (l.Ready > 0 || l.LotsReady > 0 || l.PiecesLeft > 0) {
			seen[key] = true
			n[stockKey{share: key.share, shape: key.shape}]++
		}
	}
	return n
}

// add goes through the levels of one shape from the highest priority down. spare gets what those have room for that are not
// below their mark: it costs little where the share has a batch anyway, and much as one of its own a moment later, since what a
// COPY costs beside its rows is that of a thousand of them.
func (n *Need) add(levels []level, low int64, spare map[Rung]int64) {
	stock := int64(0)
	for _, l := range levels {
		stock += max(l.Ready, 0)
		if l.PiecesLeft <= 0 || stock >= 2*low {
			continue
		}
		wants := spare
		if stock < low {
			ratio := float64(stock) / float64(low)
			if len(n.Wants) == 0 || ratio < n.Ratio {
				n.Ratio = ratio
			}
			wants = n.Wants
		}
		want := min(l.PiecesLeft, 2*low-stock)
		wants[Rung{l.ShapeID, l.Priority, l.UserName}] = want
		stock += want
	}
}

func total(wants map[Rung]int64) (n int64) {
	for _, want := range wants {
		n += want
	}
	return n
}

// Shapes of the wants, sorted.
func (n *Need) Shapes() []int32 {
	var ids []int32
	for r := range n.Wants {
		ids = append(ids, r.Shape)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Users are the users and shapes of the wants, pair by pair; none where users are not told apart.
func (n *Need) Users() (users []string, shapes []int32) {
	for r := range n.Wants {
		if r.User != "" {
			users, shapes = append(users, r.User), append(shapes, r.Shape)
		}
	}
	return users, shapes
}
