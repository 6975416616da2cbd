package pg

import (
	"embed"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// MustLoad reads sql/*.sql of an embedded folder into a map from file name without .sql to statement. It
// panics when there is none: the files are part of the binary, so that is a mistake in the source.
func MustLoad(files embed.FS) map[string]string {
	entries, err := files.ReadDir("sql")
	if err != nil {
		panic(fmt.Sprintf("pg: embedded statements: %v", err))
	}
	_, caller, _, _ := runtime.Caller(1)
	owner := filepath.Base(filepath.Dir(caller))
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
		names.Store(string(text), owner+"/"+name)
	}
	return statements
}

// names of the texts that MustLoad has read.
var names sync.Map

// StatementName is what a statement is called in metrics and traces: package/file for one of MustLoad, the first word of
// what begins or ends a transaction, else "other". There are only so many names, whatever runs.
func StatementName(sql string) string {
	if name, ok := names.Load(sql); ok {
		return name.(string)
	}
	switch word, _, _ := strings.Cut(sql, " "); strings.ToLower(word) {
	case "begin", "commit", "rollback", "savepoint", "release":
		return strings.ToLower(word)
	}
	return "other"
}
