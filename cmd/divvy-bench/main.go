package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := cli.Execute(ctx, cli.StandardStreams(), benchCommand, os.Args[1:])
	stop()
	os.Exit(code)
}
