package wire

import (
	"maps"
	"slices"
	"time"
)

// Health is the answer of /healthz and /readyz.
type Health struct {
	Status string `json:"status" enum:"ok,ready"`
}

// Login is an issuer of tokens (OIDC) that people log in at, and the client that they do it with, which has no secret.
type Login struct {
	Issuer   string   `json:"issuer" doc:"Its address; openid-configuration is below it."`
	ClientID string   `json:"client_id"`
	Scopes   []string `json:"scopes" doc:"To ask for."`
}

// Whoami says for whom a daemon takes a caller.
type Whoami struct {
	Name    string     `json:"name"`
	Role    string     `json:"role" enum:"pilot,submitter,share-owner,operator,reader,admin"`
	User    string     `json:"user,omitempty" doc:"Of a submitter: whose tasks it submits and steers."`
	Queues  []string   `json:"queues,omitempty" doc:"Of a pilot: where it may pull; absent = anywhere."`
	Share   string     `json:"share,omitempty" doc:"Of a share owner: the node below which it may change weights."`
	May     string     `json:"may" doc:"What the role has the right to."`
	By      string     `json:"by" enum:"token,token file,web token,certificate,none" doc:"What let the caller in; none: the daemon asks for nothing."`
	Subject string     `json:"subject,omitempty" doc:"Of the certificate; of the web token, after its issuer."`
	Until   *time.Time `json:"until,omitempty" doc:"When that ends; absent = never."`
}

// Page is one page of a list.
type Page[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next" doc:"Pass it as after to get the next page; empty on the last one."`
}

// Stored is the answer to a stream of inputs.
type Stored struct {
	Task int64 `json:"task"`
	Next int64 `json:"next_offset" doc:"Inputs stored so far: the offset to go on from."`
}

// Log is the end of what an attempt wrote.
type Log struct {
	Job     int64  `json:"job"`
	Attempt int    `json:"attempt,omitempty" doc:"As asked for; absent = the last one."`
	Tail    string `json:"tail" doc:"End of stdout and stderr; below a line --- pilot what the pilot said besides."`
}

// Output is what an attempt wrote since the answer before.
type Output struct {
	Job     int64         `json:"job"`
	Attempt int           `json:"attempt" doc:"Of the chunks; 0: none has begun."`
	State   string        `json:"state" doc:"State of the job now."`
	Chunks  []OutputPiece `json:"chunks"`
	Next    string        `json:"next" doc:"Pass it as from to go on."`
	Over    bool          `json:"over" doc:"The job has ended, or the attempt that was asked for, and nothing more comes."`
}

// OutputPiece is a part of what an attempt wrote.
type OutputPiece struct {
	Stream string `json:"stream" enum:"stdout,stderr,tail" doc:"tail: the end of both as it is kept after the end, where the attempt was not followed to it."`
	Offset int64  `json:"offset" doc:"Of its first byte in the stream."`
	Missed int64  `json:"missed,omitempty" doc:"So many bytes before it cannot be had any more."`
	Data   []byte `json:"data"`
}

// Killed says what a kill of a job did.
type Killed struct {
	Job   int64  `json:"job"`
	State string `json:"state" doc:"State now: a leased job stays so until its pilot has ended it."`
}

// LogLevels is which lines a daemon logs.
type LogLevels struct {
	Level string            `json:"level" enum:"debug,info,warn,error" doc:"Of all parts that are not named: lines of this level and above are written."`
	Parts map[string]string `json:"parts,omitempty" doc:"Parts with a level of their own: api, database, dispatcher, generator, relay, site, steps."`
	Until *time.Time        `json:"until,omitempty" doc:"Then the level of the configuration is in force again; absent: it stays so until the daemon ends."`
}

// SetLogLevels is the body of PUT /v1/log.
type SetLogLevels struct {
	Level string            `json:"level" enum:"debug,info,warn,error" doc:"Of all parts that are not named."`
	Parts map[string]string `json:"parts,omitempty" doc:"Parts with a level of their own, as in the answer. Those that are not named lose theirs."`
	ForS  float64           `json:"for_s,omitempty" minimum:"0" maximum:"604800" doc:"Seconds after which the level of the configuration is in force again; 0 = never."`
}

// String is the levels on one line: info, api=debug, until 10:00:00.
func (l LogLevels) String() string {
	text := l.Level
	for _, part := range slices.Sorted(maps.Keys(l.Parts)) {
		text += ", " + part + "=" + l.Parts[part]
	}
	if l.Until != nil {
		text += ", until " + l.Until.Format(time.RFC3339)
	}
	return text
}

// ResourceCapacity is how many units of a resource there are.
type ResourceCapacity struct {
	Name         string `json:"name" doc:"With a key for one key of a keyed family, as table:orders; without for all."`
	Queue        string `json:"queue,omitempty" doc:"Of a resource per queue; absent = all queues for which nothing else is set."`
	Capacity     int64  `json:"capacity" doc:"Units in force."`
	FileCapacity int64  `json:"file_capacity" doc:"What the site file says."`
	Set          bool   `json:"set" doc:"Another capacity than the file's is in force until it is reset, even if it is the same number."`
}

// CapacityRequest sets a capacity beside the site file.
type CapacityRequest struct {
	Capacity int64 `json:"capacity" minimum:"0" maximum:"1000000000" doc:"Units that may be held at once. Nobody who holds some loses them."`
}

// ExternalRequest is what the server of a resource says.
type ExternalRequest struct {
	Total int64 `json:"total" minimum:"0" maximum:"1000000000" doc:"Units that there are, for everybody."`
	Used  int64 `json:"used" minimum:"0" maximum:"1000000000" doc:"Units that are in use by anybody, ours too as the server sees them."`
}

// Status is how the site stands, seen from one daemon.
type Status struct {
	Build     string       `json:"build" doc:"Version of the daemon."`
	StartedAt time.Time    `json:"started_at"`
	Ready     bool         `json:"ready" doc:"As /readyz."`
	Reason    string       `json:"reason,omitempty" doc:"Why it is not ready."`
	Site      int64        `json:"site_version" doc:"0 = no site file was applied yet."`
	Pools     []PoolStatus `json:"pools"`
	Queues    QueueCount   `json:"queues"`
	ReadyJobs int64        `json:"ready_jobs"`
	HeldJobs  int64        `json:"held_jobs" doc:"Jobs that are leased."`
	Waiting   int          `json:"waiting_pulls" doc:"Pulls that wait at this daemon."`
}

// PoolStatus is a pool in one line.
type PoolStatus struct {
	Pool     string  `json:"pool"`
	Capacity float64 `json:"capacity" doc:"Units of the online queues; -1 = unlimited."`
	Held     float64 `json:"held"`
}

// QueueCount counts queues by state.
type QueueCount struct {
	Online  int `json:"online"`
	Drain   int `json:"drain"`
	Offline int `json:"offline"`
	Test    int `json:"test"`
}
