// Package loops runs the background steps of a daemon: each again and again, at its pace, when it is woken, and rarely while there is no news.
//
//	step ──n, err──▶ Loop.Run ──▶ at once again (Drain) / after a rest (Ease) / at the next tick / at the next news (News) / after a failure
//
// # News
//
// What steps look for follows from the log, the tables made of it, verbs and the site. Who brings any of these about tells News here, and other
// daemons by a notification. A Loop with News keeps to its pace for newsHolds after the last of it, in which all is there that follows
// from it, and looks each newsNone afterwards, for what nobody told. A step for which it may be time without news has none. Where
// notifications do not arrive all keep to their pace.
package loops
