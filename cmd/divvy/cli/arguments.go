package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

// Takes checks the arguments of a command: one for each word, which says what it is ("A, the path of a share").
// A name in the last word that ends in "..." stands for one or more. Cobra counts ("accepts 2 arg(s), received 1"); this names what
// is missing, flags that are required too, and shows the command's first example.
func Takes(words ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		var missing []string
		if len(args) < len(words) {
			missing = append(missing, words[len(args):]...)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if len(f.Annotations[cobra.BashCompOneRequiredFlag]) > 0 && !f.Changed {
				missing = append(missing, "--"+f.Name+", "+f.Usage)
			}
		})
		if len(missing) > 0 {
			return WithExample(cmd, fail.Usagef("%s needs %s", Name(cmd), strings.Join(missing, ", and ")))
		}
		if n := len(words); len(args) > n && (n == 0 || !strings.Contains(words[n-1], "...,")) {
			count := show.Pick(n == 0, "no argument", show.Plural(int64(n), "argument"))
			return WithExample(cmd, fail.Usagef("%s takes %s: %q is too much", Name(cmd), count, args[n]))
		}
		return nil
	}
}

// AtMost takes the one argument that word says, or none.
func AtMost(word string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return Takes(word)(cmd, args)
	}
}

// Name is what a command is called below divvy.
func Name(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// WithExample puts the first example of a command below an error.
func WithExample(cmd *cobra.Command, err error) error {
	first, _, _ := strings.Cut(strings.TrimSpace(cmd.Example), "\n")
	if first == "" {
		return err
	}
	return fail.Hintf(err, "Example: %s", first)
}

// flagKinds says what the types of flags take.
var flagKinds = map[string]string{"int": "a whole number", "int64": "a whole number", "uint64": "a whole number, 0 or more",
	"duration": "a duration such as 500ms, 30s or 5m", "bool": "true or false"}

// FlagError says what a flag would take, where pflag shows the words of strconv.
func FlagError(cmd *cobra.Command, err error) error {
	var none *pflag.NotExistError
	if errors.As(err, &none) && none.GetSpecifiedShortnames() == "" {
		if hint := nearFlag(cmd, none.GetSpecifiedName()); hint != "" {
			return fail.Hintf(err, "%s", hint)
		}
	}
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) {
		if want, known := flagKinds[bad.GetFlag().Value.Type()]; known {
			return fmt.Errorf("--%s %q: expected %s", bad.GetFlag().Name, bad.GetValue(), want)
		}
	}
	var empty *pflag.ValueRequiredError
	if errors.As(err, &empty) {
		return fmt.Errorf("--%s needs a value: %s", empty.GetFlag().Name, empty.GetFlag().Usage)
	}
	return err
}
