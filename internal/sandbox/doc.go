// Package sandbox keeps the files that PanDA's clients upload for their jobs: archives with what a user has in a folder, which the jobs
// fetch from any daemon.
//
//  1. A file is at most MaxSize large. An owner keeps at most maxOwner, all owners together maxAll and maxFiles.
//  2. Only the owner of a file may replace it.
//  3. A file that was not uploaded, found or fetched for Unused is deleted by Purge, a bounded number in each step.
//  4. A reader gets the file as it was when the reader opened it, or an error.
//
// Only this package writes the table sandboxes. It is safe on several daemons.
package sandbox
