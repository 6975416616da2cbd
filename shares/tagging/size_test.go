package tagging

import (
	"strings"
	"testing"
)

// What all rules compile to together is bounded: each of these patterns is fine by itself.
func TestAllPatternsTogetherAreBounded(t *testing.T) {
	rules := make([]Rule, 60)
	for i := range rules {
		rules[i] = Rule{Match: map[string]string{"label": strings.Repeat("[a-z]{1000}", 19)}, Share: "Test"}
	}
	leaf := func(string) bool { return true }
	if _, err := Compile(rules[:40], "", leaf); err != nil {
		t.Errorf("40 rules: %v", err)
	}
	_, err := Compile(rules, "", leaf)
	if err == nil || !strings.Contains(err.Error(), "tags[5") || !strings.Contains(err.Error(), "at most 1000000 in all rules") {
		t.Errorf("60 rules: %v", err)
	}
}
