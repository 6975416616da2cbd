package wire

import "github.com/divvyhq/divvy/dispatcher"

// StatusOf returns PanDA's word for the state of a job; empty if there is no such job.
func StatusOf(jobState string, lease dispatcher.LeaseState) string {
	switch jobState {
	case "waiting":
		return "defined"
	case "ready":
		return "activated"
	case "leased":
		switch lease {
		case dispatcher.Starting, dispatcher.Running:
			return string(lease)
		case dispatcher.Draining:
			return "transferring"
		}
		return "sent"
	}
	return jobState // finished, failed, cancelled
}
