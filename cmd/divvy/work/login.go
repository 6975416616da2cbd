package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/internal/build"
	"github.com/divvyhq/divvy/internal/keys"
	"github.com/divvyhq/divvy/internal/login"
)

// Login is 'divvy login'.
func Login(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "login", Short: "Log in by a browser; later commands are yours",
		Long: `Log in at the issuer of web tokens (OIDC) that the daemon names: open the address in any browser, also on another machine, and enter the code.
What the issuer gives is kept below ~/.config/divvy (or $XDG_CONFIG_HOME), for this daemon, readable by you alone. Commands send it where no other
credential is given, and renew it.`,
		Example: "  divvy login --server https://divvy.example.org:8470", Args: cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return logIn(cmd.Context(), c) }}
}

func logIn(ctx context.Context, c *cli.CLI) error {
	kept, err := login.Home()
	if err != nil {
		return err
	}
	at, err := issuerOf(ctx, c)
	if err != nil {
		return err
	}
	device, err := at.Begin(ctx)
	if err != nil {
		return again(c, err)
	}
	fmt.Fprintf(c.Err, "Open %s and enter the code %s\n", device.URL, device.Code)
	if device.Complete != "" {
		fmt.Fprintf(c.Err, "or open %s\n", device.Complete)
	}
	fmt.Fprintf(c.Err, "Waiting until %s …\n", device.Until.Local().Format("15:04:05"))
	tokens, err := device.Wait(ctx)
	if err != nil {
		return again(c, err)
	}
	me, l, err := taken(ctx, c, at, tokens)
	if err != nil {
		return err
	}
	if err := kept.Put(ctx, l); err != nil {
		return err
	}
	for _, other := range []string{"DIVVY_TOKEN", "DIVVY_TOKEN_FILE", "DIVVY_CERT"} {
		if os.Getenv(other) != "" {
			fmt.Fprintf(c.Err, "%s is set: commands use that, and not this login\n", other)
		}
	}
	return c.Print(me, func(w io.Writer) { writeWhoami(w, c.Server, me, &l) })
}

// again shows what to do when a login failed.
func again(c *cli.CLI, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fail.Hintf(err, "Nothing was kept. Try again: divvy login --server %s", c.Server)
}

// as makes a client of the daemon that shows this token.
func as(c *cli.CLI, token string) (*client.Client, error) {
	secure, err := keys.ClientFiles{CA: c.TLS.CA}.Config()
	if err != nil {
		return nil, err
	}
	cl, err := client.New(client.Config{URL: c.Server, Token: token, TLS: secure, UserAgent: "divvy/" + build.Version(), Patience: 2 * time.Second})
	if err != nil {
		return nil, fail.UsageError{Err: err}
	}
	return cl, nil
}

// issuerOf asks the daemon where to log in.
func issuerOf(ctx context.Context, c *cli.CLI) (at login.Client, err error) {
	cl, err := as(c, "")
	if err != nil {
		return at, err
	}
	defer cl.Close()
	l, err := cl.Daemon().Login(ctx)
	switch {
	case client.IsCode(err, "no_route"):
		return at, fmt.Errorf("the daemon at %s is too old for logins; use a token", c.Server)
	case err != nil:
		return at, err
	}
	i, err := keys.NewIssuer(l.Issuer, l.ClientID, nil)
	return login.Client{Issuer: i, ID: l.ClientID, Scopes: l.Scopes}, err
}

// taken finds the token that the daemon takes: the ID token, or the access token where that has what the daemon's lines want.
func taken(ctx context.Context, c *cli.CLI, at login.Client, tokens login.Tokens) (me wire.Whoami, l login.Login, err error) {
	var refused error
	for _, access := range []bool{false, true} {
		l = at.Of(c.Server, tokens, access)
		cl, err := as(c, l.Token)
		if err != nil {
			return me, l, err
		}
		me, err = cl.Daemon().Whoami(ctx)
		cl.Close()
		if err == nil {
			return me, l, nil
		}
		if !client.IsCode(err, "unauthorized") {
			return me, l, err
		}
		if refused == nil {
			refused = err
		}
	}
	return me, l, fail.Hintf(fmt.Errorf("you are logged in at %s, but the daemon does not let you in: %w", at.URL, refused),
		"Its operator gives roles to claims of your token, in the file that the setting issuers names.")
}

// Logout is 'divvy logout'.
func Logout(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "logout", Short: "Forget the login at a daemon, and tell its issuer",
		Example: "  divvy logout --server https://divvy.example.org:8470", Args: cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			kept, err := login.Home()
			if err != nil {
				return err
			}
			l, err := kept.Drop(cmd.Context(), c.Server)
			switch {
			case err != nil:
				return err
			case l == nil:
				fmt.Fprintf(c.Err, "there is no login at %s\n", c.Server)
				return nil
			}
			if err := l.Revoke(cmd.Context()); err != nil {
				fmt.Fprintf(c.Err, "forgotten here, but the issuer was not told: %v\n", err)
			}
			fmt.Fprintf(c.Err, "logged out of %s\n", c.Server)
			return nil
		}}
}

// Whoami is 'divvy whoami'.
func Whoami(c *cli.CLI) *cobra.Command {
	return &cobra.Command{Use: "whoami", Short: "Show for whom the daemon takes you, by what, and until when",
		Example: "  divvy whoami\n  divvy whoami --token-file alice.token -o json", Args: cli.Takes(),
		RunE: c.WithClient(func(ctx context.Context, cl *client.Client, _ []string) error {
			me, err := cl.Daemon().Whoami(ctx)
			if err != nil {
				return err
			}
			return c.Print(me, func(w io.Writer) { writeWhoami(w, cl.URL(), me, c.Login) })
		})}
}

// writeWhoami writes for whom a daemon takes the caller; l is the login that the credential is of; nil: it is another.
func writeWhoami(w io.Writer, url string, me wire.Whoami, l *login.Login) {
	g := show.NewFacts(w)
	g.Row("name", me.Name)
	g.Row("role", me.Role)
	g.Some("user", me.User)
	g.Some("queues", strings.Join(me.Queues, ", "))
	g.Some("share", me.Share)
	g.Row("may", me.May)
	by := me.By
	if by == "none" {
		by = "nothing: the daemon asks for no credential"
	}
	if me.Subject != "" {
		by += " of " + me.Subject
	}
	g.Row("by", by)
	until := "it is revoked"
	if me.Until != nil {
		until = me.Until.UTC().Format(time.RFC3339)
	}
	if l != nil && l.Refresh != "" {
		until += ", then renewed"
	}
	if me.By == "token" || me.Until != nil {
		g.Row("until", until)
	}
	g.Row("daemon", url)
	g.Flush()
}
