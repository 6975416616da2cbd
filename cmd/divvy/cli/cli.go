package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/internal/build"
	"github.com/divvyhq/divvy/internal/keys"
	"github.com/divvyhq/divvy/internal/login"
)

// defaultServer is where 'divvy serve' listens unless told otherwise.
const defaultServer = "http://127.0.0.1:8470"

// CLI is what every subcommand shares: its streams, which server to ask and how to print.
type CLI struct {
	Streams
	Server    string
	TokenFile string
	TLS       keys.ClientFiles
	Login     *login.Login // that a client uses; nil: another credential, or none
	Output    string
	program   string
	Started   bool // a command's own code has begun
}

// Bind gives commands the flags that name the daemon and the credential.
func (c *CLI) Bind(f *pflag.FlagSet) {
	f.StringVar(&c.Server, "server", "", "URL of the daemon (env DIVVY_SERVER; default "+defaultServer+")")
	f.StringVar(&c.TokenFile, "token-file", "", "file with the API token (env DIVVY_TOKEN holds the token itself)")
	f.StringVar(&c.TLS.CA, "ca", "", "PEM file with the CAs of the daemon's certificate (env DIVVY_CA; default those of the system)")
	f.StringVar(&c.TLS.Cert, "cert", "", "client certificate to show to the daemon (env DIVVY_CERT)")
	f.StringVar(&c.TLS.Key, "cert-key", "", "key of --cert (env DIVVY_CERT_KEY; default the file of --cert)")
}

// ForCSV marks commands that know -o csv.
const ForCSV = "csv"

// CheckFormat refuses an output format that the command does not have.
func (c *CLI) CheckFormat(cmd *cobra.Command) error {
	hasCSV := cmd.Annotations[ForCSV] != ""
	formats := show.Pick(hasCSV, "table, wide, json, yaml or csv", "table, wide, json or yaml")
	switch c.Output {
	case "table", "wide", "json", "yaml":
		return nil
	case "csv":
		if hasCSV {
			return nil
		}
		return fail.Usagef("only reports have the output format csv; use %s", formats)
	}
	return fail.Usagef("unknown output format %q; use %s", c.Output, formats)
}

// Check resolves the server's address.
func (c *CLI) Check() error {
	if c.Server == "" {
		c.Server = os.Getenv("DIVVY_SERVER")
	}
	if c.Server == "" {
		c.Server = defaultServer
	}
	if !strings.Contains(c.Server, "://") {
		c.Server = "http://" + c.Server
	}
	c.Server = strings.TrimRight(c.Server, "/")
	c.TLS.CA = cmp.Or(c.TLS.CA, os.Getenv("DIVVY_CA"))
	c.TLS.Cert = cmp.Or(c.TLS.Cert, os.Getenv("DIVVY_CERT"))
	c.TLS.Key = cmp.Or(c.TLS.Key, os.Getenv("DIVVY_CERT_KEY"), c.TLS.Cert)
	return nil
}

// Asks makes a client of the daemon that the command line names.
func (c *CLI) Asks(as client.Config) (*client.Client, error) {
	var err error
	as.URL = c.Server
	if as.Token, err = c.token(); err != nil {
		return nil, err
	}
	if err = c.byLogin(&as); err != nil {
		return nil, err
	}
	if as.TLS, err = c.TLS.Config(); err != nil {
		return nil, err
	}
	cl, err := client.New(as)
	if err != nil {
		return nil, fail.UsageError{Err: err}
	}
	return cl, nil
}

// token is that of --token-file, else of DIVVY_TOKEN, else of DIVVY_TOKEN_FILE; "" when there is none.
func (c *CLI) token() (string, error) {
	file := c.TokenFile
	if file == "" {
		if t := strings.TrimSpace(os.Getenv("DIVVY_TOKEN")); t != "" {
			return t, nil
		}
		file = os.Getenv("DIVVY_TOKEN_FILE")
	}
	if file == "" {
		return "", nil
	}
	return readToken(file)
}

// byLogin has a client use the login at the server, where no other credential is given and there is one.
func (c *CLI) byLogin(as *client.Config) error {
	kept, err := login.Home()
	if err != nil || as.Token != "" || c.TLS.Cert != "" {
		return nil // without a home there are no logins
	}
	if c.Login, err = kept.Get(c.Server); c.Login == nil || err != nil {
		return err
	}
	as.Tokens = func(ctx context.Context) (string, error) { return kept.Token(ctx, c.Server) }
	return nil
}

// readToken is the first token of a token file, which may be the daemon's own.
func readToken(file string) (string, error) {
	b, err := readOrInherited(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line, nil
		}
	}
	return "", fail.Hintf(fmt.Errorf("no token in %s", file), "A token file holds one token a line; make one with: openssl rand -hex 24 > %s", file)
}

// readOrInherited reads a file. An inherited descriptor, /dev/fd/3, is read as it is, and not opened once more: whoever started this
// program may have had the right to it that this user lacks.
func readOrInherited(file string) ([]byte, error) {
	n, ok := strings.CutPrefix(file, "/dev/fd/")
	fd, err := strconv.ParseUint(n, 10, 16)
	if !ok || err != nil || fd < 3 {
		return os.ReadFile(file)
	}
	f := os.NewFile(uintptr(fd), file)
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<20))
}

// Structured says that the result is for a program.
func (c *CLI) Structured() bool { return c.Output == "json" || c.Output == "yaml" }

// Wide says that a table is to have more columns.
func (c *CLI) Wide() bool { return c.Output == "wide" }

// client calls the daemon that the command line names.
func (c *CLI) client() (*client.Client, error) {
	return c.Asks(client.Config{UserAgent: "divvy/" + build.Version(), Patience: 2 * time.Second})
}

// quickClient is for completion, which runs before flags are checked and must not keep anybody waiting.
func (c *CLI) quickClient() (*client.Client, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	return c.Asks(client.Config{Timeout: time.Second, Patience: -1})
}

// WithClient makes a RunE of a function that needs the daemon.
func (c *CLI) WithClient(do func(ctx context.Context, cl *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cl, err := c.client()
		if err != nil {
			return err
		}
		defer cl.Close()
		return do(cmd.Context(), cl, args)
	}
}

// Whoami is kept with a version: user@host.
func Whoami() string {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname()
	return name + "@" + host
}
