package slurm

import (
	"errors"
	"strings"
)

// Errors about a script, in Slurm's words.
var (
	ErrNoScript = errors.New("This does not look like a batch script.  The first line must start with #! followed by the path to an interpreter.\nFor instance: #!/bin/sh")
	ErrDOS      = errors.New("Batch script contains DOS line breaks (\\r\\n) instead of expected UNIX line breaks (\\n).")
	ErrEmpty    = errors.New("Batch script is empty!")
	ErrNull     = errors.New("The Slurm controller does not allow scripts that contain a NULL character.")
)

// CheckScript refuses what cannot be a script.
func CheckScript(text string) error {
	first, _, _ := strings.Cut(text, "\n")
	switch {
	case strings.TrimSpace(text) == "":
		return ErrEmpty
	case !strings.HasPrefix(text, "#!"):
		return ErrNoScript
	case strings.HasSuffix(first, "\r"):
		return ErrDOS
	case strings.Contains(text, "\x00"):
		return ErrNull
	}
	return nil
}

// Directives reads the options of the #SBATCH lines of a script. They count until the first command.
func Directives(script string) (Given, error) {
	var args []string
	for line := range strings.Lines(script) {
		text := strings.TrimRight(line, "\r\n")
		if after, ok := strings.CutPrefix(text, "#SBATCH"); ok && (after == "" || after[0] == ' ' || after[0] == '\t') {
			args = append(args, Words(after)...)
			continue
		}
		if t := strings.TrimSpace(text); t != "" && t[0] != '#' {
			break
		}
	}
	g, err := Parse("sbatch", args)
	g.Args = nil // a word that is no option ends the options, as Slurm's own reader has it
	return g, err
}

// Words splits a line at blanks. Quotes hold a word together, a backslash takes the next letter as it is, and # ends the line.
func Words(line string) (words []string) {
	var word strings.Builder
	open, quote, escaped := false, byte(0), false
	for i := range len(line) {
		c := line[i]
		switch {
		case escaped:
			word.WriteByte(c)
			escaped = false
		case c == '\\' && quote != '\'':
			open, escaped = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteByte(c)
		case c == '"' || c == '\'':
			open, quote = true, c
		case c == '#':
			line = ""
		case c == ' ' || c == '\t':
			if open {
				words = append(words, word.String())
				word.Reset()
			}
			open = false
		default:
			open = true
			word.WriteByte(c)
		}
		if line == "" {
			break
		}
	}
	if open {
		words = append(words, word.String())
	}
	return words
}
