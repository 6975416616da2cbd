package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/demo"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
)

// payloadCommand is what the jobs of the demo run. It is hidden: no promise is made about it.
func payloadCommand(*cli.CLI) *cobra.Command {
	var out, index string
	cmd := &cobra.Command{
		Use:       "payload sha256|gzip|words FOLDER",
		Short:     "A job of the demo",
		Hidden:    true,
		Args:      cobra.ExactArgs(2),
		ValidArgs: []cobra.Completion{demo.Checksum, demo.Compress, demo.Count},
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var atLeast time.Duration
		if index != "" {
			var err error
			if atLeast, err = demo.AtLeast(index); err != nil {
				return fail.UsageError{Err: err}
			}
		}
		return demo.Payload{Activity: args[0], Folder: args[1], Out: out, AtLeast: atLeast}.Run(cmd.Context())
	}
	cmd.Flags().StringVar(&out, "out", "", "file that gets the output")
	cmd.Flags().StringVar(&index, "index", "", "index of the job: sets how long it takes at the least")
	_ = cmd.MarkFlagRequired("out")
	return cmd
}
