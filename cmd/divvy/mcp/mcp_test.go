package mcp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/mcp"
	"github.com/divvyhq/divvy/cmd/divvy/serve"
	"github.com/divvyhq/divvy/cmd/divvy/servetest"
	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// agent is a client of the protocol in a session with the tools.
type agent struct {
	t *testing.T
	*sdk.ClientSession
}

func connect(t *testing.T, cl *client.Client) agent {
	t.Helper()
	here, there := sdk.NewInMemoryTransports()
	served, err := mcp.Server(cl).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = served.Wait()
	})
	return agent{t, session}
}

// asks calls a tool and returns its text, and whether it is an error.
func (a agent) asks(tool string, args map[string]any) (string, bool) {
	a.t.Helper()
	r, err := a.CallTool(a.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	return r.Content[0].(*sdk.TextContent).Text, r.IsError
}

// finds calls a tool, which must answer, and decodes what it found.
func (a agent) finds(into any, tool string, args map[string]any) (page string) {
	a.t.Helper()
	text, bad := a.asks(tool, args)
	reply := struct {
		Page   string
		Answer any
	}{Answer: into}
	if err := json.Unmarshal([]byte(text), &reply); err != nil || bad {
		a.t.Fatalf("%s %v: %v\n%s", tool, args, err, text)
	}
	return reply.Page
}

// An agent asks a daemon with a task that waits and one that nothing can run.
func TestQuestions(t *testing.T) {
	t.Parallel()
	cl := servetest.Start(t, serve.New(servetest.Config(t, nil), servetest.Log(t)), client.Config{})
	task, err := cl.Tasks().Submit(t.Context(), wire.TaskSpec{Name: "waits", User: "alice", Share: "Test", Command: []string{"true"}, Count: 3}, "")
	if err != nil {
		t.Fatal(err)
	}
	a := connect(t, cl)

	var why wire.TaskExplanation
	if page := a.finds(&why, "why_task", map[string]any{"task": task.ID}); why.Summary == "" || page != fmt.Sprintf("%s/tasks/%d", cl.URL(), task.ID) {
		t.Errorf("%s: %+v", page, why)
	}
	var tree wire.Standing
	a.finds(&tree, "shares", map[string]any{"share": "Test"})
	if len(tree.Pools) == 0 || len(tree.Pools[0].Shares) != 1 || tree.Pools[0].Shares[0].Path != "Test" {
		t.Errorf("%+v", tree)
	}
	var list wire.Page[wire.Task]
	if a.finds(&list, "tasks", map[string]any{"user": "alice"}); len(list.Items) != 1 || list.Items[0].Name != "waits" {
		t.Errorf("%+v", list)
	}
	var current wire.SiteVersion
	a.finds(&current, "site", nil)
	var change wire.Applied
	if a.finds(&change, "rehearse_site", map[string]any{"file": current.Source + "\n"}); len(change.Targets) == 0 {
		t.Errorf("%+v", change)
	}
	var outcome []struct {
		Name string
		Tags wire.TagTest
	}
	a.finds(&outcome, "rehearse_task", map[string]any{"file": "name: wide\nuser: bob\nshare: Test\ncount: 1\ncommand: [\"true\"]\nrequirements: {cores: 9999}\n"})
	if len(outcome) != 1 || outcome[0].Tags.Share != "Test" || !strings.Contains(outcome[0].Tags.CannotRun, "cores") {
		t.Errorf("%+v", outcome)
	}
}

// Every tool answers a living daemon, or says what is wrong with its arguments; none changes anything.
func TestTools(t *testing.T) {
	t.Parallel()
	cl := servetest.Start(t, serve.New(servetest.Config(t, nil), servetest.Log(t)), client.Config{})
	a := connect(t, cl)
	tools, err := a.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	wants := map[string]string{"why_task": "task 99", "why_job": "job: 99", "task": "task 99", "task_queues": "task 99", "job": "job: 99", "job_log": "job",
		"why_share": "query.a", "rehearse_site": "site.yml:2:1", "rehearse_task": "task.yml:2:1", "report": "nothing"}
	args := map[string]any{"task": 99, "job": 99, "a": "Nowhere", "b": "Test", "file": "{", "name": "nothing"}
	for _, tool := range tools.Tools {
		if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint {
			t.Errorf("%s does not say that it only reads", tool.Name)
		}
		given := map[string]any{}
		for _, name := range required(t, tool) {
			given[name] = args[name]
		}
		text, bad := a.asks(tool.Name, given)
		if want, refused := wants[tool.Name]; refused != bad || !strings.Contains(text, want) {
			t.Errorf("%s %v: error %t\n%s", tool.Name, given, bad, text)
		}
	}
	if audit, err := cl.Tokens().Audit(t.Context(), client.AuditFilter{}); err != nil || len(audit.Items) != 0 {
		t.Errorf("%v %+v", err, audit)
	}
}

func required(t *testing.T, tool *sdk.Tool) []string {
	t.Helper()
	text, err := json.Marshal(tool)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct{ InputSchema struct{ Required []string } }
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	return schema.InputSchema.Required
}

// Wrong arguments are named.
func TestWrongArguments(t *testing.T) {
	t.Parallel()
	cl, err := client.New(client.Config{URL: "http://127.0.0.1:1", Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	a := connect(t, cl)
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"why_task", nil, `argument "task" is missing: id of the task`},
		{"why_task", map[string]any{"task": "seven"}, "task"},
		{"why_task", map[string]any{"task": 7, "job": 8}, `"job"`},
		{"why_task", map[string]any{"task": 7}, "no daemon answers at http://127.0.0.1:1"},
	} {
		if text, bad := a.asks(c.tool, c.args); !bad || !strings.Contains(text, c.want) {
			t.Errorf("%s %v: error %t\n%s", c.tool, c.args, bad, text)
		}
	}
}

// The command speaks the protocol on its standard streams, a message a line, and ends with its input.
func TestCommand(t *testing.T) {
	t.Parallel()
	in, asks := io.Pipe()
	answers, out := io.Pipe()
	cmd := mcp.Command(&cli.CLI{Streams: cli.Streams{In: in, Out: out, Err: io.Discard}, Server: "http://127.0.0.1:1"})
	cmd.SetArgs(nil)
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(t.Context()) }()
	lines := bufio.NewReader(answers)
	for _, c := range []struct{ ask, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`, `"serverInfo"`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `"rehearse_task"`},
	} {
		if _, err := io.WriteString(asks, c.ask+"\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, c.want) {
			t.Errorf("%s: %v %s", c.ask, err, line)
		}
	}
	_ = asks.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The configuration of the page starts the command, with flags that there are.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/howto/ask-an-agent.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "```json\n")
	block, _, _ = strings.Cut(block, "```")
	var config struct {
		McpServers map[string]struct{ Args []string }
	}
	if err := json.Unmarshal([]byte(block), &config); err != nil {
		t.Fatal(err)
	}
	c := &cli.CLI{}
	cmd := mcp.Command(c)
	c.Bind(cmd.Flags())
	args := config.McpServers["divvy"].Args
	if len(args) == 0 || args[0] != cmd.Name() {
		t.Fatalf("%q", args)
	}
	if err := cmd.ParseFlags(args[1:]); err != nil || c.Server != "https://divvy.example.org:8470" || c.TokenFile == "" {
		t.Errorf("%v: %+v", err, c)
	}
	for _, name := range []string{"why_task", "why_job", "rehearse_site", "rehearse_task"} {
		if !strings.Contains(string(page), "`"+name+"`") {
			t.Errorf("the page does not name %s", name)
		}
	}
}
