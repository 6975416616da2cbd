// Package pilots says which pilots may be started for a queue, and what each of them offers: provision in the site file.
//
// Package dispatcher/wanted computes from it how many pilots a queue should have, and divvy provision starts them.
//
// The package is pure: values in, values out.
package pilots
