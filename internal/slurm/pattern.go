package slurm

import (
	"strings"
)

// Part is a piece of the name of an output file: a text, or a letter that stands for something and how wide a number is.
type Part struct {
	Text   string
	Letter byte // 0 = Text counts
	Width  int
}

// letters are those that a name may have behind a percent sign; others stand for themselves.
const letters = "jJAaxuNnst"

// Parts cuts the name of an output file: %j job, %A array, %a index, %x name, %u user, %N node, %n %t number of node and task, %s step.
func Parts(name string) (parts []Part) {
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			parts = append(parts, Part{Text: text.String()})
			text.Reset()
		}
	}
	for i := 0; i < len(name); i++ {
		if name[i] != '%' {
			text.WriteByte(name[i])
			continue
		}
		k, width := i+1, 0
		for k < len(name) && name[k] >= '0' && name[k] <= '9' {
			width = min(width*10+int(name[k]-'0'), 10) // as wide as Slurm allows
			k++
		}
		switch {
		case k < len(name) && strings.IndexByte(letters, name[k]) >= 0:
			flush()
			parts = append(parts, Part{Letter: name[k], Width: width})
			i = k
		case k < len(name) && name[k] == '%':
			text.WriteByte('%')
			i = k
		default:
			text.WriteByte('%')
		}
	}
	flush()
	return parts
}

// Expand writes a name with what its letters stand for. Numbers are padded with zeros.
func Expand(name string, value func(letter byte) string) string {
	var b strings.Builder
	for _, p := range Parts(name) {
		if p.Letter == 0 {
			b.WriteString(p.Text)
			continue
		}
		v := value(p.Letter)
		if isNumber(v) {
			b.WriteString(strings.Repeat("0", max(0, p.Width-len(v))))
		}
		b.WriteString(v)
	}
	return b.String()
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Quote makes one word of POSIX shell of a text.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// shellName writes a name as a word of shell, with the variables of Launcher.
func shellName(name string) string {
	var b strings.Builder
	for _, p := range Parts(name) {
		v := shellLetters[p.Letter]
		switch {
		case p.Letter == 0:
			b.WriteString(Quote(p.Text))
		case p.Width > 0 && strings.IndexByte("jJAa", p.Letter) >= 0:
			b.WriteString(`"$(printf %0` + string(rune('0'+p.Width/10)) + string(rune('0'+p.Width%10)) + `d ` + v + `)"`)
		default:
			b.WriteString(`"` + v + `"`)
		}
	}
	return b.String()
}

var shellLetters = map[byte]string{
	'j': "$SLURM_JOB_ID", 'J': "$SLURM_JOB_ID", 'A': "${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}", 'a': "${SLURM_ARRAY_TASK_ID:-4294967294}",
	'x': "$SLURM_JOB_NAME", 'u': "$SLURM_JOB_USER", 'N': "$SLURMD_NODENAME", 'n': "0", 't': "0", 's': "batch",
}
