package pgtest

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
)

// dockerAnswers asks the engine that DOCKER_HOST names, or the usual socket, for a sign of life. It costs
// nothing where there is none.
func dockerAnswers(ctx context.Context) bool {
	if os.Getenv("DIVVY_TEST_CONTAINERS") == "off" {
		return false
	}
	host := os.Getenv("DOCKER_HOST")
	if host == "" {
		host = "unix:///var/run/docker.sock"
	}
	u, err := url.Parse(host)
	if err != nil {
		return false
	}
	network, address := "tcp", u.Host
	switch u.Scheme {
	case "unix":
		network, address = "unix", u.Path
	case "tcp", "http":
	default: // ssh://, npipe://: testcontainers would find out, but not cheaply
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker/_ping", nil)
	if err != nil {
		return false
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// began is the folder of the package under test, whatever tests change to.
var began, _ = os.Getwd()

// startContainer has a program run a server in a container, and returns its DSN and what stops it.
func startContainer(ctx context.Context) (dsn string, halt func(context.Context) error, err error) {
	cmd := exec.Command("go", "run", "-tags", "containers", "github.com/divvyhq/divvy/internal/pgtest/container")
	cmd.Dir, cmd.Stderr = began, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err = cmd.Start(); err != nil {
		return "", nil, err
	}
	halt = func(ctx context.Context) error {
		defer context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })()
		return errors.Join(in.Close(), cmd.Wait())
	}
	defer context.AfterFunc(ctx, func() { _ = out.Close() })()
	if dsn, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		return "", nil, errors.Join(err, halt(ctx))
	}
	return strings.TrimSpace(dsn), halt, nil
}
