// Package container makes the command lines that run the command of a job in a container: by podman, docker or apptainer, or by a
// command of the site's own. It starts nothing.
//
//	Parse ──▶ Runtime ──Has, Pull──▶ the image is there ──Run──▶ Call: arguments and environment ──End──▶ no container is left
//
// The site file says how a queue runs images (containers: podman), and each lease of a job with an image says it again. An option of
// the pilot would be a second place for the same: a pilot without it would get jobs that it cannot run.
//
// # Invariants
//
//  1. The command of the task is all that runs, whatever entrypoint the image has, with the same user, network and paths as without a
//     container: folders are bound where they are.
//  2. Nothing of a job is read as an option, a pattern or a separator: paths are quoted, and names that begin with - are refused.
//  3. Values of variables are not in the arguments, which other users see, but for names that the client of the runtime needs itself.
//  4. A job is not taken for finished because a client says so that was sent a signal: see Lies.
//  5. podman and docker get a name for the container that no other job has. It is no secret: the token of the lease is not in it.
//  6. What a runtime may not do on a machine (Means) is left out, not tried.
//
// The package is pure: values in, values out.
package container
