package shares

import "testing"

func TestQueueRuns(t *testing.T) {
	for _, c := range []struct {
		allow, deny []string
		share       string
		want        bool
	}{
		{nil, nil, "Production/MC", true},
		{[]string{"Production"}, nil, "Production/MC", true},
		{[]string{"Production"}, nil, "Production", true},
		{[]string{"Production"}, nil, "ProductionX", false},
		{[]string{"Production/MC"}, nil, "Production", false},
		{[]string{"*/MC"}, nil, "Production/MC/fast", true},
		{[]string{"*"}, nil, "Analysis/User", true},
		{[]string{"Ana*"}, []string{"*/Grp"}, "Analysis/User", true},
		{[]string{"Ana*"}, []string{"*/Grp"}, "Analysis/Grp", false},
		{nil, []string{"Test"}, "Test", false},
		{nil, []string{"Test"}, "Production/Test", true},
	} {
		if got := (Queue{AllowShares: c.allow, DenyShares: c.deny}).Runs(c.share); got != c.want {
			t.Errorf("allow %q deny %q: %s runs: %v", c.allow, c.deny, c.share, got)
		}
	}
}
