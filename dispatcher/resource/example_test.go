package resource_test

import (
	"fmt"
	"time"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Four licences and two users: Alice came first and has all of them; what comes free goes to Bob until both have two.
func Example() {
	spec := shares.DefaultResource()
	spec.Name, spec.Capacity = "maya", 4
	pool := resource.NewFamily(spec).Pool("", "")
	now := time.Now()

	pool.Hold("alice", 4)
	pool.Want("alice", 300)
	pool.Want("bob", 300)
	for range 3 {
		pool.Hold("alice", -1) // one of her jobs ends
		for _, user := range []string{"alice", "bob"} {
			if ok, why := pool.Explain(user, 1, now); !ok {
				fmt.Println(user, "waits:", why.Rule, why.KeptFor)
				continue
			}
			pool.Hold(user, 1)
			pool.Granted(user)
			fmt.Println(user, "gets one")
			break
		}
	}
	for _, a := range pool.Allowances() {
		fmt.Printf("%s holds %d of %d\n", a.ID, a.Held, a.Allowance)
	}
	// Output:
	// alice waits: allowance [bob]
	// bob gets one
	// alice waits: allowance [bob]
	// bob gets one
	// alice gets one
	// alice holds 2 of 2
	// bob holds 2 of 2
}
