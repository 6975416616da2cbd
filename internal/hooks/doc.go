// Package hooks tells receivers of a site (webhooks) what happens: tasks that end, shares that starve, queues that are broken.
//
//	a task ends ──its transaction──▶ webhook_tasks ┐
//	shares and queues as they stand ───────────────┴─Step──▶ webhook_messages ──claim──▶ POST ──2xx──▶ the row goes
//	                                                              ▲                        │ anything else
//	                                                              └──── at due_at, later and later ──┘
//
// # Invariants
//
//  1. Each message is told at least once, unless it is given up: when it is a day old, or a receiver has more than 10,000. The log and a
//     metric say so. An attempt sets the time of the next one before it begins, so that a daemon that dies in it loses nothing; the receiver
//     may get the message twice, with the same webhook-id.
//  2. Messages are signed as Standard Webhooks has it (v1, HMAC-SHA256). The time that is signed is that of the attempt.
//  3. A receiver that is slow or away holds up no other: each is told beside the others, and no attempt takes longer than 10 s. Redirects
//     are not followed: a receiver cannot send a daemon elsewhere.
//  4. What lasts (a share that starves for 15 minutes, a queue that is broken) is one message until it is over, whoever leads.
//  5. Nothing of it is in the log of decisions, and no pull waits for it. The leader makes and sends messages; where two lead for a moment,
//     a message is attempted by one. A site without webhooks costs a look at its version every ten seconds.
//
// The tables webhooks, webhook_messages and webhook_tasks are written by this package and by the trigger of tasks.
package hooks
