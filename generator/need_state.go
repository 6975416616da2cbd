package generator

// NeedState is a need of a task, and how far it is met.
type NeedState struct {
	Task    int64  `json:"task" doc:"Id of the task that is needed."`
	Name    string `json:"name"`
	State   string `json:"state" doc:"Of the task that is needed."`
	When    string `json:"when" enum:"done,finished,any"`
	Per     string `json:"per" enum:"task,input"`
	Outputs string `json:"outputs,omitempty"`
	Met     string `json:"met" enum:"open,met,broken,left" doc:"open: it is waited for, or more comes of it. met: it was over as was asked for. broken: it was not. left: the task that needed it was over first."`
	Taken   int64  `json:"taken,omitempty" doc:"Jobs of it whose end is taken note of."`
}
