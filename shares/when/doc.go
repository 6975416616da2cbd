// Package when says when a plan is in force: weekly spans of time in a zone, such as Mon-Fri 08:00-18:00 Europe/Zurich.
// Values in, values out: the caller says what time it is.
package when
