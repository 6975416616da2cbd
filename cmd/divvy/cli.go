package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/build"
	"github.com/divvyhq/divvy/internal/keys"
)

// defaultServer is where 'divvy serve' listens unless told otherwise.
const defaultServer = "http://127.0.0.1:8470"

// cli is what every subcommand shares: its streams, which server to ask and how to print.
type cli struct {
	streams
	server    string
	tokenFile string
	tls       keys.ClientFiles
	output    string
	started   bool // a command's own code has begun
}

func (c *cli) bind(f *pflag.FlagSet) {
	f.StringVar(&c.server, "server", "", "URL of the daemon (env DIVVY_SERVER; default "+defaultServer+")")
	f.StringVar(&c.tokenFile, "token-file", "", "file with the API token (env DIVVY_TOKEN holds the token itself)")
	f.StringVar(&c.tls.CA, "ca", "", "PEM file with the CAs of the daemon's certificate (env DIVVY_CA; default those of the system)")
	f.StringVar(&c.tls.Cert, "cert", "", "client certificate to show to the daemon (env DIVVY_CERT)")
	f.StringVar(&c.tls.Key, "cert-key", "", "key of --cert (env DIVVY_CERT_KEY; default the file of --cert)")
	f.StringVarP(&c.output, "output", "o", "table", "table, wide, json or yaml; of reports csv too")
}

// checkFormat refuses an output format that the command does not have.
func (c *cli) checkFormat(cmd *cobra.Command) error {
	hasCSV := cmd.Annotations[forCSV] != ""
	formats := pick(hasCSV, "table, wide, json, yaml or csv", "table, wide, json or yaml")
	switch c.output {
	case "table", "wide", "json", "yaml":
		return nil
	case "csv":
		if hasCSV {
			return nil
		}
		return fail.Usagef("only reports have the output format csv; use %s", formats)
	}
	return fail.Usagef("unknown output format %q; use %s", c.output, formats)
}

// check resolves the server's address.
func (c *cli) check() error {
	if c.server == "" {
		c.server = os.Getenv("DIVVY_SERVER")
	}
	if c.server == "" {
		c.server = defaultServer
	}
	if !strings.Contains(c.server, "://") {
		c.server = "http://" + c.server
	}
	c.server = strings.TrimRight(c.server, "/")
	c.tls.CA = cmp.Or(c.tls.CA, os.Getenv("DIVVY_CA"))
	c.tls.Cert = cmp.Or(c.tls.Cert, os.Getenv("DIVVY_CERT"))
	c.tls.Key = cmp.Or(c.tls.Key, os.Getenv("DIVVY_CERT_KEY"), c.tls.Cert)
	return nil
}

// asks makes a client of the daemon that the command line names.
func (c *cli) asks(as client.Config) (*client.Client, error) {
	var err error
	as.URL = c.server
	if as.Token, err = c.token(); err != nil {
		return nil, err
	}
	if as.TLS, err = c.tls.Config(); err != nil {
		return nil, err
	}
	cl, err := client.New(as)
	if err != nil {
		return nil, fail.UsageError{Err: err}
	}
	return cl, nil
}

// token is that of --token-file, else of DIVVY_TOKEN, else of DIVVY_TOKEN_FILE; "" when there is none.
func (c *cli) token() (string, error) {
	file := c.tokenFile
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

// structured says that the result is for a program.
func (c *cli) structured() bool { return c.output == "json" || c.output == "yaml" }

func (c *cli) wide() bool { return c.output == "wide" }

// client calls the daemon that the command line names.
func (c *cli) client() (*client.Client, error) {
	return c.asks(client.Config{UserAgent: "divvy/" + build.Version(), Patience: 2 * time.Second})
}

// quickClient is for completion, which runs before flags are checked and must not keep anybody waiting.
func (c *cli) quickClient() (*client.Client, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return c.asks(client.Config{Timeout: time.Second, Patience: -1})
}

// withClient makes a RunE of a function that needs the daemon.
func (c *cli) withClient(do func(ctx context.Context, cl *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cl, err := c.client()
		if err != nil {
			return err
		}
		defer cl.Close()
		return do(cmd.Context(), cl, args)
	}
}
