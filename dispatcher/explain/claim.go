package explain

import "time"

// ClaimStanding is a claim as it stands: what several jobs hold together.
type ClaimStanding struct {
	ID        int64         `json:"id"`
	Task      int64         `json:"task,omitempty" doc:"Absent: it was made outside of tasks."`
	Key       string        `json:"key" doc:"Which of the task's claims: the way to where it is shared, then the template. Of one made outside, its name."`
	State     string        `json:"state" enum:"pending,bound,draining,released"`
	Template  ClaimTakes    `json:"template" doc:"What it takes when it is bound."`
	LingerS   float64       `json:"linger_s" doc:"Seconds that it stays bound while nobody holds it."`
	Queue     string        `json:"queue,omitempty" doc:"With node: where it is bound."`
	Node      string        `json:"node,omitempty"`
	Devices   []string      `json:"devices,omitempty" doc:"Of that node, taken for it."`
	BoundAt   *time.Time    `json:"bound_at,omitempty" doc:"Since when."`
	Sharers   int           `json:"sharers" doc:"Jobs that hold it: those with a lease."`
	IdleSince *time.Time    `json:"idle_since,omitempty" doc:"Since when nobody holds it although it is bound."`
	CreatedAt time.Time     `json:"created_at"`
	EndedAt   *time.Time    `json:"ended_at,omitempty" doc:"When it was released."`
	Holders   []ClaimHolder `json:"holders,omitempty" doc:"The first hundred by id. Only in GET /v1/resource-claims/{id}."`
	Waiters   []ClaimWaiter `json:"waiters,omitempty" doc:"Jobs of it without a lease, the first hundred by id. Only in GET /v1/resource-claims/{id}."`
	Waiting   int           `json:"waiting,omitempty" doc:"How many they are; counted up to 10,000. Only in GET /v1/resource-claims/{id}."`
}

// ClaimTakes is the template of a claim, as it was when the claim was made or last changed.
type ClaimTakes struct {
	Name       string           `json:"name"`
	Resources  map[string]int64 `json:"resources,omitempty" doc:"Units that it holds while it is bound, once for all that share it."`
	Node       bool             `json:"node,omitempty" doc:"Its jobs run on one node."`
	Devices    map[string]int   `json:"devices,omitempty" doc:"Devices of that node, by kind."`
	MaxSharers int              `json:"max_sharers,omitempty" doc:"Jobs that may hold it at a time; absent: no bound."`
	Gang       bool             `json:"gang,omitempty" doc:"All that share it start together on one node."`
	Missing    bool             `json:"missing,omitempty" doc:"Neither the task nor the site has the template: jobs wait until the site has it."`
}

// ClaimHolder is a job that holds a claim.
type ClaimHolder struct {
	Job     int64     `json:"job"`
	Task    int64     `json:"task"`
	Name    string    `json:"name" doc:"Which of the task's jobs, as in 0/sgx/1/pca/2."`
	Attempt int       `json:"attempt"`
	State   string    `json:"state" doc:"State of its lease."`
	Pilot   string    `json:"pilot"`
	Since   time.Time `json:"since" doc:"When it was granted."`
}

// ClaimWaiter is a job of a claim that has no lease.
type ClaimWaiter struct {
	Job   int64     `json:"job"`
	Task  int64     `json:"task"`
	Name  string    `json:"name" doc:"Which of the task's jobs, as in 0/sgx/1/pca/2."`
	State string    `json:"state" enum:"waiting,ready"`
	Since time.Time `json:"since" doc:"When it was made."`
}
