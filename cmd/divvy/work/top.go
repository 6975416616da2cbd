package work

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/internal/loops"
)

// Top shows shares, queues and rates live.
func Top(c *cli.CLI) *cobra.Command {
	var every time.Duration
	var once bool
	cmd := &cobra.Command{
		Use:   "top",
		Short: "Show shares, queues and rates live",
		Long: `Show shares, queues and rates live, on a terminal of 80 × 24 or more.

q or Ctrl-C ends it, Tab shows both, shares only or queues only, arrows and page keys scroll, the space bar holds the picture, d
puts the shares and queues with most to do first. Rates are those of the daemon that is asked, between two looks.

With --once, or where the output is no terminal, all of it is written once, after two looks.`,
		Example: "  divvy top\n  divvy top --every 5s\n  divvy top --once | grep CERN",
		Args:    cli.Takes(),
	}
	cmd.Flags().DurationVar(&every, "every", 2*time.Second, "how often to look, 200ms or more")
	cmd.Flags().BoolVar(&once, "once", false, "write it once and leave")
	cmd.RunE = c.WithClient(func(ctx context.Context, cl *client.Client, _ []string) error {
		if every < 200*time.Millisecond {
			return fail.Usagef("--every %s: expected 200ms or more, such as 2s", every)
		}
		out, isFile := c.Out.(*os.File)
		if _, live := show.Terminal(c.Out); once || !live || !isFile {
			return topOnce(ctx, c, cl, every)
		}
		return topLive(ctx, c, cl, every, out)
	})
	return cmd
}

// topOnce writes one picture, as long as need be.
func topOnce(ctx context.Context, c *cli.CLI, cl *client.Client, every time.Duration) error {
	v := topView{URL: cl.URL(), all: true}
	first, err := lookAround(ctx, cl)
	if err != nil {
		return err
	}
	v.take(first)
	if !loops.Pause(ctx, min(every, time.Second)) {
		return ctx.Err()
	}
	second, err := lookAround(ctx, cl)
	if err != nil {
		return err
	}
	v.take(second)
	if c.Structured() {
		return c.Print(v.summary(), nil)
	}
	for _, line := range v.draw(120, 0) {
		fmt.Fprintln(c.Out, line)
	}
	return nil
}

const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[2J"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
)

// topLive draws until q. The terminal is as it was afterwards, whatever ends it.
func topLive(ctx context.Context, c *cli.CLI, cl *client.Client, every time.Duration, out *os.File) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	keys := make(chan string)
	if in, ok := c.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		old, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return fmt.Errorf("terminal: %w", err)
		}
		defer func() { _ = term.Restore(int(in.Fd()), old) }()
		go readKeys(ctx, in, keys)
	}
	io.WriteString(out, enterScreen)
	defer io.WriteString(out, leaveScreen)
	looks := make(chan look)
	go func() {
		for {
			l, err := lookAround(ctx, cl)
			l.err = err
			select {
			case looks <- l:
			case <-ctx.Done():
				return
			}
			if !loops.Pause(ctx, every) {
				return
			}
		}
	}()
	return runTop(ctx, &topView{URL: cl.URL(), colour: show.Colourful(out)}, screen{out: out, size: func() (int, int) { return sizeOf(out) }}, looks, keys)
}

// sizeOf a terminal; 80 × 24 where it does not say.
func sizeOf(out *os.File) (width, height int) {
	width, height, err := term.GetSize(int(out.Fd()))
	if err != nil || width < 20 || height < 5 {
		return 80, 24
	}
	return width, height
}

// screen is where a picture goes.
type screen struct {
	out  io.Writer
	size func() (width, height int)
}

func (s screen) show(v *topView) {
	width, height := s.size()
	lines := v.draw(width, height)
	io.WriteString(s.out, "\x1b[H"+strings.Join(lines, "\x1b[K\r\n")+"\x1b[K\x1b[J")
}

// runTop goes on until a key ends it. A daemon that is away at the first look ends it too; later, the picture says so.
func runTop(ctx context.Context, v *topView, s screen, looks <-chan look, keys <-chan string) error {
	resized := time.NewTicker(500 * time.Millisecond) // a signal would tell at once, and not everywhere
	defer resized.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case l := <-looks:
			if l.err != nil && v.last.at.IsZero() && ctx.Err() == nil {
				return l.err
			}
			v.take(l)
		case key := <-keys:
			if v.press(key) {
				return nil
			}
		case <-resized.C:
		}
		s.show(v)
	}
}

// readKeys tells of keys: a letter, or the escape sequence of another one.
func readKeys(ctx context.Context, in io.Reader, keys chan<- string) {
	var room [16]byte
	for {
		n, err := in.Read(room[:])
		if err != nil {
			return
		}
		select {
		case keys <- string(room[:n]):
		case <-ctx.Done():
			return
		}
	}
}
