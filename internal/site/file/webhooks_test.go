package file

import "testing"

// Filters leave out what they do not match, and what has no user or share.
func TestWebhookWants(t *testing.T) {
	for _, c := range []struct {
		hook               Webhook
		event, user, share string
		want               bool
	}{
		{Webhook{}, "task.done", "alice", "A/B", true},
		{Webhook{}, QueueBroken, "", "", true},
		{Webhook{Events: []string{"task.failed"}}, "task.done", "alice", "A/B", false},
		{Webhook{Events: []string{"task.failed"}}, "task.failed", "alice", "A/B", true},
		{Webhook{Users: []string{"al*"}}, "task.done", "alice", "", true},
		{Webhook{Users: []string{"*"}}, ShareStarving, "", "A", false},
		{Webhook{Shares: []string{"A"}}, "task.done", "alice", "A/B", true},
		{Webhook{Shares: []string{"A/*"}}, ShareStarving, "", "A", false},
		{Webhook{Shares: []string{"B", "A/B"}}, ShareStarving, "", "A/B", true},
		{Webhook{Shares: []string{"*"}}, QueueBroken, "", "", false},
		{Webhook{Users: []string{"bob"}, Shares: []string{"A"}}, "task.done", "alice", "A/B", false},
	} {
		if got := c.hook.Wants(c.event, c.user, c.share); got != c.want {
			t.Errorf("%+v: %s of %q in %q: %v", c.hook, c.event, c.user, c.share, got)
		}
	}
}
