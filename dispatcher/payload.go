package dispatcher

import "github.com/divvyhq/divvy/dispatcher/job"

// Payload is what all jobs of a task run.
type Payload = job.Payload

// Axis is one dimension of a matrix.
type Axis = job.Axis

// recipe is what is kept of a payload between leases.
type recipe struct {
	*job.Recipe
	submitted int64 // when its task was, in milliseconds since 1970; 0: not known
}

func newRecipe(p Payload) *recipe { return &recipe{Recipe: job.NewRecipe(p)} }

// Literal is the text that jobs get as it is: {{{{ stands for {{.
func Literal(text string) string { return job.Literal(text) }

// RoleOf is the role of a job by its name: sgx/pca of 0/sgx/1/pca/2, metrics of 0/metrics/1.
func RoleOf(name string) string { return job.RoleOf(name) }
