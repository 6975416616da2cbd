package steer

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/offline"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// tokenStore is where tokens are: behind a daemon, or in a database that is worked on without one.
type tokenStore interface {
	Create(context.Context, access.New) (access.Made, error)
	List(ctx context.Context, all bool) ([]access.Token, error)
	Revoke(ctx context.Context, which string) (access.Token, error)
}

// atDaemon is the table of a daemon.
type atDaemon struct{ client.Tokens }

func (d atDaemon) Create(ctx context.Context, n access.New) (access.Made, error) {
	made, err := d.Tokens.Create(ctx, wire.As[wire.NewToken](n))
	return wire.As[access.Made](made), err
}

func (d atDaemon) List(ctx context.Context, all bool) ([]access.Token, error) {
	tokens, err := d.Tokens.List(ctx, all)
	return wire.As[[]access.Token](tokens), err
}

func (d atDaemon) Revoke(ctx context.Context, which string) (access.Token, error) {
	t, err := d.Tokens.Revoke(ctx, which)
	return wire.As[access.Token](t), err
}

// inDatabase is the table of a database.
type inDatabase struct{ *access.Store }

func (o inDatabase) Create(ctx context.Context, n access.New) (access.Made, error) {
	n.By = offline.User()
	return o.Store.Create(ctx, n)
}

func (o inDatabase) Revoke(ctx context.Context, which string) (access.Token, error) {
	return o.Store.Revoke(ctx, which, offline.User())
}

// Token makes, lists and revokes tokens.
func Token(c *cli.CLI) *cobra.Command {
	group := &cobra.Command{Use: "token", Aliases: []string{"tokens"}, Short: "Tokens: who may do what",
		Long: `Make, list and revoke tokens of the API. A daemon that was started with --require-token or --token-file asks for one with every request.
Without a daemon, or for the first token, --database works on the database itself.`}
	flags := config.Flags{Said: map[string]string{}}
	group.PersistentFlags().Func("database", "work on this database without a daemon: a DSN, or auto for the private PostgreSQL", func(v string) error {
		flags.Said["database"] = v
		return nil
	})
	group.PersistentFlags().Func("state-dir", "with --database auto: folder of the private PostgreSQL", func(v string) error {
		flags.Said["state_dir"] = v
		return nil
	})
	with := func(do func(context.Context, tokenStore, []string) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, args []string) error {
			if flags.Said["database"] == "" {
				return c.WithClient(func(ctx context.Context, cl *client.Client, args []string) error {
					return do(ctx, atDaemon{cl.Tokens()}, args)
				})(cmd, args)
			}
			cfg, err := flags.Load(os.Getenv)
			if err != nil {
				return fail.UsageError{Err: err}
			}
			return offline.Reach(cmd.Context(), c, cfg, func(ctx context.Context, db *pgxpool.Pool) error {
				err := do(offline.As(ctx), inDatabase{access.NewStore(db)}, args)
				if pg.Code(err) == noSuchTable {
					err = fail.Hintf(err, "The database has no table for tokens: start a daemon on it once, or run 'divvy migrate up'.")
				}
				return err
			}, pg.Name("divvy token"))
		}
	}
	group.AddCommand(tokenCreate(c, with), tokenList(c, with), tokenRevoke(c, with))
	return group
}

const noSuchTable = "42P01"

type withTokens = func(func(context.Context, tokenStore, []string) error) func(*cobra.Command, []string) error

func tokenCreate(c *cli.CLI, with withTokens) *cobra.Command {
	var n access.New
	var role, expires string
	cmd := &cobra.Command{
		Use:   "create NAME --role ROLE",
		Short: "Make a token, and show it this once",
		Long: `Make a token and show it, this once: only its SHA-256 is kept. Roles: pilot (pulls, at its queues if there are any), submitter (tasks of one user),
share-owner (weights below a node), operator (tasks, jobs, queues, resources), reader (sees all, changes nothing), admin (everything).`,
		Example: "  divvy token create root --role admin --database auto\n  divvy token create cern-pilots --role pilot --queue CERN --expires 90d\n" +
			"  divvy token create alice --role submitter --user alice\n  divvy token create higgs --role share-owner --share Physics/Higgs",
		Args: cli.Takes("NAME, of the new token"),
	}
	f := cmd.Flags()
	f.StringVar(&role, "role", "", "pilot, submitter, share-owner, operator, reader or admin")
	f.StringVar(&n.User, "user", "", "of a submitter: whose tasks it submits and steers")
	f.StringArrayVar(&n.Queues, "queue", nil, "of a pilot: a queue at which it may pull; may be given again; none = any")
	f.StringVar(&n.Share, "share", "", "of a share-owner: path of the node below which it may change weights")
	f.StringVar(&expires, "expires", "", "when it ends, from now: 12h, 90d; empty = never")
	_ = cmd.RegisterFlagCompletionFunc("role", cli.Fixed("pilot", "submitter", "share-owner", "operator", "reader", "admin"))
	run := with(func(ctx context.Context, store tokenStore, args []string) error {
		made, err := store.Create(ctx, n)
		if err != nil {
			return err
		}
		return c.Print(made, func(w io.Writer) { fmt.Fprintln(w, made.Text) })
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		n.Name, n.Role = args[0], access.Role(role)
		if expires != "" {
			d, err := shares.ParseDuration(expires)
			if err != nil || d <= 0 {
				return fail.Usagef("--expires %q: expected a time from now such as 12h or 90d", expires)
			}
			n.ExpiresS = time.Duration(d).Seconds()
		}
		if err := n.Validate(); err != nil {
			return cli.WithExample(cmd, fail.UsageError{Err: err})
		}
		return run(cmd, args)
	}
	return cmd
}

func tokenList(c *cli.CLI, with withTokens) *cobra.Command {
	var all bool
	cmd := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List tokens, without their texts",
		Example: "  divvy token list\n  divvy token list --all -o json", Args: cli.Takes()}
	cmd.Flags().BoolVar(&all, "all", false, "those too that are revoked or have expired")
	cmd.RunE = with(func(ctx context.Context, store tokenStore, _ []string) error {
		tokens, err := store.List(ctx, all)
		if err != nil {
			return err
		}
		return c.Print(wire.Page[access.Token]{Items: tokens}, func(w io.Writer) { writeTokens(w, tokens) })
	})
	return cmd
}

func writeTokens(w io.Writer, tokens []access.Token) {
	day := func(t *time.Time, never string) string {
		if t == nil {
			return never
		}
		return t.UTC().Format("2006-01-02 15:04")
	}
	g := show.New(w, "name", "role", "of", "prefix", "state", "created by", "expires", "used")
	for _, t := range tokens {
		g.Row(t.Name, string(t.Role), cmp.Or(t.Subject.String(), "–"), t.Prefix, t.State(time.Now()), t.CreatedBy, day(t.ExpiresAt, "never"), day(t.UsedAt, "never"))
	}
	g.Flush()
}

func tokenRevoke(c *cli.CLI, with withTokens) *cobra.Command {
	return &cobra.Command{Use: "revoke NAME...", Short: "Revoke tokens by name or prefix; no daemon lets them in within seconds",
		Example: "  divvy token revoke alice\n  divvy token revoke divvy_0123456789", Args: cli.Takes("NAME..., names or prefixes of tokens"),
		RunE: with(func(ctx context.Context, store tokenStore, args []string) error {
			var done []access.Token
			for _, which := range args {
				t, err := store.Revoke(ctx, strings.TrimSpace(which))
				if err != nil {
					return err
				}
				done = append(done, t)
			}
			return c.Print(wire.Page[access.Token]{Items: done}, func(w io.Writer) {
				for _, t := range done {
					fmt.Fprintf(w, "token %s (%s) is revoked\n", t.Name, t.Prefix)
				}
			})
		})}
}
