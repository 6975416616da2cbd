package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/build"
)

// Command is 'divvy mcp'.
func Command(c *cli.CLI) *cobra.Command {
	return &cobra.Command{
		Use: "mcp", Short: "Answer an agent's questions by the Model Context Protocol, on standard input and output",
		Long: `Answer an agent's questions by the Model Context Protocol, on standard input and output: why does a job wait, who
uses what, what would change, what would become of a task. It reads and rehearses, and changes nothing; a token of
the role reader is enough.`,
		Example: "  divvy mcp --server https://divvy.example.org --token-file ~/.divvy/reader",
		Args:    cli.Takes(),
		RunE: c.WithClient(func(ctx context.Context, cl *client.Client, _ []string) error {
			return server.NewStdioServer(Server(cl)).Listen(ctx, c.In, c.Out)
		}),
	}
}

const instructions = `divvy shares out the slots of a computing site by a tree of shares. A task is cut into jobs; pilots on the
machines pull jobs; each free slot goes to the share furthest below its target. Begin with "shares" for who uses what, "why_task"
or "why_job" for why something waits, "rehearse_site" and "rehearse_task" for what would change. Nothing is changed by any tool.
Figures are units (cores × core power of the queue) unless they say otherwise. Give people the link of an answer.`

// Server has the tools of this package, answered by a daemon.
func Server(cl *client.Client) *server.MCPServer {
	s := server.NewMCPServer("divvy", build.Version(), server.WithInstructions(instructions))
	addTools(s, cl)
	return s
}

// answer is what a tool returns.
type answer struct {
	Page   string `json:"page"` // address of the page that shows the same
	Answer any    `json:"answer"`
}

// tool adds one: its question in words, and the call that answers it, which returns the path of its page too.
func tool[I any](s *server.MCPServer, cl *client.Client, name, question string, call func(context.Context, I) (path string, found any, err error)) {
	t := mcp.NewTool(name, mcp.WithDescription(question), mcp.WithReadOnlyHintAnnotation(true), mcp.WithIdempotentHintAnnotation(true),
		mcp.WithDestructiveHintAnnotation(false), arguments(reflect.TypeFor[I]()))
	s.AddTool(t, func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		in, err := read[I](r.GetArguments())
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		path, found, err := call(ctx, in)
		if err != nil {
			return refused(err), nil
		}
		text, err := json.Marshal(answer{Page: cl.URL() + path, Answer: found})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return mcp.NewToolResultText(string(text)), nil
	})
}

// arguments describes the fields of a struct: texts, whole numbers, and lists of texts. One without omitempty is required.
func arguments(of reflect.Type) mcp.ToolOption {
	properties, required := map[string]any{}, []string{}
	for f := range of.Fields() {
		name, optional := strings.CutSuffix(f.Tag.Get("json"), ",omitempty")
		about := map[string]any{"description": f.Tag.Get("doc"), "type": "integer"}
		switch f.Type.Kind() {
		case reflect.String:
			about["type"] = "string"
		case reflect.Slice:
			about["type"], about["items"] = "array", map[string]any{"type": "string"}
		}
		properties[name] = about
		if !optional {
			required = append(required, name)
		}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false})
	if err != nil {
		panic(err) // maps of texts
	}
	return func(t *mcp.Tool) { t.InputSchema.Type, t.RawInputSchema = "", schema }
}

// read decodes the arguments of a call. The error names the one that is wrong.
func read[I any](given map[string]any) (in I, err error) {
	text, err := json.Marshal(given)
	if err != nil {
		return in, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return in, fmt.Errorf("arguments: %w", err)
	}
	for f := range reflect.TypeFor[I]().Fields() {
		name := f.Tag.Get("json")
		if _, has := given[name]; !has && !strings.HasSuffix(name, ",omitempty") {
			return in, fmt.Errorf("argument %q is missing: %s", name, f.Tag.Get("doc"))
		}
	}
	return in, nil
}

// refused is an error as an agent reads it: what is wrong, and what would help.
func refused(err error) *mcp.CallToolResult {
	err = cli.Explain(err)
	text := err.Error()
	var hinted fail.Hinted
	if errors.As(err, &hinted) {
		text += "\n" + hinted.Hint
	}
	return mcp.NewToolResultError(text)
}
