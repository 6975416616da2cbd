// Package past makes the log that a site like ATLAS's would have of some days, as it is read: a batch a minute, of grants, starts and ends
// of attempts of two hours in the mean. One in twenty fails, one in a hundred is lost; nothing is tried again.
//
// It is for package fold alone, and drawn from a seed: the same days make the same log. What was granted in the last hours is held in the end.
package past
