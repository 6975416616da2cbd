package origin

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// Rebound reports whether a request arrived on loopback but names another host: an attacker may point a name at
// 127.0.0.1 to make a browser talk to this daemon.
func Rebound(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return false
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return false // an address cannot be pointed elsewhere
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && local.IP.IsLoopback()
}

// Page reports whether a page of another origin made the request. PanDA's pilots put the name of their VO into the
// header Origin, where browsers put scheme://host or null; only the latter count.
func Page(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return true
	}
	said := r.Header.Get("Origin")
	if said == "null" {
		return true
	}
	if !strings.Contains(said, "://") {
		return false
	}
	u, err := url.Parse(said)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}
