package main

import (
	"testing"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
)

func TestWhyUsage(t *testing.T) {
	for _, args := range [][]string{{"A"}, {"A", "B", "--since", "soon"}, {"A", "B", "--since", "-1h"}} {
		if o := divvy(t, append([]string{"shares", "why", "--server", "http://127.0.0.1:1"}, args...)...); o.code != fail.Usage {
			t.Errorf("%v: %+v", args, o)
		}
	}
}
