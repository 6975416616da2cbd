package books

import "github.com/divvyhq/divvy/shares"

// DueByFloor is the leaf of contenders that a floor of the queue has come first: it takes the floors in the order of what they lack, the
// most first, and below each the leaf that the tree says. offers says whether a leaf has jobs that a floor is for.
func (q *Queue) DueByFloor(offered shares.Units, contenders *shares.Contenders, offers func(*Target, int) bool) (floor *Target, leaf int, ok bool) {
	tried := 0
	for lack := int64(1) << 62; tried < len(q.Floors); {
		var next int64
		for _, t := range q.Floors {
			if n := t.Lack(); n > next && n < lack {
				next = n
			}
		}
		if next == 0 {
			break
		}
		for _, t := range q.Floors {
			if t.Lack() != next {
				continue
			}
			tried++
			if leaf, ok := q.Home.below(t, offered, contenders, offers); ok {
				return t, leaf, true
			}
		}
		lack = next
	}
	return nil, 0, false
}

// below is the leaf that the tree says among those that a floor is for.
func (p *Pool) below(t *Target, offered shares.Units, contenders *shares.Contenders, offers func(*Target, int) bool) (leaf int, ok bool) {
	for _, leaf := range t.Leaves {
		if p.Book.Contends(contenders, leaf) && offers(t, leaf) {
			p.Book.Contend(&p.floored, leaf, true)
		}
	}
	leaf, ok = p.Book.Choose(offered, &p.floored)
	for _, leaf := range t.Leaves {
		p.Book.Contend(&p.floored, leaf, false)
	}
	return leaf, ok
}
