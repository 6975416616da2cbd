package slurm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Value says whether an option takes a value.
type Value int

// The kinds of options.
const (
	None     Value = iota // --parsable
	Required              // --mem 100, --mem=100
	Optional              // --exclusive, --exclusive=user
)

// Option is an option of a command.
type Option struct {
	Long   string // without --
	Short  byte   // 0 = there is none
	Takes  Value
	Effect string // what it does in divvy; empty = it is accepted and has no effect
	Env    string // variable that says the same, of sbatch
}

// UsageError is a command line that is refused.
type UsageError struct {
	Command string
	Text    string
}

// Error returns what Slurm's own command prints, without its name.
func (e *UsageError) Error() string { return e.Text }

// Code is the exit code with which Slurm's command refuses a command line.
func (e *UsageError) Code() int {
	if e.Command == "sbatch" || e.Command == "srun" {
		return 255
	}
	return 1
}

// Given are options as they were given, by their long names, and what stands beside them.
type Given struct {
	values map[string]string
	Args   []string
}

// Has says whether an option was given.
func (g Given) Has(long string) bool {
	_, ok := g.values[long]
	return ok
}

// Get returns the value of an option; empty if it was not given. Of an option that was given twice the last value counts.
func (g Given) Get(long string) string { return g.values[long] }

// Over returns g with the options of lower that g does not have.
func (g Given) Over(lower Given) Given {
	all := maps.Clone(lower.values)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, g.values)
	return Given{values: all, Args: g.Args}
}

// Parse reads a command line as GNU's getopt_long does. The commands that run a script or a program stop at the first argument that is
// no option; the others take options behind arguments too.
func Parse(command string, args []string) (Given, error) {
	p := parser{command: command, table: Tables[command], given: Given{values: map[string]string{}}}
	stops := command == "sbatch" || command == "srun"
	for p.rest = args; len(p.rest) > 0; {
		arg := p.rest[0]
		p.rest = p.rest[1:]
		var err error
		switch {
		case arg == "--":
			p.given.Args = append(p.given.Args, p.rest...)
			p.rest = nil
		case strings.HasPrefix(arg, "--"):
			err = p.long(arg[2:])
		case len(arg) > 1 && arg[0] == '-':
			err = p.short(arg[1:])
		case stops:
			p.given.Args = append([]string{arg}, p.rest...)
			p.rest = nil
		default:
			p.given.Args = append(p.given.Args, arg)
		}
		if err != nil {
			return Given{}, err
		}
	}
	return p.given, nil
}

// FromEnvironment returns the options that variables give to sbatch. The value of an option without one does not matter.
func FromEnvironment(command string, lookup func(string) (string, bool)) Given {
	g := Given{values: map[string]string{}}
	for _, o := range Tables[command] {
		if v, ok := lookup(o.Env); o.Env != "" && ok {
			g.values[o.Long] = v
		}
	}
	return g
}

type parser struct {
	command string
	table   []Option
	rest    []string
	given   Given
}

func (p *parser) refuse(format string, args ...any) error {
	return &UsageError{Command: p.command, Text: fmt.Sprintf(format, args...)}
}

// long reads --name, --name=value, or a begin of a name that only one option has.
func (p *parser) long(arg string) error {
	name, value, with := strings.Cut(arg, "=")
	i := slices.IndexFunc(p.table, func(o Option) bool { return o.Long == name })
	if i < 0 {
		var fits []int
		for k, o := range p.table {
			if name != "" && strings.HasPrefix(o.Long, name) {
				fits = append(fits, k)
			}
		}
		switch len(fits) {
		case 0:
			return p.refuse("unrecognized option '--%s'", name)
		case 1:
			i = fits[0]
		default:
			return p.refuse("option '--%s' is ambiguous; possibilities: '--%s' '--%s'", name, p.table[fits[0]].Long, p.table[fits[1]].Long)
		}
	}
	o := p.table[i]
	switch {
	case with && o.Takes == None:
		return p.refuse("option '--%s' doesn't allow an argument", o.Long)
	case !with && o.Takes == Required:
		if len(p.rest) == 0 {
			return p.refuse("option '--%s' requires an argument", o.Long)
		}
		value, p.rest = p.rest[0], p.rest[1:]
	}
	p.given.values[o.Long] = value
	return nil
}

// short reads a cluster of letters: -n, -n4, -nu USER.
func (p *parser) short(letters string) error {
	for letters != "" {
		c := letters[0]
		letters = letters[1:]
		i := slices.IndexFunc(p.table, func(o Option) bool { return o.Short == c })
		if i < 0 {
			return p.refuse("invalid option -- '%c'", c)
		}
		o := p.table[i]
		switch {
		case o.Takes == None:
			p.given.values[o.Long] = ""
			continue
		case o.Takes == Required && letters == "":
			if len(p.rest) == 0 {
				return p.refuse("option requires an argument -- '%c'", c)
			}
			letters, p.rest = p.rest[0], p.rest[1:]
		}
		p.given.values[o.Long] = letters
		return nil
	}
	return nil
}
