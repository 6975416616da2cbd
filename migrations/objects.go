package migrations

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

//go:embed schema.sql
var schema string

// Object is one thing of the schema that every statement of divvy relies on.
type Object struct {
	Kind string // table, column, constraint, index, function, view or sequence
	Name string // with the table before it where the name is a table's own: jobs.state, report.usage
	Make string // the statement that makes it anew, where one line of the dump does; else empty
}

// Objects lists what all migrations together make, in the order of schema.sql. Names alone are compared elsewhere:
// servers of different versions print the same definition differently.
var Objects = sync.OnceValue(func() []Object { return objects(schema) })

var (
	made     = regexp.MustCompile(`^CREATE (?:UNIQUE )?(TABLE|VIEW|FUNCTION|SEQUENCE|INDEX) ([\w.]+)`)
	identity = regexp.MustCompile(`^    SEQUENCE NAME ([\w.]+)$`)
	column   = regexp.MustCompile(`^    (\w+) `)
	inTable  = regexp.MustCompile(`^    (?:ADD )?CONSTRAINT (\w+) `)
	altered  = regexp.MustCompile(`^ALTER TABLE (?:ONLY )?([\w.]+)`)
	attached = regexp.MustCompile(`(?m)^ALTER INDEX [\w.]+ ATTACH PARTITION (?:public\.)?([\w.]+);$`)
)

// objects reads a dump by its lines, which normalise has made the same for every pg_dump.
func objects(dump string) (all []Object) {
	child := map[string]bool{} // an index of a partition comes and goes with its parent's
	for _, m := range attached.FindAllStringSubmatch(dump, -1) {
		child[m[1]] = true
	}
	var table string // that the lines belong to
	var body bool    // between CREATE TABLE and its closing parenthesis
	for line := range strings.Lines(dump) {
		line = strings.TrimSuffix(line, "\n")
		if m := made.FindStringSubmatch(line); m != nil {
			o := Object{Kind: strings.ToLower(m[1]), Name: local(m[2])}
			switch o.Kind {
			case "table":
				table, body = o.Name, true
			case "index":
				o.Make = whole(line)
			}
			if !child[o.Name] {
				all = append(all, o)
			}
			continue
		}
		if m := altered.FindStringSubmatch(line); m != nil {
			table, body = local(m[1]), false
		}
		switch {
		case strings.HasPrefix(line, ")"):
			body = false
		case inTable.MatchString(line):
			name := inTable.FindStringSubmatch(line)[1]
			if !child[name] {
				all = append(all, Object{Kind: "constraint", Name: table + "." + name, Make: constraint(table, line)})
			}
		case identity.MatchString(line):
			all = append(all, Object{Kind: "sequence", Name: local(identity.FindStringSubmatch(line)[1])})
		case body && column.MatchString(line):
			all = append(all, Object{Kind: "column", Name: table + "." + column.FindStringSubmatch(line)[1]})
		}
	}
	return all
}

// local is a name without the schema that every session of divvy looks into first.
func local(name string) string { return strings.TrimPrefix(name, "public.") }

// whole makes an index of a partitioned table for its partitions too, which the dump does one by one.
func whole(statement string) string { return strings.Replace(statement, " ON ONLY ", " ON ", 1) }

func constraint(table, line string) string {
	line = strings.TrimRight(strings.TrimPrefix(strings.TrimSpace(line), "ADD "), ",;")
	return "ALTER TABLE " + table + " ADD " + line + ";"
}
