// Package steer has the commands of those who run a site: its versions, queues, resources, tags, tokens, logs, reports and audit, as clients of the API.
package steer
