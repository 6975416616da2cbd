package dispatcher

import "github.com/divvyhq/divvy/shares"

// pathIn is the path of a leaf in a pool.
func (s *state) pathIn(p *pool, leaf int) PathStanding {
	st := s.standing(p)
	byNode := make([]*ShareStanding, len(s.version.Tree.Nodes))
	for i := range st.Shares {
		if node, ok := s.version.Tree.ByID(st.Shares[i].ID); ok {
			byNode[node] = &st.Shares[i]
		}
	}
	out := PathStanding{Pool: st.Pool, Capacity: st.Capacity, Round: st.Round, Held: st.Held, Levels: []LevelStanding{}}
	product := 1.0
	for _, node := range down(s.version.Tree, leaf) {
		level := levelOf(byNode, s.version.Tree.Nodes[s.version.Tree.Nodes[node].Parent].Children, node)
		product *= level.Product
		level.Product = product
		out.Levels = append(out.Levels, level)
	}
	return out
}

// levelOf is a node among its siblings; the product is that of this level only.
func levelOf(byNode []*ShareStanding, siblings []int, node int) LevelStanding {
	own := byNode[node]
	level := LevelStanding{Share: own.Path, Weight: own.Weight, Tier: own.Tier, Target: own.Target, Held: own.Held, Deficit: own.Deficit,
		Demand: own.Demand, Ready: own.Ready, Rank: 1, Of: 1}
	sum := 0.0
	for _, c := range siblings {
		sibling := byNode[c]
		sum += sibling.Weight
		if c == node || sibling.Ready == 0 {
			continue
		}
		level.Of++
		if sibling.Deficit > own.Deficit+shares.Tolerance/1000 {
			level.Rank++
		}
	}
	if sum > 0 {
		level.Product = own.Weight / sum
	}
	return level
}

// down is the path to a node without the root.
func down(t *shares.Tree, node int) []int {
	path := make([]int, t.Nodes[node].Depth)
	for i := len(path) - 1; i >= 0; i-- {
		path[i], node = node, t.Nodes[node].Parent
	}
	return path
}

// parting is the level at which the paths of two leaves part: the nodes of both there, children of one parent.
func parting(t *shares.Tree, a, b int) (ofA, ofB int) {
	for t.Nodes[a].Depth > t.Nodes[b].Depth {
		a = t.Nodes[a].Parent
	}
	for t.Nodes[b].Depth > t.Nodes[a].Depth {
		b = t.Nodes[b].Parent
	}
	for t.Nodes[a].Parent != t.Nodes[b].Parent {
		a, b = t.Nodes[a].Parent, t.Nodes[b].Parent
	}
	return a, b
}
