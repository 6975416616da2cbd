package access

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Role is what the owner of a token may do. The API's table of rights says which routes each has.
type Role string

// The roles there are.
const (
	Pilot      Role = "pilot"       // pulls, renews, finishes, at its queues
	Submitter  Role = "submitter"   // submits and steers tasks of one user, and sees them
	ShareOwner Role = "share-owner" // sees all, and changes weights below a node of the tree
	Operator   Role = "operator"    // sees all, and steers tasks, jobs, queues, resources and logs
	Reader     Role = "reader"      // sees all, and changes nothing
	Admin      Role = "admin"       // everything; only it applies site files and makes tokens
)

// Roles lists them.
func Roles() []Role { return []Role{Pilot, Submitter, ShareOwner, Operator, Reader, Admin} }

// Subject is what a token is bound to by its role.
type Subject struct {
	User   string   `json:"user,omitempty" doc:"Of a submitter: whose tasks it submits and steers."`
	Queues []string `json:"queues,omitempty" doc:"Of a pilot: the queues at which it may pull; absent = any."`
	Share  string   `json:"share,omitempty" doc:"Of a share owner: path of the node below which it may change weights."`
}

// may says what a role has the right to.
var may = map[Role]string{
	Pilot:      "pull, renew and finish",
	Submitter:  "submit, steer and see tasks of its user; see shares and queues",
	ShareOwner: "see everything; change weights below its share",
	Operator:   "see everything; steer tasks and jobs of all users, queues, capacities, claims, log levels",
	Reader:     "see everything, change nothing",
	Admin:      "everything",
}

// May says what the role has the right to.
func (r Role) May() string { return may[r] }

// String is the subject in a word or two.
func (s Subject) String() string {
	switch {
	case s.User != "":
		return "user " + s.User
	case len(s.Queues) > 0:
		return "queues " + strings.Join(s.Queues, ", ")
	case s.Share != "":
		return "share " + s.Share
	}
	return ""
}

// Caller is who makes a request.
type Caller struct {
	ID   int64  // of the token; 0: none of the table
	Name string // of the token, or where else the right comes from
	Role Role
	Subject
	// From tells callers without an ID apart.
	From string
	// Vouched says that a certificate or an issuer vouches for the caller: Name is a person's or a robot's, not a token's.
	Vouched bool
	// DN is the subject of the certificate that the request was let in by; "" = it was another credential.
	DN string
	// Until is when the credential ends; zero = never.
	Until time.Time
	// Origin is the vo[.role] that the request speaks for, on PanDA's API.
	Origin  string
	origins origins
	used    *mark
}

// Anybody is the caller of a daemon that asks for no credential.
var Anybody = &Caller{Name: "anybody", Role: Admin}

// Anonymous says whether nothing is known of who makes the request.
func (c *Caller) Anonymous() bool { return c.ID == 0 && c.From == "" }

// By says which kind of credential let the caller in.
func (c *Caller) By() string {
	switch {
	case c.Anonymous():
		return "none"
	case c.ID > 0:
		return "token"
	case c.DN != "":
		return "certificate"
	case c.Vouched:
		return "web token"
	}
	return "token file"
}

// Known is the name that tasks are submitted under, unless they name another user; "" for an anonymous caller.
func (c *Caller) Known() string {
	if c.Anonymous() {
		return ""
	}
	return cmp.Or(c.User, c.Name)
}

// Is says whether the caller has one of the roles.
func (c *Caller) Is(roles ...Role) bool { return slices.Contains(roles, c.Role) }

// MayPull says whether the caller may pull at a queue; "": at any. Who has no role may at none.
func (c *Caller) MayPull(queue string) bool {
	return c.Role != "" && (c.Role != Pilot || len(c.Queues) == 0 || slices.Contains(c.Queues, queue))
}

// OnlyUser is the user to whose tasks the caller is restricted; "": no restriction beyond the role's.
func (c *Caller) OnlyUser() string {
	if c.Role != Submitter {
		return ""
	}
	return c.User
}

// Owns says whether a share is below the caller's node.
func (c *Caller) Owns(share string) bool {
	return c.Role == ShareOwner && strings.HasPrefix(share, c.Share+"/")
}

// String names the caller in refusals and logs.
func (c *Caller) String() string {
	if s := c.Subject.String(); s != "" {
		return fmt.Sprintf("%s (%s of %s)", c.Name, c.Role, s)
	}
	return fmt.Sprintf("%s (%s)", c.Name, c.Role)
}
