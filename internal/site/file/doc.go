// Package file reads a site file: share tree, tagging rules, queues, resources, limits and what becomes of attempts. It knows no
// database and no version: package site does.
//
//	bytes ──Parse──▶ Content, or strict.Problems
//
// # Invariants
//
//  1. A file with any problem is refused. All its problems are reported at once, each with file, line, column and, where there
//     is one, a hint.
//  2. Whatever order the parts of a file have, they are read first and checked against each other afterwards.
//  3. Problems of the tree, of resources and of tagging rules come from packages shares and tagging, which know no file; they get
//     their places here.
package file
