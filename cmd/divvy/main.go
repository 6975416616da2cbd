package main

import (
	"os"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
)

func main() {
	os.Exit(run(os.Args[1:], cli.StandardStreams()))
}
