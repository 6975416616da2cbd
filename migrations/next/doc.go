// Package next holds the schema of the new core until it takes the place of the old one: goose files that replace those of package
// migrations with the same names. Up applies them together with the files of migrations that stay as they are.
//
// At the switch the files move to migrations, and this package goes. A database that was made by the old files is not brought up to
// these: numbers and subjects are the same.
//
// Tests of the new rooms open such a database by pgtest.OpenNext. Until rooms have no statements create_*.sql of their own any more,
// TestRoomsAgree holds these to the files.
package next
