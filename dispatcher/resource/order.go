package resource

// order keeps members sorted by a key and, where keys are equal, by what then comes, with their number and the sum of the
// keys of any beginning of the list: a treap, in which a member's own number is its node. All of it is O(log members).
type order struct {
	root  int32
	nodes []node
	seed  uint64
	tie   func(a, b int32) bool // of equal keys; nil: by number
}

type node struct {
	left, right int32 // −1: none
	size        int32 // of its subtree; 0: the member is not in the order
	prio        uint32
	key, then   int64
	sum         int64 // of the keys in its subtree
}

const none = -1

func newOrder(tie func(a, b int32) bool) order { return order{root: none, seed: 1, tie: tie} }

func (o *order) len() int64 {
	if o.root == none {
		return 0
	}
	return int64(o.nodes[o.root].size)
}

func (o *order) total() int64 {
	if o.root == none {
		return 0
	}
	return o.nodes[o.root].sum
}

// has says whether a member is in the order.
func (o *order) has(i int32) bool { return int(i) < len(o.nodes) && o.nodes[i].size > 0 }

// before says whether a member comes before another one, which may be in the order or not and has these keys.
func (o *order) before(a, b int32, key, then int64) bool {
	switch n := &o.nodes[a]; {
	case n.key != key:
		return n.key < key
	case n.then != then:
		return n.then < then
	case o.tie != nil:
		return o.tie(a, b)
	}
	return a < b
}

// put adds a member, or gives it other keys.
func (o *order) put(i int32, key, then int64) {
	if o.has(i) {
		if n := &o.nodes[i]; n.key == key && n.then == then {
			return
		}
		o.drop(i)
	}
	for int(i) >= len(o.nodes) {
		o.nodes = append(o.nodes, node{})
	}
	o.seed = o.seed*6364136223846793005 + 1442695040888963407 // Knuth's; any will do
	o.nodes[i] = node{left: none, right: none, size: 1, prio: uint32(o.seed >> 32), key: key, then: then, sum: key}
	left, right := o.cut(o.root, i)
	o.root = o.join(o.join(left, i), right)
}

// cut parts a subtree into what comes before i and what comes after.
func (o *order) cut(at, i int32) (left, right int32) {
	if at == none {
		return none, none
	}
	n := &o.nodes[at]
	if o.before(at, i, o.nodes[i].key, o.nodes[i].then) {
		n.right, right = o.cut(n.right, i)
		left = at
	} else {
		left, n.left = o.cut(n.left, i)
		right = at
	}
	o.count(at)
	return left, right
}

// drop takes out a member that is in the order.
func (o *order) drop(i int32) {
	o.root = o.remove(o.root, i)
	o.nodes[i].size = 0
}

func (o *order) remove(at, i int32) int32 {
	n := &o.nodes[at]
	switch {
	case at == i:
		return o.join(n.left, n.right)
	case o.before(at, i, o.nodes[i].key, o.nodes[i].then):
		n.right = o.remove(n.right, i)
	default:
		n.left = o.remove(n.left, i)
	}
	o.count(at)
	return at
}

// join puts together two subtrees of which the left one comes first.
func (o *order) join(left, right int32) int32 {
	switch {
	case left == none:
		return right
	case right == none:
		return left
	case o.nodes[left].prio > o.nodes[right].prio:
		o.nodes[left].right = o.join(o.nodes[left].right, right)
		o.count(left)
		return left
	}
	o.nodes[right].left = o.join(left, o.nodes[right].left)
	o.count(right)
	return right
}

func (o *order) count(at int32) {
	n := &o.nodes[at]
	n.size, n.sum = 1, n.key
	for _, c := range [2]int32{n.left, n.right} {
		if c != none {
			n.size += o.nodes[c].size
			n.sum += o.nodes[c].sum
		}
	}
}

// ahead is the number of members before one with these keys, which may be in the order or not.
func (o *order) ahead(i int32, key, then int64) (n int64) {
	for at := o.root; at != none; {
		if !o.before(at, i, key, then) {
			at = o.nodes[at].left
			continue
		}
		if l := o.nodes[at].left; l != none {
			n += int64(o.nodes[l].size)
		}
		n++
		at = o.nodes[at].right
	}
	return n
}

// first visits so many members from the beginning on.
func (o *order) first(n int64, visit func(i int32)) {
	var below func(at int32)
	below = func(at int32) {
		if at == none || n <= 0 {
			return
		}
		below(o.nodes[at].left)
		if n > 0 {
			n--
			visit(at)
			below(o.nodes[at].right)
		}
	}
	below(o.root)
}

// level is the water level q, and what is left over, when r is poured over members whose keys are their demands:
// Σ min(demand, q) + odd = r, with odd < above, the number of members with a demand above q. It needs r < total.
func (o *order) level(r int64) (q, odd, above int64) {
	n, sum := int64(0), int64(0) // members known to be full, and their demands
	all := o.len()
	for at := o.root; at != none; {
		node := &o.nodes[at]
		size, full := int64(1), node.key
		if node.left != none {
			size += int64(o.nodes[node.left].size)
			full += o.nodes[node.left].sum
		}
		if sum+full+(all-n-size)*node.key <= r { // this one, and all before it, can be full
			n, sum = n+size, sum+full
			at = node.right
		} else {
			at = node.left
		}
	}
	above = all - n
	q = (r - sum) / above
	return q, r - sum - q*above, above
}
