package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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
			return Server(cl).Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(c.In), Writer: open{c.Out}})
		}),
	}
}

// open is a writer that outlives its session.
type open struct{ io.Writer }

// Close leaves the writer open.
func (open) Close() error { return nil }

const instructions = `divvy shares out the slots of a computing site by a tree of shares. A task is cut into jobs; pilots on the
machines pull jobs; each free slot goes to the share furthest below its target. Begin with "shares" for who uses what, "why_task"
or "why_job" for why something waits, "rehearse_site" and "rehearse_task" for what would change. Nothing is changed by any tool.
Figures are units (cores × core power of the queue) unless they say otherwise. Give people the link of an answer.`

// Server has the tools of this package, answered by a daemon.
func Server(cl *client.Client) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "divvy", Version: build.Version()}, &mcp.ServerOptions{Instructions: instructions})
	addTools(s, cl)
	return s
}

// answer is what a tool returns.
type answer struct {
	Page   string `json:"page"` // address of the page that shows the same
	Answer any    `json:"answer"`
}

// tool adds one: its question in words, and the call that answers it, which returns the path of its page too.
func tool[I any](s *mcp.Server, cl *client.Client, name, question string, call func(context.Context, I) (path string, found any, err error)) {
	t := &mcp.Tool{Name: name, Description: question, InputSchema: arguments(reflect.TypeFor[I]()),
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}}
	s.AddTool(t, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		in, err := read[I](r.Params.Arguments)
		if err != nil {
			return said(err.Error(), true), nil
		}
		path, found, err := call(ctx, in)
		if err != nil {
			return refused(err), nil
		}
		text, err := json.Marshal(answer{Page: cl.URL() + path, Answer: found})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return said(string(text), false), nil
	})
}

// arguments describes the fields of a struct: texts, whole numbers, and lists of texts. One without omitempty is required.
func arguments(of reflect.Type) any {
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
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// read decodes the arguments of a call. The error names the one that is wrong.
func read[I any](given json.RawMessage) (in I, err error) {
	names := map[string]any{}
	if len(given) > 0 {
		d := json.NewDecoder(bytes.NewReader(given))
		d.DisallowUnknownFields()
		if err := cmp.Or(d.Decode(&in), json.Unmarshal(given, &names)); err != nil {
			return in, fmt.Errorf("arguments: %w", err)
		}
	}
	for f := range reflect.TypeFor[I]().Fields() {
		name := f.Tag.Get("json")
		if _, has := names[name]; !has && !strings.HasSuffix(name, ",omitempty") {
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
	return said(text, true)
}

func said(text string, wrong bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: wrong}
}
