package file

import (
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/internal/site/strict"
)

// Webhook is an address that is told what happens.
type Webhook struct {
	Name       string   `yaml:"name" is:"required word=queue" doc:"unique"`
	URL        string   `yaml:"url" is:"required" doc:"where messages are sent by POST; it may not redirect"`
	SecretFile string   `yaml:"secret_file" doc:"file with the secret that signs them, at every daemon"`
	SecretEnv  string   `yaml:"secret_env" doc:"or the variable of the daemon's environment that has it"`
	Events     []string `yaml:"events" is:"some most=10" doc:"of task.done, task.finished, task.failed, task.aborted, share.starving, queue.broken; absent = all"`
	Users      []string `yaml:"users" is:"some most=100 word=glob" doc:"only tasks of users that a glob matches"`
	Shares     []string `yaml:"shares" is:"some most=100 word=glob" doc:"only tasks and shares that a glob matches, with all below"`
}

// Events of webhooks.
const (
	TaskEvent     = "task." // and the state in which it ended
	ShareStarving = "share.starving"
	QueueBroken   = "queue.broken"
)

// Events lists all.
var Events = []string{TaskEvent + "done", TaskEvent + "finished", TaskEvent + "failed", TaskEvent + "aborted", ShareStarving, QueueBroken}

// Wants says whether the receiver wants to hear of an event. user and share are "" where it has none.
func (w Webhook) Wants(event, user, share string) bool {
	fits := func(globs []string, name string, match func(glob string) bool) bool {
		return len(globs) == 0 || name != "" && slices.ContainsFunc(globs, match)
	}
	return (len(w.Events) == 0 || slices.Contains(w.Events, event)) &&
		fits(w.Users, user, func(glob string) bool { return matches(glob, user) }) &&
		fits(w.Shares, share, func(glob string) bool { _, ok := topmost(glob, share); return ok })
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// addWebhooks takes webhooks over, and refuses those that could reach nobody or would not be signed.
func (s *Content) addWebhooks(hooks []Webhook, v strict.Value) {
	s.Webhooks = hooks
	for i, w := range hooks {
		at := element(v, i)
		if at.Failed() {
			continue
		}
		if u, err := url.Parse(w.URL); !at.At("url").Failed() && w.URL != "" &&
			(err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.Fragment != "") {
			at.At("url").Failf("url: %q is no address such as https://chat.example.org/divvy", w.URL)
		}
		for k, event := range w.Events {
			if !slices.Contains(Events, event) {
				element(at.At("events"), k).Fail("events: there is no event "+event, "events are "+strings.Join(Events, ", "))
			}
		}
		switch {
		case (w.SecretFile == "") == (w.SecretEnv == ""):
			at.Fail("webhook "+w.Name+" has no secret, or two", "secret_file or secret_env: messages are signed with it; make one with: openssl rand -base64 32")
		case w.SecretFile != "" && !filepath.IsAbs(w.SecretFile):
			at.At("secret_file").Failf("secret_file: %q is no whole path such as /etc/divvy/chat.secret", w.SecretFile)
		case w.SecretEnv != "" && !variable.MatchString(w.SecretEnv):
			at.At("secret_env").Failf("secret_env: %q is no name of a variable", w.SecretEnv)
		}
	}
}
