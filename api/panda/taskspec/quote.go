package taskspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/divvyhq/divvy/dispatcher"
)

// Pilots fetch the script that runs commands at TrfPath, by RunShellName.
const (
	TrfPath      = "/trf/"
	RunShellName = "runShell"
)

// A pilot runs `./<basename of the transformation> <jobPars>` in a shell, after it has cut jobPars with Python's shlex,
// taken out the options that are meant for itself, and quoted the rest anew. So every argument is quoted, and those that
// hold what it looks for, or cannot be printed, are written in octal: runShell -o.
//
//	./runShell -e DIVVY_ATTEMPT=1 -e COLOUR='dark red' -- echo 'hello world'
//	./runShell -o -e DIVVY_ATTEMPT=1 -- echo %033%133m

// PayloadOf is what a pilot is told to run for the command of a lease: the script at runShell, and its parameters. A command
// whose program is a URL is a transformation of somebody else's; it gets its arguments, and no environment.
func PayloadOf(l *dispatcher.Lease, queue, runShell string) (transformation, jobPars string) {
	switch program := l.Command[0]; {
	case program == RunGenName:
		base, _, _ := strings.Cut(runShell, TrfPath)
		var words []string
		for _, word := range l.Command[1:] {
			words = append(words, FillLate(word, base, l.Task))
		}
		return strings.TrimSuffix(runShell, RunShellName) + RunGenName, strings.Join(QuoteAll(words), " ")
	case isURL(program):
		return program, strings.Join(QuoteAll(l.Command[1:]), " ")
	}
	env := maps.Clone(l.Env)
	if env == nil {
		env = map[string]string{}
	}
	env["DIVVY_ATTEMPT"], env["DIVVY_CORES"] = fmt.Sprint(l.Attempt), fmt.Sprint(max(1, l.Cores))
	env["DIVVY_QUEUE"], env["DIVVY_SHARE"] = queue, l.Share
	var words []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		words = append(words, "-e", name+"="+env[name])
	}
	words = append(append(words, "--"), placed(l)...)
	if !slices.ContainsFunc(words, risky) {
		return runShell, strings.Join(QuoteAll(words), " ")
	}
	for i := range words {
		if words[i] != "-e" && words[i] != "--" {
			words[i] = octal(words[i])
		}
	}
	return runShell, strings.Join(QuoteAll(append([]string{"-o"}, words...)), " ")
}

// placed is the command of a lease in the folder, and with the files, that the task names: a pilot of PanDA knows of neither.
func placed(l *dispatcher.Lease) []string {
	if l.Image != "" {
		return []string{"sh", "-c", `echo "$0" >&2; exit 125`, "image " + l.Image + ": pilots of PanDA start no containers; take containers from this queue"}
	}
	var parts []string
	if l.Dir != "" {
		parts = append(parts, "cd "+Quote(l.Dir)+" || exit 126")
	}
	if l.Stdout != "" {
		parts = append(parts, "exec >"+Quote(l.Stdout))
	}
	switch l.Stderr {
	case "":
	case l.Stdout:
		parts = append(parts, "exec 2>&1")
	default:
		parts = append(parts, "exec 2>"+Quote(l.Stderr))
	}
	if parts == nil {
		return l.Command
	}
	return append([]string{"sh", "-c", strings.Join(append(parts, `exec "$@"`), "; "), "sh"}, l.Command...)
}

func isURL(s string) bool { return strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://") }

// ForPilot are the words in arguments that pilots take for their own.
var ForPilot = []string{"<zip_map>", "--containerimage", "--overwritequeue", "--overwritestorage"}

// risky is true for an argument that a pilot would change, or a log would not show as it is.
func risky(s string) bool {
	low := strings.ToLower(s)
	return !utf8.ValidString(s) ||
		strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }) ||
		slices.ContainsFunc(ForPilot, func(word string) bool { return strings.Contains(low, word) })
}

// octal writes all but the plainest bytes as % and three octal digits.
func octal(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("._/:,=+@", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%03o", c)
		}
	}
	return b.String()
}

// QuoteAll quotes words.
func QuoteAll(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = Quote(w)
	}
	return out
}

// Quote writes a word so that a shell, and shlex, read it as it is.
func Quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./_-", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
}
