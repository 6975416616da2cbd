package spec

import (
	"strings"

	"github.com/divvyhq/divvy/shares/tagging"
)

// Attributes are what tagging rules see of a task: what it says, its class by cores and memory, and its queue
// when it may run in one only.
func (s Spec) Attributes() tagging.Attributes {
	s = s.WithDefaults()
	a := tagging.Attributes{}
	for name, value := range map[string]string{
		"label": s.Label, "working_group": s.WorkingGroup, "campaign": s.Campaign, "processing_type": s.ProcessingType,
		"transformation": s.Transformation, "resource_type": s.ResourceType, "vo": s.VO, "user": s.User, "queue": onlyQueue(s.Queues),
	} {
		if value != "" {
			a[name] = value
		}
	}
	for key, value := range s.Labels {
		a[tagging.LabelPrefix+key] = value
	}
	return a
}

// onlyQueue is the one queue that selectors name, or "".
func onlyQueue(selectors []string) string {
	if len(selectors) != 1 || strings.ContainsAny(selectors[0], `*?[\=`) {
		return ""
	}
	return selectors[0]
}
