package dispatcher

import (
	"math"
	"math/rand/v2"
	"time"
)

// decisionsPerSecond is the rate up to which every decision is recorded, and about which a sample stays above it.
const decisionsPerSecond = 1000

// sampler picks the decisions that are recorded: one at random out of every block of weight decisions in a row. A
// fixed stride would not do: picks follow the shares in a regular turn, and every second one may well be the same
// share's. The weight follows the rate of the second before; when the rate rises within a second, the weight doubles
// for every further quarter of the budget. The zero sampler takes everything. Dispatcher.mu guards it.
type sampler struct {
	all    bool // no sample: all of them
	weight int  // of the next block; 0 counts as 1
	block  int  // size of the present one
	left   int  // decisions to come in it
	chosen int  // which of them is recorded, counted from the end

	since  time.Time // when this second began
	seen   int       // decisions in it
	taken  int       // records of it
	budget int
}

// next says what weight the record of the next decision has; 0: none is made.
func (m *sampler) next() int {
	if m.all {
		return 1
	}
	if m.left == 0 {
		m.open()
	}
	m.seen++
	m.left--
	if m.left != m.chosen {
		return 0
	}
	m.taken++
	return m.block
}

func (m *sampler) open() {
	m.weight = max(1, m.weight)
	if m.budget == 0 {
		m.budget = firstBudget
	}
	if m.taken >= m.budget {
		m.weight *= 2
		m.budget += decisionsPerSecond / 4
	}
	m.block, m.left, m.chosen = m.weight, m.weight, rand.IntN(m.weight)
}

// firstBudget leaves room for a second that is long or above the average.
const firstBudget = decisionsPerSecond * 5 / 4

// begin begins another second. A block that is cut short does no harm: a record in it stands for more than was seen,
// and as often there is none.
func (m *sampler) begin(now time.Time) {
	if passed := now.Sub(m.since).Seconds(); !m.since.IsZero() && passed > 0 {
		m.weight = max(1, int(math.Ceil(float64(m.seen)/passed/decisionsPerSecond)))
	}
	if m.block != m.weight {
		m.left = 0
	}
	m.since, m.seen, m.taken, m.budget = now, 0, 0, firstBudget
}
