// Package browser drives a Chromium that is installed on the machine, for tests of the page: go test -tags browser.
// Imported by _test.go files only.
//
// A Tab is a window of its own, with cookies of its own. It notes what the page says to the console and what it asks of
// whom, and fails its test at the end for an error, a warning of the content security policy, or a request to another host
// than the one that was opened. Nothing sleeps: every look is repeated until it is as it should be, or a deadline.
//
// Chromium is the first of DIVVY_CHROMIUM, chromium, chromium-browser, google-chrome and headless-shell that there is. None
// is a failure, not a skip.
package browser
