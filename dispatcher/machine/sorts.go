package machine

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/ready"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// sorts are the jobs that hold claims, by what these ask of a slot now.
//
// Such jobs are ready with a variant of their shape: the requirements of the log and what the claims ask of a slot
// now (gate.Sort). All of a decision takes variants for shapes like others. Variants are never in the log.
type sorts struct {
	*state
	bays  map[resource.Place][]*buffer // of guests: jobs that claims bind to a node,
	open  map[*buffer]struct{}         // and jobs that start as a gang
	nodes *gate.Nodes
	spent []*buffer // that have no job any more, and are dropped when the entry is applied
}

type variantKey struct {
	shape int32
	sort  string
}

// unnumbered is a number of an outline that no kind has.
const unnumbered = math.MaxInt32

// variant finds or makes the shape of jobs whose claims ask something of a slot.
func (ws *words) variant(id int32, sort *gate.Sort) int32 {
	if !sort.Asks() {
		return id
	}
	key := variantKey{id, sort.Text()}
	if had := ws.variants[key]; had != nil {
		had.sort = sort
		return had.id
	}
	base := ws.shapes[id]
	need, asks := base.full, sort.Need
	if len(asks.Resources) > 0 {
		need.Resources = maps.Clone(need.Resources)
		if need.Resources == nil {
			need.Resources = map[string]int64{}
		}
		for ref, units := range asks.Resources {
			need.Resources[ref] += units
		}
		need.SharingID = cmp.Or(need.SharingID, sort.Payer.SharingID)
	}
	asks.Node, asks.Resources = "", nil
	if asks.Queue != "" || asks.Apart || asks.Missing || asks.OnNode || asks.Devices != nil || asks.Gang > 0 {
		need.Claims = &asks
	}
	ws.last--
	sh := &shape{outline: ws.outlineOf(need), id: ws.last, full: need, asked: askedOf(need), base: base, sort: sort}
	if sh.headed = sh.asked.Any() || sort.Limited(); sh.headed {
		if !sh.guest || sh.asked.Any() {
			sh.shapes = append(sh.shapes, sh)
		}
		ws.state.supplies.resolve(sh)
	}
	ws.shapes[sh.id], ws.variants[key] = sh, sh
	ws.bySort[key.sort] = append(ws.bySort[key.sort], sh)
	return sh.id
}

// passes says whether a shape goes with its last job: there may be one for every node, or for every claim.
func (sh *shape) passes() bool { return sh.guest || sh.sort.Limited() }

// log is the share and shape that the log knows the jobs of a buffer by.
func (b *buffer) log() ready.Key { return ready.Key{Share: b.Key().Share, Shape: b.shape.base.id} }

// keyOf is where jobs of a party and a user are that are ready with a share and shape of the log; a nil party holds no claims.
func (so *sorts) keyOf(log ready.Key, party *gate.Party, user string) ready.Key {
	if party != nil {
		log.Shape = so.words.variant(log.Shape, party.Sort())
	}
	if so.givesTurns(log.Share) {
		log.User = user
	}
	return log
}

// claim follows an entry about claims.
func (so *sorts) claim(e entry.Entry) error {
	fx, err := so.claims.Apply(e, func(id shares.QueueID) string { return so.place(id, "").Queue })
	if err != nil {
		return err
	}
	so.turn(fx)
	if _, fewer := e.(entry.Dropped); fewer {
		so.eased++ // what is left of a gang may fit into the slots that wait
	}
	return nil
}

// place is a node as claims know it.
func (so *sorts) place(queue shares.QueueID, node string) resource.Place {
	at := resource.Place{Node: node}
	if q := so.site.Queues[queue]; q != nil {
		at.Queue = q.Name
	}
	return at
}

// turn follows what an entry has made of claims: ready jobs go to where they belong now, and units are charged.
func (so *sorts) turn(fx gate.Effects) {
	so.charge(&fx)
	for _, p := range fx.Moved {
		so.move(p)
	}
	for _, sort := range fx.Turned {
		for _, sh := range so.words.bySort[sort.Text()] {
			for _, b := range sh.own {
				so.supplies.recountWanted(b, false)
				so.check(b)
			}
		}
	}
	if fx.Costs {
		so.supplies.recountCosts()
	}
	if len(fx.Moved) > 0 || len(fx.Turned) > 0 || fx.Fewer {
		so.eased++
	}
	so.sweep()
}

// charge counts the units that claims take or give back.
func (so *sorts) charge(fx *gate.Effects) {
	for _, c := range fx.Charges {
		if q := so.site.Queues[c.Queue]; q != nil {
			so.supplies.Charge(c, &q.Queue)
		}
	}
	fx.Charges = nil
}

// move puts the ready jobs of a party where its claims have them now.
func (so *sorts) move(p *gate.Party) {
	user, _ := so.ready.User(p.Task)
	var touched []*buffer
	for _, w := range so.readyOf(p) {
		from := so.buffers[w.Key]
		to, err := so.buffer(so.keyOf(from.log(), p, user))
		if err != nil {
			panic(err) // the variant was just made
		}
		so.ready.Move(p.Task, w.Key, to.Key(), w.Low, w.High)
		for _, b := range []*buffer{from, to} {
			if !slices.Contains(touched, b) {
				touched = append(touched, b)
			}
		}
	}
	for _, b := range touched {
		so.changed(b, false)
	}
}

func (so *sorts) readyOf(p *gate.Party) (list []ready.Part) {
	for _, ids := range p.Spans {
		list = append(list, so.ready.Within(p.Task, ids.Low, ids.High)...)
	}
	return list
}

func (so *sorts) countReady(p *gate.Party) (n int64) {
	for _, w := range so.readyOf(p) {
		n += w.Jobs()
	}
	return n
}

// sweep drops the buffers that have no job any more whose shape goes with them.
func (so *sorts) sweep() {
	for _, b := range so.spent {
		if so.buffers[b.Key()] != b || b.Count() > 0 {
			continue
		}
		sh, same := b.shape, func(o *buffer) bool { return o == b }
		sh.buffers = slices.DeleteFunc(sh.buffers, same)
		if b.group != nil {
			b.group.buffers = slices.DeleteFunc(b.group.buffers, same)
		}
		if b.user != nil {
			l := &so.leaves[b.leaf]
			l.mine[b.user] = slices.DeleteFunc(l.mine[b.user], same)
		}
		so.unfollow(b)
		so.drop(b)
		if len(sh.own) > 0 {
			continue
		}
		text, is := sh.sort.Text(), func(o *shape) bool { return o == sh }
		sh.shapes = slices.DeleteFunc(sh.shapes, is)
		delete(so.words.shapes, sh.id)
		delete(so.words.variants, variantKey{sh.base.id, text})
		if so.words.bySort[text] = slices.DeleteFunc(so.words.bySort[text], is); len(so.words.bySort[text]) == 0 {
			delete(so.words.bySort, text)
		}
	}
	so.spent = so.spent[:0]
}
