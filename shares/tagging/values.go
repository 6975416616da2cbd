package tagging

import (
	"errors"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// maxWork bounds the listing of one pattern, in bytes of texts put together.
const maxWork = 1 << 20

// one is one way in which a piece of a pattern can match: the text, as far as a group around it needs it, and
// the groups in it.
type one struct {
	text   string
	groups map[string]string // key in the share → text; an absent key stands for a group without a part in it
}

var (
	errEndless = errors.New("they are without end")
	errTooMany = errors.New("there are too many")
	errRepeat  = errors.New("a group stands inside a repetition")
)

// valuesOf lists all sets of values that the used groups of a pattern can have, perhaps more than really
// occur (anchors and word boundaries count as always true), never fewer.
func valuesOf(tree *syntax.Regexp, used map[int][]string) ([]map[string]string, error) {
	l := lister{used: used}
	ways, err := l.list(tree, false)
	if err != nil {
		return nil, err
	}
	out := make([]map[string]string, len(ways))
	for i, w := range ways {
		out[i] = w.groups
	}
	return out, nil
}

type lister struct {
	used map[int][]string
	work int
}

// list returns the ways in which re can match; text is left out unless asked for.
func (l *lister) list(re *syntax.Regexp, text bool) ([]one, error) {
	if !text && !l.inside(re) {
		return []one{{}}, nil
	}
	switch re.Op {
	case syntax.OpNoMatch:
		return nil, nil
	case syntax.OpLiteral:
		return l.literal(re)
	case syntax.OpCharClass:
		return class(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return nil, errEndless
	case syntax.OpCapture:
		return l.capture(re, text)
	case syntax.OpConcat:
		return l.concat(re.Sub, text)
	case syntax.OpAlternate:
		return l.alternate(re.Sub, text)
	case syntax.OpQuest:
		ways, err := l.list(re.Sub[0], text)
		return unique(append(ways, one{})), err
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		return l.repeat(re)
	default: // empty matches: anchors, boundaries
		return []one{{}}, nil
	}
}

func (l *lister) inside(re *syntax.Regexp) bool {
	if re.Op == syntax.OpCapture && len(l.used[re.Cap]) > 0 {
		return true
	}
	for _, sub := range re.Sub {
		if l.inside(sub) {
			return true
		}
	}
	return false
}

func (l *lister) literal(re *syntax.Regexp) ([]one, error) {
	ways := []one{{}}
	for _, r := range re.Rune {
		runes := []one{{text: string(r)}}
		if re.Flags&syntax.FoldCase != 0 {
			for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
				runes = append(runes, one{text: string(f)})
			}
		}
		var err error
		if ways, err = l.join(ways, runes); err != nil {
			return nil, err
		}
	}
	return ways, nil
}

func class(ranges []rune) (ways []one, err error) {
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			if len(ways) == MaxShares {
				return nil, errTooMany
			}
			ways = append(ways, one{text: string(r)})
		}
	}
	return ways, nil
}

func (l *lister) capture(re *syntax.Regexp, text bool) ([]one, error) {
	keys := l.used[re.Cap]
	ways, err := l.list(re.Sub[0], text || len(keys) > 0)
	for i := range ways {
		groups := maps.Clone(ways[i].groups)
		if groups == nil {
			groups = make(map[string]string, len(keys))
		}
		for _, k := range keys {
			groups[k] = ways[i].text
		}
		ways[i].groups = groups
		if !text {
			ways[i].text = ""
		}
	}
	return ways, err
}

func (l *lister) concat(subs []*syntax.Regexp, text bool) (ways []one, err error) {
	ways = []one{{}}
	for _, sub := range subs {
		more, err := l.list(sub, text)
		if err != nil {
			return nil, err
		}
		if ways, err = l.join(ways, more); err != nil {
			return nil, err
		}
	}
	return ways, nil
}

func (l *lister) alternate(subs []*syntax.Regexp, text bool) (ways []one, err error) {
	for _, sub := range subs {
		more, err := l.list(sub, text)
		if err != nil {
			return nil, err
		}
		if ways = unique(append(ways, more...)); len(ways) > MaxShares {
			return nil, errTooMany
		}
	}
	return ways, nil
}

// repeat lists the texts of a bounded repetition. A group inside one may keep the text of an earlier round,
// so such groups are refused.
func (l *lister) repeat(re *syntax.Regexp) ([]one, error) {
	if l.inside(re) {
		return nil, errRepeat
	}
	if re.Op != syntax.OpRepeat || re.Max < 0 {
		return nil, errEndless
	}
	sub, err := l.list(re.Sub[0], true)
	if err != nil {
		return nil, err
	}
	all := distinct{}
	ways := []one{{}}
	for n := 0; ; n++ {
		if n >= re.Min {
			all.add(ways)
		}
		if n == re.Max {
			return all.ways, nil
		}
		if ways, err = l.join(ways, sub); err != nil {
			return nil, err
		}
		if len(all.ways) > MaxShares {
			return nil, errTooMany
		}
	}
}

// join is every way of a followed by every way of b.
func (l *lister) join(a, b []one) ([]one, error) {
	if len(a)*len(b) > 4*MaxShares {
		return nil, errTooMany
	}
	out := distinct{}
	for _, x := range a {
		for _, y := range b {
			both := one{text: x.text + y.text, groups: x.groups}
			if len(y.groups) > 0 {
				both.groups = maps.Clone(y.groups)
				maps.Copy(both.groups, x.groups)
			}
			l.work += len(both.text) + 8
			out.add([]one{both})
		}
		if l.work > maxWork {
			return nil, errTooMany
		}
	}
	return out.ways, nil
}

func unique(ways []one) []one {
	d := distinct{}
	d.add(ways)
	return d.ways
}

// distinct gathers ways without repetition, in the order in which they came.
type distinct struct {
	ways []one
	seen map[string]bool
}

func (d *distinct) add(ways []one) {
	if d.seen == nil {
		d.seen = make(map[string]bool, len(ways))
	}
	for _, w := range ways {
		if key := w.key(); !d.seen[key] {
			d.seen[key] = true
			d.ways = append(d.ways, w)
		}
	}
}

func (w one) key() string {
	if len(w.groups) == 0 {
		return w.text
	}
	var b strings.Builder
	b.WriteString(w.text)
	for _, k := range slices.Sorted(maps.Keys(w.groups)) {
		b.WriteString("\x00" + k + "\x00" + w.groups[k])
	}
	return b.String()
}
