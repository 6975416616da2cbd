package panda

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/api/origin"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/keys"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/file"
)

// Access is who is let in. The zero Access lets nobody in.
type Access struct {
	// Tokens are those of panda_tokens: good for these routes only.
	Tokens []Token
	// Operator is the name of a token of the native API that may do everything here; "" = it may not; nil: none may.
	Operator func(token string) (name string)
	// Users are whom client certificates stand for, on a listener with a keys.TLSFiles.Config, which lets good ones in only.
	Users Users
	// Issuers are those whose JSON web tokens are good.
	Issuers Issuers
	// Anyone lets everybody in, with any credential or none: a listener on loopback that has none configured, or
	// panda_anonymous. Who has a good credential is still known by it.
	Anyone bool
}

// Caller is who makes a request; fields are "" where nothing is known. Origin is what the caller says of itself: it is
// bound to the credential only where the credential's line in its file names the origins that it may use. A certificate that
// comes without one speaks for the first origin without a glob of its line.
type Caller struct {
	Token    string // the name of the token, an Operator's too
	User     string // whom the certificate stands for; the subject of a JSON web token
	DN       string // the certificate's subject
	Origin   string // vo or vo.role
	Operator bool   // has a token of the native API
	pilot    bool   // its credential is bound to origins, and the one that it speaks for has the role of pilots
	// production: its credential is bound to the very origin that it speaks for, not by a glob, and that has the role of production.
	production bool
}

// Name is by what a caller is known best; "" = anonymous.
func (c Caller) Name() string {
	return cmp.Or(c.User, c.Token)
}

// forItself is true for who stands for a user and may not submit in the name of another.
func (c Caller) forItself() bool { return c.User != "" && !c.production }

// Gate knows which pilots may pull at a queue; *site.Store is one.
type Gate interface {
	Admits(queue string, p file.Pilot) bool
}

var _ Gate = (*site.Store)(nil)

// MayPull is nil when the caller may pull at a queue; else it says why not, in the words of the answer.
func (c Caller) MayPull(g Gate, queue string) error {
	if c.Operator || g.Admits(queue, file.Pilot{Token: c.Token, User: c.User, Origin: c.Origin}) {
		return nil
	}
	return fmt.Errorf("queue %s is not for %s: the site file lists its pilots", queue, c)
}

// String is the caller in the words of a refusal.
func (c Caller) String() string {
	var known []string
	if c.User != "" {
		known = append(known, "user "+c.User)
	}
	if c.Token != "" {
		known = append(known, "token "+c.Token)
	}
	if c.Origin != "" {
		known = append(known, "origin "+c.Origin)
	}
	if len(known) == 0 {
		return "a pilot without a credential"
	}
	return strings.Join(known, ", ")
}

type callerKey struct{}

// CallerOf is who made the request that a guarded handler serves.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// Guard lets those in who may come in, and tells the handler who they are. All others are answered as the generation of
// the path knows it.
func (a *Access) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := a.admit(r)
		if err != nil && !(errors.Is(err, errNoCredential) && asksAlive(r)) {
			refuse(w, r, err)
			return
		}
		ctx := context.WithValue(r.Context(), callerKey{}, c)
		if steers(r) { // the audit names who
			ctx = access.With(ctx, &access.Caller{Name: cmp.Or(c.Name(), "anonymous"), Role: "panda"})
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// asksAlive is true for the question whether anybody is there. Monitors ask it without a credential, as PanDA's own server lets them.
func asksAlive(r *http.Request) bool {
	_, call, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
	return r.Method == http.MethodGet && call == "system/is_alive"
}

// The refusals that need no words of the moment.
var (
	errPage         = errors.New("refused: the request may come from a foreign web page")
	errNoCredential = errors.New("no credential: send the header Authorization: Bearer <token>, or a client certificate")
	errUnknownToken = errors.New("the token is not known here")
)

// admit finds out who the caller is. A certificate that stands for a user counts whatever token comes with it: pilots
// always send one.
func (a *Access) admit(r *http.Request) (Caller, error) {
	c := Caller{Origin: originOf(r)}
	if origin.Page(r) || a.Anyone && origin.Rebound(r) {
		return c, errPage
	}
	origins, err := a.identify(r, &c)
	switch {
	case err != nil && a.Anyone:
		return Caller{Origin: c.Origin, DN: c.DN}, nil
	case err != nil:
		return c, err
	case !origins.allow(c.Origin) && c.Origin == "" && c.DN != "" && c.User != "":
		return c, fmt.Errorf("%s needs an origin, one of %s: without the header Origin its line in panda_users needs one without a glob, such as atlas.pilot",
			c.Name(), strings.Join(origins, ", "))
	case !origins.allow(c.Origin) && c.Origin == "":
		return c, fmt.Errorf("%s needs an origin, one of %s", c.Name(), strings.Join(origins, ", "))
	case !origins.allow(c.Origin):
		return c, fmt.Errorf("%s may not speak for %s, only for %s", c.Name(), c.Origin, strings.Join(origins, ", "))
	}
	c.pilot = len(origins) > 0 && strings.HasSuffix(c.Origin, "."+rolePilot)
	c.production = strings.HasSuffix(c.Origin, "."+roleProduction) && slices.Contains(origins, c.Origin)
	switch {
	case c.pilot && steers(r):
		return c, forbidden{fmt.Errorf("%s speaks for %s: pilots take jobs and report on them, and steer nothing", c.Name(), c.Origin)}
	case c.pilot && looksInto(r):
		return c, forbidden{fmt.Errorf("%s speaks for %s: pilots take jobs and report on them, and look into no tasks", c.Name(), c.Origin)}
	}
	return c, nil
}

// rolePilot is the role that pilots give themselves, roleProduction that of who submits for others.
const (
	rolePilot      = "pilot"
	roleProduction = "production"
)

// looksInto says whether a request asks what tasks and jobs are made of: commands, parameters, files, what payloads said. A
// pilot gets that of the jobs that it runs with them; of others it may ask how they stand, as Harvesters do.
func looksInto(r *http.Request) bool {
	call, old := strings.CutPrefix(r.URL.Path, "/server/panda/")
	if old {
		call = strings.TrimPrefix(oldTaskCalls[call].as, "/")
	} else {
		_, call, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
	}
	return strings.HasPrefix(call, "task/") || strings.HasPrefix(call, "job/") && call != "job/get_status"
}

// steers says whether a request changes what others have: tasks, jobs, target slots. A credential on worker nodes that is
// bound to a pilot's origin is no good for that; one that is bound to none, or a listener for anyone, is. Whatever is not
// known to be said by pilots and Harvesters, or to be a question, steers.
func steers(r *http.Request) bool {
	if call, old := strings.CutPrefix(r.URL.Path, "/server/panda/"); old {
		return !saidOld[call] && !strings.HasPrefix(call, "get") && !strings.HasPrefix(call, "check")
	}
	_, call, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/"), "/")
	group, name, _ := strings.Cut(call, "/")
	said := group == "pilot" || group == "harvester" && name != "add_target_slots" && name != "add_sweep_command"
	return r.Method != http.MethodGet && !said
}

// saidOld are the old calls by which pilots and Harvesters say something.
var saidOld = map[string]bool{"isAlive": true, "updateJob": true, "updateJobsInBulk": true, "updateWorkerPilotStatus": true, "harvesterIsAlive": true,
	"updateWorkers": true, "updateServiceMetrics": true, "addHarvesterDialogs": true, "reportWorkerStats_jobtype": true, "ackCommands": true}

// identify fills in the caller and returns the origins that its credential is bound to.
func (a *Access) identify(r *http.Request, c *Caller) (origins, error) {
	var noUser error
	if owner := a.owner(r); owner != nil {
		c.DN = keys.DN(owner)
		if u, row := a.Users.find(c.DN); row != nil {
			c.User = u
			if c.Origin == "" { // pilots and Harvesters say one beside a token only
				c.Origin = row.origins.first()
			}
			return row.origins, nil
		}
		noUser = fmt.Errorf("no line of panda_users fits the certificate %s", c.DN)
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	switch {
	case strings.EqualFold(scheme, "Bearer") && token != "":
	case noUser != nil:
		return nil, noUser
	default:
		return nil, errNoCredential
	}
	if a.Operator != nil {
		if name := a.Operator(token); name != "" {
			c.Token, c.Operator = name, true
			return nil, nil
		}
	}
	sum := sha256.Sum256([]byte(token))
	for _, t := range a.Tokens { // of a hash: how long the comparison takes tells nothing of the token
		if sum == t.sum {
			c.Token = t.Name
			return t.origins, nil
		}
	}
	if len(a.Issuers) == 0 {
		return nil, errUnknownToken
	}
	var may origins
	var err error
	c.User, may, err = a.Issuers.check(r.Context(), token)
	return may, err
}

// owner is whose certificate the client has shown. Without Users none is looked at: nobody said that they are checked.
func (a *Access) owner(r *http.Request) *x509.Certificate {
	if r.TLS == nil || len(a.Users) == 0 {
		return nil
	}
	return keys.OwnerOf(r.TLS.PeerCertificates)
}

// originOf is the header Origin as PanDA has it, vo[.role]; vo:role is an older way to write it.
func originOf(r *http.Request) string {
	return strings.Replace(strings.TrimSpace(r.Header.Get("Origin")), ":", ".", 1)
}

// scRole is the old answer's status code of who may not.
const scRole = 60

// refuse says no. The new API has status 403 for credentials that are not good, and 200 where a good one has not the right;
// the old one has 200 for everything, and a status code in the answer. Web pages get 403 from both, and who brings a token
// whose issuer does not answer 503.
func refuse(w http.ResponseWriter, r *http.Request, why error) {
	status, right, unchecked := http.StatusForbidden, forbidden{}, keys.Unchecked{}
	switch {
	case errors.As(why, &right):
		status = http.StatusOK
	case errors.As(why, &unchecked): // what is said again is heard again, as with the database
		status = http.StatusServiceUnavailable
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/"):
		envelope{Message: why.Error(), Status: status}.write(w)
	case errors.Is(why, errPage):
		writeJSON(w, status, refusal{scRole, why.Error()})
	case status == http.StatusServiceUnavailable:
		writeJSON(w, status, refusal{scTimeOut, why.Error()})
	default:
		writeJSON(w, http.StatusOK, refusal{scRole, why.Error()})
	}
}
