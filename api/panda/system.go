package panda

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/internal/access"
)

// systemCalls returns the calls that show the caller's identity and that the server is alive.
func (s *server) systemCalls() []wire.Endpoint {
	return []wire.Endpoint{
		wire.ByGet("/system/is_alive", wire.Params{}, func(*http.Request, wire.Args) wire.Envelope { return wire.Good(nil) }),
		wire.ByGet("/system/get_attributes", wire.Params{wire.AnyName: wire.Anything}, s.getAttributes),
		wire.ByGet("/system/get_user_attributes", wire.Params{}, s.getUserAttributes),
		wire.ByGet("/system/get_voms_attributes", wire.Params{}, func(*http.Request, wire.Args) wire.Envelope { return wire.Good(map[string]string{}) }),
	}
}

// getAttributes returns the request as it arrived, without credentials.
func (s *server) getAttributes(r *http.Request, a wire.Args) wire.Envelope {
	said, env := map[string]string{}, map[string]string{"REQUEST_METHOD": r.Method, "REQUEST_URI": r.RequestURI, "REMOTE_ADDR": r.RemoteAddr,
		"SERVER_PROTOCOL": r.Proto, "HTTP_HOST": r.Host, "SSL_CLIENT_S_DN": wire.CallerOf(r.Context()).DN}
	for name, v := range a {
		said[name] = fmt.Sprint(v)
	}
	for name := range r.Header {
		if !strings.HasSuffix(name, "Authorization") && name != "Cookie" {
			env["HTTP_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = r.Header.Get(name)
		}
	}
	e := wire.Good(map[string]any{"parameters": said, "environment": env})
	e.Message = "===== param =====\n" + lines(said, " = ") + "\n====== env ======\n" + lines(env, " : ") + "\n"
	return e
}

// lines formats names and values, one a line.
func lines(of map[string]string, between string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		all = append(all, name+between+of[name])
	}
	return strings.Join(all, "\n")
}

// getUserAttributes returns the caller's identity in PanDA's words. divvy has no working groups of callers.
func (s *server) getUserAttributes(r *http.Request, _ wire.Args) wire.Envelope {
	c := wire.CallerOf(r.Context())
	production := !c.Anonymous() && c.Is(access.Operator, access.Admin)
	fqans := []string{}
	if c.Origin != "" {
		fqans = append(fqans, c.Origin)
	}
	e := wire.Good(map[string]any{"user_dn_raw": c.DN, "user_dn_clean": c.Known(), "fqans": fqans, "is_production_user": production,
		"production_working_groups": []string{}, "primary_working_group": nil})
	e.Message = fmt.Sprintf("User DN (raw): %s\nUser DN (clean): %s\nFQANs: %s\nProduction user: %t\n", c.DN, c.Known(), strings.Join(fqans, ", "), production)
	return e
}
