// Package work has the commands of those who submit and look: logins, tasks, jobs, claims, stock, why, watch and top, as clients of the API.
package work
