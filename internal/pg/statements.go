package pg

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

// MustLoad reads sql/*.sql of an embedded folder into a map from file name without .sql to statement. It
// panics when there is none: the files are part of the binary, so that is a mistake in the source.
func MustLoad(files embed.FS) map[string]string {
	entries, err := files.ReadDir("sql")
	if err != nil {
		panic(fmt.Sprintf("pg: embedded statements: %v", err))
	}
	statements := make(map[string]string, len(entries))
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".sql")
		if !ok {
			continue
		}
		text, err := files.ReadFile(path.Join("sql", e.Name()))
		if err != nil {
			panic(fmt.Sprintf("pg: embedded statements: %v", err))
		}
		statements[name] = string(text)
	}
	return statements
}
