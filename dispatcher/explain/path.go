package explain

import "github.com/divvyhq/divvy/shares"

// path is the way down to a node in a pool.
func (p *pool) path(tree *shares.Tree, node int) PathStanding {
	out := PathStanding{Pool: p.name, Capacity: p.PoolStanding.Capacity, Round: p.Round, Held: p.Held, Levels: []LevelStanding{}}
	product := 1.0
	for _, at := range down(tree, node) {
		level := p.levelOf(tree.Nodes[tree.Nodes[at].Parent].Children, at)
		product *= level.Product
		level.Product = product
		out.Levels = append(out.Levels, level)
	}
	return out
}

// levelOf is a node among its siblings; the product is that of this level only.
func (p *pool) levelOf(siblings []int, node int) LevelStanding {
	own := &p.Shares[node-1]
	level := LevelStanding{Share: own.Path, Weight: own.Weight, Tier: own.Tier, Target: own.Target, Held: own.Held, Deficit: own.Deficit,
		Demand: own.Demand, Ready: own.Ready, Rank: 1, Of: 1}
	sum := 0.0
	for _, c := range siblings {
		sibling := &p.Shares[c-1] // the root is no share
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
