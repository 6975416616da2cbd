package keys

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// EachLine reads the lines that are neither empty nor comments, trimmed. The first fault ends it, with its place: name:n.
func EachLine(name string, r io.Reader, read func(n int, line string) error) error {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := read(n, line); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
