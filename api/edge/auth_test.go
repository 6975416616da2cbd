package edge

import (
	"net/http/httptest"
	"testing"
)

// Who comes past the edge has no rights.
func TestCallerOf(t *testing.T) {
	if c := CallerOf(httptest.NewRecorder()); c.MayPull("CERN") || c.MayPull("") {
		t.Errorf("%s may pull", c)
	}
}
