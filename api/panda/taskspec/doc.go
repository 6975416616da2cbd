// Package taskspec makes a Spec of PanDA's task parameters, and payloads of commands. It is pure.
//
//		parameters ──reading──▶ translation (share, scouts, work, command, places, needs) ──Spec.Check──▶ Spec, Ignored
//		command ──PayloadOf──▶ transformation and its parameters, as a pilot runs them
//
//	 1. Each parameter is read once. What nothing reads is ignored, and the answer says why.
//	 2. Every wrong parameter is named, by PanDA's name for it, also where a field of the Spec is at fault.
//	 3. Walltimes, memory and disk are sized as JEDI does it, for the slowest of the task's queues.
//	 4. A command reaches the job as its arguments were, whatever they hold.
package taskspec
