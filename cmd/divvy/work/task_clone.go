package work

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
)

// taskCloneCommand submits tasks like other ones.
func taskCloneCommand(c *cli.CLI) *cobra.Command {
	var sets []string
	var key string
	cmd := &cobra.Command{
		Use:   "clone TASK...",
		Short: "Submit tasks like others, with changes",
		Long: `Submit tasks as others were submitted, with the same inputs, unless the changes say how the work is split.

A change is KEY=VALUE with a key of a task file, with dots to what is inside of it; an empty value takes the key away.`,
		Example: "  divvy task clone 17 --set name=again --set requirements.memory_mb=8000\n  divvy task clone 17 --set count=10 --set priority=5",
		Args:    cli.Takes("TASK..., the ids of tasks"),
	}
	cmd.RunE = cli.Items(c, func(ctx context.Context, cl *client.Client, args []string) (made []wire.Task, err error) {
		ids, err := cli.ParseIDs("task", args)
		if err != nil {
			return nil, err
		}
		changes, err := patchOf(sets)
		if err != nil {
			return nil, err
		}
		for i, id := range ids {
			t, err := cl.Tasks().Clone(ctx, id, changes, show.Pick(key == "", "", numbered(key, i)))
			if err != nil {
				return nil, err
			}
			made = append(made, t)
		}
		return made, nil
	}, func(w cli.Paper, made []wire.Task) { writeSubmitted(w, made) })
	cmd.Flags().StringArrayVar(&sets, "set", nil, "a change: KEY=VALUE, such as requirements.memory_mb=8000; may be repeated")
	cmd.Flags().StringVar(&key, "key", "", "a repeat with the same key makes no second clone")
	return cmd
}

// patchOf makes one JSON object of KEY=VALUE texts; values are read as YAML: numbers, texts, lists.
func patchOf(sets []string) (json.RawMessage, error) {
	if len(sets) == 0 {
		return nil, nil
	}
	patch := map[string]any{}
	for _, set := range sets {
		key, text, ok := strings.Cut(set, "=")
		path := strings.Split(key, ".")
		if !ok || slices.Contains(path, "") {
			return nil, fail.Usagef("--set %q: expected KEY=VALUE, such as priority=5", set)
		}
		value, err := valueOf(text)
		if err != nil {
			return nil, fail.Usagef("--set %q: %v", set, err)
		}
		at := patch
		for _, part := range path[:len(path)-1] {
			inner, ok := at[part].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[part] = inner
			}
			at = inner
		}
		at[path[len(path)-1]] = value
	}
	return json.Marshal(patch)
}

// valueOf reads a value as a task file has it, in which a date is a text too. What JSON cannot say is refused.
func valueOf(text string) (value any, err error) {
	var said yaml.Node
	if err := yaml.Unmarshal([]byte(text), &said); err != nil {
		return nil, err
	}
	datesAreTexts(&said)
	if err := said.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := json.Marshal(value); err != nil {
		return nil, errors.New("expected a number, a text, true or false, a list, or an object whose keys are texts")
	}
	return value, nil
}

func datesAreTexts(n *yaml.Node) {
	if n.ShortTag() == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, inner := range n.Content {
		datesAreTexts(inner)
	}
}
