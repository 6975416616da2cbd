package origin

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestRebound(t *testing.T) {
	loopback, outside := net.IPv4(127, 0, 0, 1), net.IPv4(10, 0, 0, 1)
	for _, c := range []struct {
		host  string
		local net.IP
		want  bool
	}{
		{"127.0.0.1:8470", loopback, false},
		{"[::1]:8470", loopback, false},
		{"LocalHost:8470", loopback, false},
		{"localhost", loopback, false},
		{"evil.example:8470", loopback, true},
		{"localhost.evil.example", loopback, true},
		{"divvy.example:8470", outside, false},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://"+c.host+"/", nil)
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: c.local, Port: 8470}))
		if got := Rebound(r); got != c.want {
			t.Errorf("host %s on %s: %v", c.host, c.local, got)
		}
	}
}

func TestPage(t *testing.T) {
	for _, c := range []struct {
		origin, site string
		want         bool
	}{
		{"", "", false},
		{"wlcg.pilot", "", false},
		{"atlas:production", "", false},
		{"http://divvy:8470", "", false},
		{"http://divvy:8470", "same-origin", false},
		{"", "none", false},
		{"http://evil.example", "", true},
		{"http://divvy:8471", "", true},
		{"null", "", true},
		{"", "cross-site", true},
		{"wlcg.pilot", "same-site", true},
		{"://", "", true},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://divvy:8470/server/panda/getJob", nil)
		r.Header.Set("Origin", c.origin)
		r.Header.Set("Sec-Fetch-Site", c.site)
		if got := Page(r); got != c.want {
			t.Errorf("Origin %q, Sec-Fetch-Site %q: %v", c.origin, c.site, got)
		}
	}
}
