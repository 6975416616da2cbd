// Package spec is a task as a user writes it: read from a file, checked, filled in. It is pure: no SQL, context or clock.
//
//	file ──ParseSpecs──▶ Spec ──Check──▶ WithDefaults ──▶ Shape, Payload, Work, Attributes, Layout
//	                       ▲ Order, Bound: tasks of one file that need each other
//	                       │ Patched: like another task; Changes: when it is tried again; Scaling: other numbers of groups and roles
//	file of inputs ──EncodeInputs──▶ lines ──ReadLines──▶ Inputs
//
// # Invariants
//
//  1. What a file says and what the JSON of the API says is the same Spec, with the same faults. Only a file has inputs_file and names
//     of needs.
//  2. All that is wrong is said at once, at most a hundred Faults of a task, each with the field, and from a file with line and column.
//     To find it takes no more than to read the task.
//  3. Check asks no site; Known and WithTemplates take of it what they need.
//  4. Canonical is the same for all ways of writing the same. Its bytes are hashed for idempotency keys, so the order of fields stays.
package spec
